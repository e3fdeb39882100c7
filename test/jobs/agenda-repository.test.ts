import type { JobParameters } from 'agenda';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AgendaRepository } from '../../src/jobs/agenda-repository.ts';
import type { ClockBackend } from '../../src/jobs/clock-backend.ts';
import { MemoryBackend } from '../../src/jobs/memory-backend.ts';
import { failureOf, fromNow, newJob, present, sleep } from './support.ts';

interface Context {
  backend: ClockBackend;
  jobs: AgendaRepository;
  looks: number;
  writes: number;
  /** Looks wait for it. */
  answer: Promise<void>;
}

const test = suite<Context>('AgendaRepository');

test.before.each(async (context) => {
  const backend = new MemoryBackend({ now: Date.now });
  const look = backend.getNextJobToRun.bind(backend);
  const write = backend.saveJobState.bind(backend);
  Object.assign(context, { backend, looks: 0, writes: 0, answer: Promise.resolve() });
  backend.getNextJobToRun = async (...args) => {
    context.looks += 1;
    await context.answer;
    return look(...args);
  };
  backend.saveJobState = async (...args) => {
    context.writes += 1;
    await write(...args);
  };
  context.jobs = new AgendaRepository(backend);
  await context.jobs.saveJob(newJob({ name: 'tick', repeatInterval: 10 }), undefined);
});

test('one look for a name at a time', async (context) => {
  const release = hold(context);
  const looks = Promise.all([next(context), next(context), next(context)]);
  release();
  const found = (await looks).filter((job) => job !== undefined);
  assert.equal([found.length, context.looks], [1, 1]);
});

test('a look that fails lets the next one look', async (context) => {
  context.answer = Promise.reject(new Error('unreachable'));
  const failure = await failureOf(next(context));
  context.answer = Promise.resolve();
  assert.is(failure, 'Error: unreachable');
  assert.ok(await next(context));
});

test('what is in hand is not looked for, until it is done with or its lock has expired', async (context) => {
  const job = present(await next(context));
  assert.is(await next(context), undefined);
  assert.is(context.looks, 1);
  assert.ok(await next(context, fromNow(1_000)), 'expired');
  const { lockedAt: _, ...done } = job;
  await context.jobs.saveJobState(done, undefined);
  assert.ok(await next(context), 'done');
  await context.jobs.unlockJob(job);
  assert.ok(await next(context), 'unlocked');
});

test('the start of a run is not written, a renewed lock and its end are', async (context) => {
  const job = present(await next(context));
  await context.jobs.saveJobState({ ...job, lastRunAt: new Date() }, undefined);
  assert.is(context.writes, 0);
  const renewed = { ...job, lockedAt: fromNow(5) };
  await context.jobs.saveJobState(renewed, undefined);
  assert.is(context.writes, 1);
  const { lockedAt: _, ...done } = renewed;
  await context.jobs.saveJobState({ ...done, nextRunAt: fromNow(-5) }, undefined);
  assert.is(context.writes, 2);
  const [found] = (await context.backend.queryJobs({ names: ['tick'] })).jobs;
  assert.not.ok(present(found).lockedAt);
});

test('once it is shut it takes no lock, and tells when the last one was taken', async (context) => {
  const release = hold(context);
  const look = next(context);
  let isShut = false;
  const shut = context.jobs.shut().then(() => {
    isShut = true;
  });
  await sleep(20);
  assert.not.ok(isShut);
  release();
  await shut;
  assert.ok(await look);
  await context.jobs.unlockJob(present(await look));
  assert.is(await next(context), undefined);
});

test('unlocking never rejects', async (context) => {
  const job = present(await next(context));
  context.backend.unlockJob = async () => {
    throw new Error('unreachable');
  };
  await context.jobs.unlockJob(job);
});

test('what a clock has no use for is refused in plain words', async ({ backend, jobs }) => {
  const { _id } = await backend.saveJob(newJob({ name: 'tick' }), undefined);
  const refused: Record<string, Promise<unknown>> = {
    getQueueSize: jobs.getQueueSize(),
    purgeAllJobs: jobs.purgeAllJobs(),
    'removeJobs without an id': jobs.removeJobs({ name: 'tick' }),
    'saveJob of a job that does not recur': jobs.saveJob(newJob({ name: 'a', type: 'normal' }), undefined),
    'saveJob of a stored job': jobs.saveJob(newJob({ name: 'tick', _id: present(_id) }), undefined),
  };
  for (const [what, outcome] of Object.entries(refused))
    assert.is(await failureOf(outcome), `Error: not used by the clock: ${what}`);
  assert.equal(await backend.getDistinctJobNames(), ['tick']);
  assert.is(await jobs.removeJobs({ id: present(_id) }), 1);
});

test.run();

function next({ jobs }: Context, lockDeadline = fromNow(-1_000)): Promise<JobParameters | undefined> {
  return jobs.getNextJobToRun('tick', fromNow(0), lockDeadline, undefined, undefined);
}

/** Lets looks wait until they are released. */
function hold(context: Context): () => void {
  let release = (): void => {};
  context.answer = new Promise((resolve) => {
    release = resolve;
  });
  return release;
}
