import type { JobId, JobParameters } from 'agenda';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JobClock } from '../../src/jobs/agenda-clock.ts';
import type { ClockBackend } from '../../src/jobs/clock-backend.ts';
import { countingJob, failureOf, fromNow, newJob, overlapOf, present, sleep, waitUntil } from './support.ts';

/** A backend without jobs, and how to get rid of it. */
export interface OpenBackend {
  backend: ClockBackend;
  close(): Promise<void>;
}

interface Context extends OpenBackend {
  clocks: JobClock[];
  errors: unknown[];
}

const BY = { lastModifiedBy: 'worker-1' };
const MINUTE = 60_000;

/** What every backend of a job clock must do. `open` is called for each test and gives a backend without jobs. */
export function backendContract(name: string, open: () => Promise<OpenBackend>): void {
  const test = suite<Context>(name);

  test.before.each(async (context) => {
    Object.assign(context, await open(), { clocks: [], errors: [] });
    await context.backend.connect();
  });

  test.after.each(async ({ clocks, close, errors }) => {
    await Promise.all(clocks.map((clock) => clock.stop()));
    await close();
    assert.equal(errors, []);
  });

  test('a job that is put in is due, and found with its id', async ({ backend }) => {
    assert.equal(await backend.getDistinctJobNames(), []);
    const nextRunAt = fromNow(-5);
    const saved = await backend.saveJob(newJob({ name: 'a', repeatInterval: 300, nextRunAt }), BY);
    assert.equal(saved.nextRunAt, nextRunAt);
    await put(backend, 'b');
    assert.equal((await backend.getDistinctJobNames()).sort(), ['a', 'b']);
    const found = present(await stored(backend, 'a'));
    assert.equal([found._id, found.name, found.repeatInterval], [present(saved._id), 'a', 300]);
    assert.equal(found.nextRunAt, nextRunAt);
    assert.not.ok(found.lockedAt);
    assert.is(await stored(backend, 'c'), undefined);
  });

  test('a job that is put in again keeps its time, its lock and who holds it', async ({ backend }) => {
    const first = await put(backend, 'a');
    const locked = present(await next(backend, 'a'));
    const again = await backend.saveJob(newJob({ name: 'a', nextRunAt: fromNow(-1) }), {
      lastModifiedBy: 'another',
    });
    assert.is(again._id, first._id);
    assert.equal(again.nextRunAt, first.nextRunAt);
    const found = present(await stored(backend, 'a'));
    assert.equal(
      [found.nextRunAt, found.lockedAt, found.lastModifiedBy],
      [first.nextRunAt, present(locked.lockedAt), 'worker-1'],
    );
    assert.is(await next(backend, 'a'), undefined);
  });

  test('changing what came out changes nothing that is stored', async ({ backend }) => {
    const saved = await put(backend, 'a');
    const locked = present(await next(backend, 'a'));
    for (const job of [saved, locked, present(await stored(backend, 'a'))]) {
      Object.assign(job, { nextRunAt: null, lockedAt: fromNow(-MINUTE), repeatInterval: 1 });
    }
    const found = present(await stored(backend, 'a'));
    assert.equal([found.repeatInterval, Boolean(found.nextRunAt)], [200, true]);
    assert.ok(present(found.lockedAt) > fromNow(-MINUTE / 2));
  });

  test('a job is taken when it is due by the next scan, and locked at the given time', async ({
    backend,
  }) => {
    const { _id } = await put(backend, 'a', fromNow(MINUTE));
    const take = (nextScanAt: Date, at: Date) =>
      backend.getNextJobToRun('a', nextScanAt, fromNow(-MINUTE), at, { lastModifiedBy: 'worker-2' });
    const at = fromNow(-7);
    assert.is(await take(fromNow(MINUTE / 2), at), undefined);
    assert.is(await backend.getNextJobToRun('b', fromNow(0), fromNow(0), at, BY), undefined);
    const taken = present(await take(fromNow(2 * MINUTE), at));
    assert.equal([taken._id, taken.lockedAt, taken.lastModifiedBy], [_id, at, 'worker-2']);
    const found = present(await stored(backend, 'a'));
    assert.equal([found.lockedAt, found.lastModifiedBy], [at, 'worker-2']);
  });

  test('of 20 who look at once, one gets the job', async ({ backend }) => {
    await put(backend, 'a');
    const taken = await Promise.all(Array.from({ length: 20 }, () => next(backend, 'a')));
    assert.is(taken.filter((job) => job !== undefined).length, 1);
  });

  test('an expired lock is taken over once, a fresh one not', async ({ backend }) => {
    await put(backend, 'a');
    const at = fromNow(-10_000);
    const take = (deadline: Date) => backend.getNextJobToRun('a', fromNow(1_000), deadline, undefined, BY);
    assert.ok(await backend.getNextJobToRun('a', fromNow(1_000), fromNow(-MINUTE), at, BY));
    assert.is(await take(new Date(at.getTime() - 1)), undefined, 'locked after the deadline');
    const takers = await Promise.all(Array.from({ length: 20 }, () => take(fromNow(-5_000))));
    const taken = takers.filter((job) => job !== undefined);
    assert.is(taken.length, 1);
    assert.ok(present(taken[0]?.lockedAt) > at);
  });

  test('saveJobState renews a lock, and without one unlocks until the next time', async ({ backend }) => {
    await put(backend, 'a');
    const { lockedAt: _, ...unlocked } = present(await next(backend, 'a'));
    const [renewedAt, nextRunAt] = [fromNow(20), fromNow(MINUTE)];
    await backend.saveJobState({ ...unlocked, lockedAt: renewedAt }, BY);
    assert.equal(present(await stored(backend, 'a')).lockedAt, renewedAt);
    await backend.saveJobState({ ...unlocked, nextRunAt }, BY);
    const found = present(await stored(backend, 'a'));
    assert.not.ok(found.lockedAt);
    assert.equal(found.nextRunAt, nextRunAt);
    assert.is(await next(backend, 'a'), undefined);
  });

  test('unlockJob and unlockJobs release the locks of these jobs', async ({ backend }) => {
    const names = ['a', 'b', 'c', 'd'];
    const ids: JobId[] = [];
    for (const name of names) ids.push(present((await put(backend, name))._id));
    const locked = await Promise.all(names.map((name) => next(backend, name)));
    await backend.unlockJob(present(locked[0]));
    await backend.unlockJobs(ids.slice(1, 3));
    const { jobs } = await backend.queryJobs({ names });
    const stillLocked = jobs.filter((job) => job.lockedAt).map((job) => job.name);
    assert.equal([jobs.length, stillLocked], [4, ['d']]);
    assert.ok(await next(backend, 'a'));
    assert.is(await next(backend, 'd'), undefined);
  });

  test('a job that was removed is gone, and its run can not bring it back', async ({ backend }) => {
    const { _id } = await put(backend, 'a');
    await put(backend, 'b');
    const locked = present(await next(backend, 'a'));
    assert.is(await backend.removeJobs({ id: present(_id) }), 1);
    assert.is(await backend.removeJobs({ id: present(_id) }), 0);
    assert.match(await failureOf(backend.saveJobState(locked, BY)), /^Error: /);
    assert.equal(await backend.getDistinctJobNames(), ['b']);
  });

  test('two clocks share a job: one run at a time, and one goes on where the other stops', async (context) => {
    const shared = overlapOf('shared', 50, 30);
    const byFirst = countingJob('shared', 50);
    const first = await startClock(context, 'first', async () => {
      await Promise.all([byFirst.job.run(), shared.job.run()]);
    });
    await waitUntil('the first runs it', () => byFirst.begunAt.length >= 2);
    await startClock(context, 'second', shared.job.run);
    await waitUntil('it ran on', () => shared.runs >= 8);
    await first.stop();
    const atStop = { first: byFirst.begunAt.length, all: shared.runs };
    await waitUntil('the second goes on', () => shared.runs >= atStop.all + 3);
    assert.equal([byFirst.begunAt.length, shared.most], [atStop.first, 1]);
  });

  test('a job of a clock that died is taken over once its lock expires, not before', async (context) => {
    await put(context.backend, 'shared', fromNow(-1), 50);
    const dead = { lastModifiedBy: 'dead' };
    const { lockedAt } = present(
      await context.backend.getNextJobToRun('shared', fromNow(0), fromNow(-MINUTE), undefined, dead),
    );
    let takenAt = 0;
    await startClock(context, 'living', async () => {
      takenAt ||= Date.now();
    });
    await waitUntil('it is taken over', () => takenAt > 0);
    const heldMs = takenAt - present(lockedAt).getTime();
    assert.ok(heldMs >= LOCK_LIFETIME_MS && heldMs < LOCK_LIFETIME_MS + 5_000, `${heldMs} ms`);
  });

  test('a clock that starts after another has stopped finds its job and runs it', async (context) => {
    for (const id of ['before', 'after']) {
      let runs = 0;
      const clock = await startClock(context, id, async () => {
        runs += 1;
      });
      await waitUntil(`it runs ${id}`, () => runs >= 3);
      await clock.stop();
      assert.not.ok(present(await stored(context.backend, 'shared')).lockedAt);
      const runsAtStop = runs;
      await sleep(150);
      assert.is(runs, runsAtStop);
    }
    assert.equal(await context.backend.getDistinctJobNames(), ['shared']);
  });

  test.run();
}

/** Far above how late a renewal comes on a busy machine. */
const LOCK_LIFETIME_MS = 2_000;

async function startClock(context: Context, id: string, run: () => Promise<void>): Promise<JobClock> {
  const clock = new JobClock({
    backend: context.backend,
    jobs: [{ name: 'shared', everyMs: 50, run }],
    id,
    lockLifetimeMs: LOCK_LIFETIME_MS,
    onError: (error) => context.errors.push(error),
  });
  context.clocks.push(clock);
  await clock.start();
  return clock;
}

function put(
  backend: ClockBackend,
  name: string,
  nextRunAt = fromNow(-1_000),
  repeatInterval = 200,
): Promise<JobParameters> {
  return backend.saveJob(newJob({ name, nextRunAt, repeatInterval }), BY);
}

/** Takes the job if it is due, unless its lock is younger than a minute. */
function next(backend: ClockBackend, name: string): Promise<JobParameters | undefined> {
  return backend.getNextJobToRun(name, fromNow(0), fromNow(-MINUTE), undefined, BY);
}

async function stored(backend: ClockBackend, name: string): Promise<JobParameters | undefined> {
  return (await backend.queryJobs({ names: [name] })).jobs[0];
}
