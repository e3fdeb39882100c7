import type { JobId, JobParameters } from 'agenda';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JobClock, type JobClockOptions } from '../../src/jobs/agenda-clock.ts';
import type { ClockBackend } from '../../src/jobs/clock-backend.ts';
import { MemoryBackend } from '../../src/jobs/memory-backend.ts';
import type { RecurringJob } from '../../src/jobs/recurring-job.ts';
import { failureOf, job, overlapOf, present, sleep, waitUntil } from './support.ts';

interface Context {
  clocks: JobClock[];
  errors: { message: string; job: string | undefined }[];
}

const test = suite<Context>('JobClock');

test.before.each((context) => {
  context.clocks = [];
  context.errors = [];
});

test.after.each(async (context) => {
  await Promise.all(context.clocks.map((clock) => clock.stop()));
});

test('runs every job again and again, about every everyMs', async (context) => {
  const at: number[] = [];
  let others = 0;
  const fast = job('fast', 100, async () => {
    at.push(performance.now());
  });
  const other = job('other', 250, async () => {
    others += 1;
  });
  await startClock(context, [fast, other]);
  await waitUntil('both ran often', () => at.length >= 15 && others >= 4);
  const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  const median = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  assert.ok(median >= 80 && median < 400, `median ${median} ms`);
  assert.equal(context.errors, []);
});

test('a run longer than everyMs never overlaps itself', async (context) => {
  const overlap = overlapOf('slow', 30, 100);
  await startClock(context, [overlap.job]);
  await waitUntil('it ran five times', () => overlap.runs >= 5);
  assert.is(overlap.most, 1);
});

test('a run longer than the lock keeps it: neither this nor another process begins a second', async (context) => {
  const backend = memory();
  const overlap = overlapOf('slow', 30, 1_500);
  const options = { backend, lockLifetimeMs: 400 };
  await startClock(context, [overlap.job], options);
  await waitUntil('it runs', () => overlap.runs === 1);
  await startClock(context, [overlap.job], options);
  await waitUntil('it ran twice', () => overlap.runs >= 3);
  assert.is(overlap.most, 1);
  assert.equal(context.errors, []);
});

test('a run whose end takes longer to be stored than the lock lives has not failed', async (context) => {
  const backend = memory();
  const save = backend.saveJobState.bind(backend);
  backend.saveJobState = async (...args) => {
    await sleep(900);
    await save(...args);
  };
  let runs = 0;
  const quick = job('quick', 30, async () => {
    runs += 1;
  });
  await startClock(context, [quick], { backend, lockLifetimeMs: 400 });
  await waitUntil('it ran on', () => runs >= 3);
  assert.equal(context.errors, []);
});

test('a run that throws is reported and followed by the next', async (context) => {
  let runs = 0;
  const failing = job('failing', 30, async () => {
    runs += 1;
    if (runs === 1) throw new Error('first');
    if (runs === 2) throw undefined;
    if (runs === 3) throw 'third';
  });
  await startClock(context, [failing]);
  await waitUntil('it ran on', () => runs >= 6);
  const expected = ['first', 'undefined', 'third'].map((message) => ({ message, job: 'failing' }));
  assert.equal(context.errors, expected);
});

test('a failure that goes on is told once, and of many others only some', async (context) => {
  let runs = 0;
  const same = job('same', 20, async () => {
    runs += 1;
    throw new Error('unreachable');
  });
  const others = job('others', 20, async () => {
    runs += 1;
    throw new Error(`failure ${runs}`);
  });
  await startClock(context, [same, others]);
  await waitUntil('both ran often', () => runs >= 80);
  const told = context.errors.map(({ message }) => message);
  assert.is(told.filter((message) => message === 'unreachable').length, 1);
  assert.ok(told.length > 10 && told.length <= 20, `${told.length} told`);
});

test('a job that the backend lost is put in again', async (context) => {
  const backend = memory();
  let runs = 0;
  const counting = job('counting', 50, async () => {
    runs += 1;
  });
  await startClock(context, [counting], { backend });
  await waitUntil('it runs', () => runs >= 2);
  assert.is(await backend.removeJobs({ id: (await stored(backend, 'counting'))._id }), 1);
  await sleep(100);
  const runsWhenLost = runs;
  await waitUntil('it runs again', () => runs >= runsWhenLost + 3);
  assert.equal(await backend.getDistinctJobNames(), ['counting']);
});

test('a backend that fails for a while is reported and then used again', async (context) => {
  const backend = memory();
  const next = backend.getNextJobToRun.bind(backend);
  let broken = false;
  backend.getNextJobToRun = async (...args) => {
    if (broken) throw new Error('unreachable');
    return next(...args);
  };
  let runs = 0;
  const counting = job('counting', 30, async () => {
    runs += 1;
  });
  await startClock(context, [counting], { backend });
  await waitUntil('it runs', () => runs >= 2);
  broken = true;
  await waitUntil('the failure is reported', () => context.errors.length > 0);
  broken = false;
  const runsWhenBroken = runs;
  await waitUntil('it runs again', () => runs >= runsWhenBroken + 2);
  assert.equal(context.errors[0], { message: 'unreachable', job: undefined });
});

test('goes on after the process stalled for longer than a lock lives', async (context) => {
  let runs = 0;
  const counting = job('counting', 100, async () => {
    runs += 1;
  });
  await startClock(context, [counting], { lockLifetimeMs: 200, processEveryMs: 80 });
  for (let stall = 1; stall <= 3; stall += 1) {
    const before = runs;
    await waitUntil('it runs', () => runs > before);
    // Long enough for the job to be locked ahead of its next run, and to wait for it.
    await sleep(85);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    const stalled = runs;
    await waitUntil('it runs after the stall', () => runs >= stalled + 3);
  }
});

