import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LocalClock } from '../../src/jobs/local-clock.ts';
import type { RecurringJob } from '../../src/jobs/recurring-job.ts';
import { countingJob, failureOf, job, overlapOf, sleep, waitUntil } from './support.ts';

interface Context {
  clocks: LocalClock[];
  errors: { message: string; job: string | undefined }[];
}

const test = suite<Context>('LocalClock');

test.before.each((context) => {
  context.clocks = [];
  context.errors = [];
});

test.after.each(async ({ clocks }) => {
  await Promise.all(clocks.map((clock) => clock.stop()));
});

test('runs every job at once, and then about every everyMs', async (context) => {
  const fast = countingJob('fast', 100);
  const slow = countingJob('slow', 60_000);
  await startClock(context, [fast.job, slow.job]);
  await waitUntil('the slow one runs', () => slow.begunAt.length === 1);
  await waitUntil('the fast one ran often', () => fast.begunAt.length >= 12);
  const gaps = fast.begunAt.slice(1).map((time, index) => time - (fast.begunAt[index] ?? 0));
  const median = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  assert.ok(median >= 80 && median < 400, `median ${median} ms`);
  assert.is(slow.begunAt.length, 1);
  assert.equal(context.errors, []);
});

test('a run longer than everyMs never overlaps itself', async (context) => {
  const overlap = overlapOf('slow', 20, 70);
  await startClock(context, [overlap.job]);
  await waitUntil('it ran five times', () => overlap.runs >= 5);
  assert.is(overlap.most, 1);
});

test('a run that fails is told with its job and followed by the next', async (context) => {
  let runs = 0;
  const failing = job('failing', 20, () => {
    runs += 1;
    if (runs === 1) throw new Error('before there is a promise');
    if (runs < 5) return Promise.reject(new Error('unreachable'));
    return Promise.resolve();
  });
  const other = countingJob('other', 20);
  await startClock(context, [failing, other.job]);
  await waitUntil('both ran on', () => runs >= 7 && other.begunAt.length >= 7);
  // What goes on failing in the same way is told once.
  assert.equal(context.errors, [
    { message: 'before there is a promise', job: 'failing' },
    { message: 'unreachable', job: 'failing' },
  ]);
});

test('stop waits for the run under way and begins no other', async (context) => {
  const overlap = overlapOf('slow', 20, 200);
  const clock = await startClock(context, [overlap.job]);
  await waitUntil('it runs', () => overlap.now === 1);
  await Promise.all([clock.stop(), clock.stop()]);
  assert.equal([overlap.runs, overlap.now], [1, 0]);
  await sleep(100);
  assert.is(overlap.runs, 1);
});

test('stop gives up on a run after its bound', async (context) => {
  let finish = (): void => {};
  const hanging = job('hanging', 20, () => new Promise((resolve) => (finish = resolve)));
  const clock = await startClock(context, [hanging], 100);
  const asked = performance.now();
  await clock.stop();
  const waited = performance.now() - asked;
  assert.ok(waited >= 95 && waited < 5_000, `${waited} ms`);
  finish();
});

test('a clock that was started twice runs each job once, and one that was stopped starts no more', async (context) => {
  const counting = countingJob('counting', 60_000);
  const clock = await startClock(context, [counting.job]);
  await clock.start();
  await waitUntil('it runs', () => counting.begunAt.length > 0);
  await clock.stop();
  assert.match(await failureOf(clock.start()), /was stopped/);
  const never = newClock(context, [counting.job]);
  await never.stop();
  assert.match(await failureOf(never.start()), /was stopped/);
  await sleep(20);
  assert.is(counting.begunAt.length, 1);
});

test.run();

function newClock(context: Context, jobs: RecurringJob[], stopTimeoutMs = 10_000): LocalClock {
  const onError = (error: unknown, failed?: string): void => {
    context.errors.push({ message: error instanceof Error ? error.message : String(error), job: failed });
  };
  const clock = new LocalClock({ jobs, onError, stopTimeoutMs });
  context.clocks.push(clock);
  return clock;
}

async function startClock(...args: Parameters<typeof newClock>): Promise<LocalClock> {
  const clock = newClock(...args);
  await clock.start();
  return clock;
}