test('a run during which the process stalled does not get a second one beside it', async (context) => {
  const state = { runs: 0, now: 0, most: 0 };
  const stalling = job('stalling', 50, async () => {
    state.runs += 1;
    state.now += 1;
    state.most = Math.max(state.most, state.now);
    await sleep(120);
    if (state.runs === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
    await sleep(400);
    state.now -= 1;
  });
  await startClock(context, [stalling], { lockLifetimeMs: 400, processEveryMs: 30 });
  await waitUntil('it runs on', () => state.runs >= 3);
  assert.is(state.most, 1);
  // The run went on: that the process stalled is no error of the job.
  assert.equal(context.errors, []);
});

test('stop waits for the run under way and begins no other', async (context) => {
  const backend = memory();
  let begun = 0;
  let ended = 0;
  const slow = job('slow', 50, async () => {
    begun += 1;
    await sleep(200);
    ended += 1;
  });
  const idle = job('idle', 100, async () => {});
  const clock = await startClock(context, [slow, idle], { backend, processEveryMs: 100 });
  await waitUntil('it runs', () => begun > ended && ended > 0);
  await Promise.all([clock.stop(), clock.stop()]);
  const begunAtStop = begun;
  assert.is(ended, begunAtStop);
  for (const name of ['slow', 'idle']) assert.not.ok(await isLocked(backend, name));
  await sleep(300);
  assert.is(begun, begunAtStop);
});

test('stop releases a job that was locked ahead of its time', async (context) => {
  const backend = memory();
  let runs = 0;
  const early = job('early', 1_300, async () => {
    runs += 1;
  });
  const clock = await startClock(context, [early], { backend, processEveryMs: 1_000, lockLifetimeMs: 5_000 });
  await waitUntil('it ran and is locked again', async () => runs > 0 && (await isLocked(backend, 'early')));
  await clock.stop();
  assert.not.ok(await isLocked(backend, 'early'));
});

test('stop gives up on a run after its bound and leaves its lock to expire', async (context) => {
  const backend = memory();
  let begun = false;
  let finish = () => {};
  const hanging = job('hanging', 50, async () => {
    begun = true;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  const clock = await startClock(context, [hanging], { backend, stopTimeoutMs: 100 });
  await waitUntil('it runs', () => begun);
  await clock.stop();
  assert.ok(await isLocked(backend, 'hanging'));
  finish();
  await waitUntil('it ends', async () => !(await isLocked(backend, 'hanging')));
});

test('another process goes on when one stops', async (context) => {
  const backend = memory();
  const runs = { first: 0, second: 0 };
  const counting = (worker: keyof typeof runs) =>
    job('shared', 50, async () => {
      runs[worker] += 1;
    });
  const first = await startClock(context, [counting('first')], { backend });
  await waitUntil('the first runs it', () => runs.first >= 2);
  await startClock(context, [counting('second')], { backend });
  await first.stop();
  const atStop = { ...runs };
  await waitUntil('the second goes on', () => runs.second >= atStop.second + 3);
  assert.is(runs.first, atStop.first);
});

test('start rejects when the backend can not be reached, nothing goes unhandled, and it may try again', async (context) => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', listener);
  try {
    const backend = memory();
    backend.connect = async () => {
      throw new Error('refused');
    };
    const clock = newClock(context, [job('never', 10, async () => {})], { backend });
    assert.is(await failureOf(clock.start()), 'Error: refused');
    backend.connect = async () => {};
    await clock.start();
    await clock.stop();
    await sleep(20);
    assert.equal(unhandled, []);
  } finally {
    process.off('unhandledRejection', listener);
  }
});

test('a clock that was started twice connects once, and one that was stopped does not start', async (context) => {
  const backend = memory();
  let connects = 0;
  backend.connect = async () => {
    connects += 1;
  };
  const clock = await startClock(context, [job('idle', 50, async () => {})], { backend });
  await clock.start();
  await clock.stop();
  assert.is(connects, 1);
  assert.match(await failureOf(clock.start()), /was stopped/);
});

test('stop without start, and a clock without jobs', async (context) => {
  await newClock(context, []).stop();
  const clock = await startClock(context, []);
  await clock.stop();
  assert.equal(context.errors, []);
});

test.run();

function memory(): ClockBackend {
  return new MemoryBackend({ now: Date.now });
}

async function stored(backend: ClockBackend, name: string): Promise<JobParameters & { _id: JobId }> {
  return present((await backend.queryJobs({ names: [name] })).jobs[0]);
}

async function isLocked(backend: ClockBackend, name: string): Promise<boolean> {
  return (await stored(backend, name)).lockedAt !== undefined;
}

function newClock(context: Context, jobs: RecurringJob[], options: Partial<JobClockOptions> = {}): JobClock {
  const clock = new JobClock({
    backend: memory(),
    jobs,
    onError: (error, failed) => {
      context.errors.push({ message: error instanceof Error ? error.message : String(error), job: failed });
    },
    lockLifetimeMs: 2_000,
    ...options,
  });
  context.clocks.push(clock);
  return clock;
}

async function startClock(
  context: Context,
  jobs: RecurringJob[],
  options: Partial<JobClockOptions> = {},
): Promise<JobClock> {
  const clock = newClock(context, jobs, options);
  await clock.start();
  return clock;
}
