import type { JobId, JobParameters, JobRepository } from 'agenda';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { OpenBackend } from './backend-contract.ts';
import { fromNow, newJob, present } from './support.ts';

const BY = { lastModifiedBy: 'worker-1' };
const MINUTE = 60_000;

/** What the repository of a backend must do, without Agenda. */
export function repositoryContract(name: string, open: () => Promise<OpenBackend>): void {
  const test = suite<{ opened: OpenBackend; jobs: JobRepository }>(`${name}: repository`);

  test.before.each(async (context) => {
    context.opened = await open();
    await context.opened.backend.connect();
    context.jobs = context.opened.backend.repository;
  });

  test.after.each(async (context) => {
    await context.opened.close();
  });

  test('saveJob inserts a job and gives it an id', async ({ jobs }) => {
    const nextRunAt = fromNow(MINUTE);
    const saved = await save(
      jobs,
      newJob({ name: 'a', priority: 7, nextRunAt, data: { n: 1, list: ['x'] } }),
    );
    const found = present(await jobs.getJobById(saved._id));
    assert.is(found._id, saved._id);
    assert.is(found.name, 'a');
    assert.is(found.priority, 7);
    assert.is(found.type, 'normal');
    assert.is(found.lastModifiedBy, 'worker-1');
    assert.equal(found.nextRunAt, nextRunAt);
    assert.equal(found.data, { n: 1, list: ['x'] });
    const another = await save(jobs, newJob({ name: 'a' }));
    assert.is.not(another._id, saved._id);
  });

  test('saveJob updates the job that has the id and keeps what it is not given', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a', data: { n: 1 } }));
    await jobs.lockJob(saved, BY);
    const { lockedAt: _, ...fields } = saved;
    const updated = await jobs.saveJob({ ...fields, priority: 20, data: { n: 2 } }, BY);
    assert.is(updated._id, saved._id);
    const found = present(await jobs.getJobById(saved._id));
    assert.is(found.priority, 20);
    assert.equal(found.data, { n: 2 });
    assert.instance(found.lockedAt, Date, 'the lock stays');
    assert.is((await jobs.queryJobs()).total, 1);
  });

  test('saveJob does not bring back a job that was removed', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a' }));
    await jobs.removeJobs({ id: saved._id });
    await jobs.saveJob({ ...saved, priority: 20 }, BY);
    assert.is((await jobs.queryJobs()).total, 0);
  });

  test('jobs are copies: changing one changes nothing stored', async ({ jobs }) => {
    const data = { list: [1] };
    const saved = await save(jobs, newJob({ name: 'a', data }));
    data.list.push(2);
    const found = present(await jobs.getJobById(saved._id));
    (found.data as { list: number[] }).list.push(3);
    present(found.nextRunAt).setTime(0);
    saved.priority = 99;
    const again = present(await jobs.getJobById(saved._id));
    assert.equal(again.data, { list: [1] });
    assert.is(again.priority, 0);
    assert.ok(present(again.nextRunAt).getTime() > 0);
  });

  test('a single job is one per name, and asking for "now" keeps its schedule', async ({ jobs }) => {
    const later = fromNow(MINUTE);
    const first = await save(jobs, newJob({ name: 's', type: 'single', nextRunAt: later, data: { n: 1 } }));
    const now = await save(
      jobs,
      newJob({ name: 's', type: 'single', nextRunAt: fromNow(-1), data: { n: 2 } }),
    );
    assert.is(now._id, first._id);
    assert.equal(now.nextRunAt, later, 'not moved to now');
    assert.equal(now.data, { n: 2 });
    const muchLater = fromNow(2 * MINUTE);
    const moved = await save(jobs, newJob({ name: 's', type: 'single', nextRunAt: muchLater }));
    assert.equal(moved.nextRunAt, muchLater, 'moved to a time ahead');
    await save(jobs, newJob({ name: 'other', type: 'single' }));
    assert.is((await jobs.queryJobs()).total, 2);
  });

  test('a single job that is new and asks for "now" is due at once', async ({ jobs }) => {
    const nextRunAt = fromNow(-5);
    const saved = await save(jobs, newJob({ name: 's', type: 'single', nextRunAt }));
    assert.equal(saved.nextRunAt, nextRunAt);
  });

  test('a unique job updates the one that matches name and constraint', async ({ jobs }) => {
    const unique = { 'data.user': 'u1' };
    const first = await save(jobs, newJob({ name: 'a', data: { user: 'u1', n: 1 }, unique }));
    const second = await save(jobs, newJob({ name: 'a', data: { user: 'u1', n: 2 }, unique }));
    assert.is(second._id, first._id);
    assert.equal(second.data, { user: 'u1', n: 2 });
    const u2 = { 'data.user': 'u2' };
    await save(jobs, newJob({ name: 'a', data: { user: 'u2' }, unique: u2 }));
    await save(jobs, newJob({ name: 'b', data: { user: 'u1' }, unique }));
    assert.is((await jobs.queryJobs()).total, 3);
  });

  test('insertOnly leaves the existing job as it is', async ({ jobs }) => {
    const unique = { 'data.user': 'u1' };
    const uniqueOpts = { insertOnly: true };
    const first = await save(jobs, newJob({ name: 'a', data: { user: 'u1', n: 1 }, unique, uniqueOpts }));
    const second = await save(jobs, newJob({ name: 'a', data: { user: 'u1', n: 2 }, unique, uniqueOpts }));
    assert.is(second._id, first._id);
    assert.equal(second.data, { user: 'u1', n: 1 });
  });

  test('trailing debounce moves the run, leading debounce keeps it', async ({ jobs }) => {
    const trailing = { unique: { 'data.k': 't' }, uniqueOpts: { debounce: { delay: MINUTE } } };
    const start = Date.now();
    const t1 = await save(jobs, newJob({ name: 'a', data: { k: 't', n: 1 }, ...trailing }));
    assert.ok(present(t1.nextRunAt).getTime() >= start + MINUTE);
    const t2 = await save(jobs, newJob({ name: 'a', data: { k: 't', n: 2 }, ...trailing }));
    assert.is(t2._id, t1._id);
    assert.equal(t2.data, { k: 't', n: 2 });
    assert.ok(present(t2.nextRunAt) >= present(t1.nextRunAt));

    const debounce = { delay: MINUTE, strategy: 'leading' as const };
    const leading = { unique: { 'data.k': 'l' }, uniqueOpts: { debounce } };
    const l1 = await save(jobs, newJob({ name: 'a', data: { k: 'l', n: 1 }, ...leading }));
    const l2 = await save(
      jobs,
      newJob({ name: 'a', data: { k: 'l', n: 2 }, nextRunAt: fromNow(MINUTE), ...leading }),
    );
    assert.equal(l2.nextRunAt, l1.nextRunAt);
    assert.equal(l2.data, { k: 'l', n: 2 });
  });

  test('debounce runs at once when saves have gone on for maxWait', async ({ jobs }) => {
    const debounce = { delay: MINUTE, maxWait: 1 };
    const fields = { name: 'a', data: { k: 1 }, unique: { 'data.k': 1 }, uniqueOpts: { debounce } };
    const first = await save(jobs, newJob(fields));
    const startedAt = present(first.debounceStartedAt).getTime();
    while (Date.now() <= startedAt + 1) await new Promise((resolve) => setTimeout(resolve, 1));
    const second = await save(jobs, newJob(fields));
    assert.ok(present(second.nextRunAt).getTime() <= Date.now());
    assert.not.ok(second.debounceStartedAt);
  });

  test('saveJobState stores the state of a run and only that', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a', data: { n: 1 } }));
    const locked = present(await jobs.lockJob(saved, BY));
    const [lastRunAt, failedAt, nextRunAt] = [fromNow(-20), fromNow(-10), fromNow(MINUTE)];
    const run = {
      lastRunAt,
      failedAt,
      lastFinishedAt: failedAt,
      failCount: 2,
      failReason: 'no',
      progress: 40,
    };
    await jobs.saveJobState({ ...locked, ...run, nextRunAt, data: { n: 2 } }, BY);
    const failed = present(await jobs.getJobById(saved._id));
    assert.equal([failed.lastRunAt, failed.failedAt, failed.nextRunAt], [lastRunAt, failedAt, nextRunAt]);
    assert.equal([failed.failCount, failed.failReason, failed.progress], [2, 'no', 40]);
    assert.equal(failed.lockedAt, locked.lockedAt);
    assert.equal(failed.data, { n: 1 }, 'data is not part of the state');

    const { lockedAt: _, ...unlocked } = failed;
    await jobs.saveJobState({ ...unlocked, nextRunAt: null }, BY);
    const done = present(await jobs.getJobById(saved._id));
    assert.not.ok(done.lockedAt, 'a state without a lock unlocks');
    assert.not.ok(done.nextRunAt);
  });

  test('saveJobState rejects for a job without an id or that is gone', async ({ jobs }) => {
    await rejects(jobs.saveJobState(newJob({ name: 'a' }), BY));
    const saved = await save(jobs, newJob({ name: 'a' }));
    await jobs.removeJobs({ id: saved._id });
    await rejects(jobs.saveJobState(saved, BY));
    assert.is((await jobs.queryJobs()).total, 0);
  });

  test('queryJobs filters by name, id, search, data, state and disabled', async ({ jobs }) => {
    const a1 = await save(jobs, newJob({ name: 'job.a', data: { kind: 'x' } }));
    const a2 = await save(jobs, newJob({ name: 'job.a', data: { kind: 'y' }, nextRunAt: fromNow(MINUTE) }));
    const b = await save(jobs, newJob({ name: 'Job.b', disabled: true }));
    const c = await save(jobs, newJob({ name: 'other', repeatInterval: 1_000, nextRunAt: fromNow(MINUTE) }));
    await jobs.lockJob(a1, BY);
    const ids = async (options: Parameters<JobRepository['queryJobs']>[0]) => {
      const result = await jobs.queryJobs(options);
      assert.is(result.total, result.jobs.length);
      return result.jobs.map((job) => job._id).sort();
    };
    assert.equal(await ids({}), sorted(a1, a2, b, c));
    assert.equal(await ids({ name: 'job.a' }), sorted(a1, a2));
    assert.equal(await ids({ names: ['job.a', 'other'] }), sorted(a1, a2, c));
    assert.equal(await ids({ id: c._id }), sorted(c));
    assert.equal(await ids({ ids: [a2._id, c._id] }), sorted(a2, c));
    assert.equal(await ids({ name: 'job.a', ids: [a2._id, c._id] }), sorted(a2));
    assert.equal(await ids({ search: 'JOB.' }), sorted(a1, a2, b));
    assert.equal(await ids({ search: 'j.b' }), [], 'a search is text, not a pattern');
    assert.equal(await ids({ data: { kind: 'y' } }), sorted(a2));
    assert.equal(await ids({ data: { kind: 'z' } }), []);
    assert.equal(await ids({ includeDisabled: false }), sorted(a1, a2, c));
    assert.equal(await ids({ state: 'running' }), sorted(a1));
    assert.equal(await ids({ state: 'scheduled' }), sorted(a2));
    assert.equal(await ids({ state: 'repeating' }), sorted(c));
    assert.equal(await ids({ state: 'failed' }), []);
    assert.is((await jobs.queryJobs({ id: c._id })).jobs[0]?.state, 'repeating');
  });

  test('queryJobs sorts and pages; total counts all pages', async ({ jobs }) => {
    for (const [name, priority] of [
      ['b', 1],
      ['a', 1],
      ['c', 5],
    ] as const) {
      await save(jobs, newJob({ name, priority, nextRunAt: fromNow(priority * MINUTE) }));
    }
    const names = async (options: Parameters<JobRepository['queryJobs']>[0]) => {
      const result = await jobs.queryJobs(options);
      assert.is(result.total, 3);
      return result.jobs.map((job) => job.name).join('');
    };
    assert.is(await names({ sort: { name: 'asc' } }), 'abc');
    assert.is(await names({ sort: { name: 'desc' } }), 'cba');
    assert.is(await names({ sort: { priority: 'desc', name: 'asc' } }), 'cab');
    assert.is((await names({ sort: { nextRunAt: 'asc' } })).at(-1), 'c');
    assert.is((await names({})).at(0), 'c', 'the latest run comes first by default');
    assert.is(await names({ sort: { name: 'asc' }, skip: 1 }), 'bc');
    assert.is(await names({ sort: { name: 'asc' }, skip: 1, limit: 1 }), 'b');
    assert.is(await names({ sort: { name: 'asc' }, limit: 2 }), 'ab');
    assert.is(await names({ skip: 3 }), '');
  });

  test('getJobsOverview counts states by name', async ({ jobs }) => {
    assert.equal(await jobs.getJobsOverview(), []);
    const running = await save(jobs, newJob({ name: 'a' }));
    await jobs.lockJob(running, BY);
    await save(jobs, newJob({ name: 'a' }));
    await save(jobs, newJob({ name: 'a', nextRunAt: fromNow(MINUTE) }));
    await save(jobs, newJob({ name: 'b', nextRunAt: fromNow(MINUTE), repeatInterval: 1_000 }));
    await save(jobs, newJob({ name: 'b', nextRunAt: null }));
    const overviews = new Map((await jobs.getJobsOverview()).map((overview) => [overview.name, overview]));
    assert.is(overviews.size, 2);
    const a = present(overviews.get('a'));
    assert.equal([a.total, a.running, a.queued, a.scheduled, a.repeating], [3, 1, 1, 1, 0]);
    const b = present(overviews.get('b'));
    assert.equal([b.total, b.repeating, b.completed, b.failed], [2, 1, 1, 0]);
  });

  test('getDistinctJobNames and getQueueSize', async ({ jobs }) => {
    assert.equal(await jobs.getDistinctJobNames(), []);
    assert.is(await jobs.getQueueSize(), 0);
    await save(jobs, newJob({ name: 'a' }));
    await save(jobs, newJob({ name: 'a' }));
    await save(jobs, newJob({ name: 'b', nextRunAt: fromNow(MINUTE) }));
    await save(jobs, newJob({ name: 'b', nextRunAt: null }));
    assert.equal((await jobs.getDistinctJobNames()).sort(), ['a', 'b']);
    assert.is(await jobs.getQueueSize(), 2);
  });

  test('getJobById gives null for a job that is gone', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a' }));
    await jobs.removeJobs({ id: saved._id });
    assert.is(await jobs.getJobById(saved._id), null);
  });

  test('removeJobs removes what all criteria select, and nothing without criteria', async ({ jobs }) => {
    const a1 = await save(jobs, newJob({ name: 'a', data: { n: 1 } }));
    const a2 = await save(jobs, newJob({ name: 'a', data: { n: 2 } }));
    const b = await save(jobs, newJob({ name: 'b' }));
    const c = await save(jobs, newJob({ name: 'c' }));
    assert.is(await jobs.removeJobs({}), 0);
    assert.is(await jobs.removeJobs({ names: [] }), 0);
    assert.is(await jobs.removeJobs({ notNames: [] }), 0);
    assert.is(await jobs.removeJobs({ name: 'none' }), 0);
    assert.is(await jobs.removeJobs({ name: 'b', id: a1._id }), 0);
    assert.is((await jobs.queryJobs()).total, 4);
    assert.is(await jobs.removeJobs({ data: { n: 2 } }), 1);
    assert.is(await jobs.getJobById(a2._id), null);
    assert.is(await jobs.removeJobs({ ids: [b._id, a2._id] }), 1);
    assert.is(await jobs.removeJobs({ notNames: ['c'] }), 1);
    assert.equal(
      (await jobs.queryJobs()).jobs.map((job) => job._id),
      [c._id],
    );
    assert.is(await jobs.removeJobs({ names: ['c', 'a'] }), 1);
  });

  test('purgeAllJobs removes everything', async ({ jobs }) => {
    await save(jobs, newJob({ name: 'a' }));
    await save(jobs, newJob({ name: 'b' }));
    assert.is(await jobs.purgeAllJobs(), 2);
    assert.is(await jobs.purgeAllJobs(), 0);
    assert.is((await jobs.queryJobs()).total, 0);
  });

  test('disableJobs keeps jobs from running until enableJobs', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a' }));
    await save(jobs, newJob({ name: 'b' }));
    assert.is(await jobs.disableJobs({}), 0);
    assert.is(await jobs.disableJobs({ name: 'a' }), 1);
    assert.is(await next(jobs, 'a'), undefined);
    assert.is(await jobs.lockJob(present(await jobs.getJobById(saved._id)), BY), undefined);
    assert.is((await next(jobs, 'b'))?.name, 'b');
    assert.is(await jobs.enableJobs({}), 0);
    assert.is(await jobs.enableJobs({ name: 'a' }), 1);
    assert.is((await next(jobs, 'a'))?._id, saved._id);
  });

  test('lockJob locks once, and not what was rescheduled since', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a' }));
    const all = await Promise.all(Array.from({ length: 20 }, () => jobs.lockJob(saved, BY)));
    const locked = all.filter((job) => job !== undefined);
    assert.is(locked.length, 1);
    assert.is(locked[0]?._id, saved._id);
    assert.instance(locked[0]?.lockedAt, Date);
    await jobs.unlockJob(saved);
    await jobs.saveJob({ ...saved, nextRunAt: fromNow(MINUTE) }, BY);
    assert.is(await jobs.lockJob(saved, BY), undefined);
    await jobs.removeJobs({ id: saved._id });
    assert.is(await jobs.lockJob(saved, BY), undefined);
    assert.is(await jobs.lockJob(newJob({ name: 'a' }), BY), undefined);
  });

  test('unlockJob and unlockJobs release locks', async ({ jobs }) => {
    const a = await save(jobs, newJob({ name: 'a' }));
    const b = await save(jobs, newJob({ name: 'b' }));
    const last = await save(jobs, newJob({ name: 'last', nextRunAt: null }));
    for (const job of [a, b, last]) assert.ok(await jobs.lockJob(job, BY));
    await jobs.unlockJobs([]);
    await jobs.unlockJob(a);
    await jobs.unlockJob(last);
    assert.not.ok((await jobs.getJobById(a._id))?.lockedAt);
    assert.ok((await jobs.getJobById(b._id))?.lockedAt);
    assert.ok((await jobs.getJobById(last._id))?.lockedAt, 'a job in its last run keeps its lock');
    await jobs.unlockJobs([b._id, last._id]);
    assert.not.ok((await jobs.getJobById(b._id))?.lockedAt);
    assert.not.ok((await jobs.getJobById(last._id))?.lockedAt);
    assert.is((await next(jobs, 'a'))?._id, a._id);
  });

  test('getNextJobToRun takes the earliest, then the most important due job', async ({ jobs }) => {
    const due = fromNow(-MINUTE);
    const low = await save(jobs, newJob({ name: 'a', nextRunAt: due, priority: 1 }));
    const high = await save(jobs, newJob({ name: 'a', nextRunAt: due, priority: 9 }));
    const first = await save(jobs, newJob({ name: 'a', nextRunAt: fromNow(-2 * MINUTE) }));
    await save(jobs, newJob({ name: 'a', nextRunAt: fromNow(MINUTE) }));
    await save(jobs, newJob({ name: 'a', nextRunAt: null }));
    await save(jobs, newJob({ name: 'b', nextRunAt: fromNow(-3 * MINUTE) }));
    const taken = [await next(jobs, 'a'), await next(jobs, 'a'), await next(jobs, 'a')];
    assert.equal(
      taken.map((job) => job?._id),
      [first._id, high._id, low._id],
    );
    assert.is(await next(jobs, 'a'), undefined);
  });

  test('getNextJobToRun takes what is due by the next scan and locks it at the given time', async ({
    jobs,
  }) => {
    const saved = await save(jobs, newJob({ name: 'a', nextRunAt: fromNow(MINUTE) }));
    assert.is(
      await jobs.getNextJobToRun('a', fromNow(MINUTE / 2), fromNow(-MINUTE), undefined, BY),
      undefined,
    );
    const at = fromNow(-7);
    const by = { lastModifiedBy: 'worker-2' };
    const taken = await jobs.getNextJobToRun('a', fromNow(2 * MINUTE), fromNow(-MINUTE), at, by);
    assert.is(taken?._id, saved._id);
    assert.equal(taken?.lockedAt, at);
    assert.is(taken?.lastModifiedBy, 'worker-2');
    assert.equal((await jobs.getJobById(saved._id))?.lockedAt, at);
  });

  test('20 concurrent getNextJobToRun calls lock each due job once', async ({ jobs }) => {
    const due = await Promise.all(
      Array.from({ length: 12 }, (_, n) => save(jobs, newJob({ name: 'a', data: { n } }))),
    );
    const taken = (await Promise.all(Array.from({ length: 20 }, () => next(jobs, 'a')))).filter(
      (job) => job !== undefined,
    );
    // A backend may miss a job that another caller takes at that moment, but never hands one out twice.
    assert.is(new Set(taken.map((job) => job._id)).size, taken.length);
    for (let job = await next(jobs, 'a'); job; job = await next(jobs, 'a')) taken.push(job);
    assert.equal(taken.map((job) => present(job._id)).sort(), sorted(...due));
  });

  test('an expired lock is taken over once, a fresh one not', async ({ jobs }) => {
    await save(jobs, newJob({ name: 'a' }));
    const at = fromNow(-10_000);
    const take = (deadline: Date) => jobs.getNextJobToRun('a', fromNow(1_000), deadline, undefined, BY);
    assert.ok(await jobs.getNextJobToRun('a', fromNow(1_000), fromNow(-MINUTE), at, BY));
    assert.is(await take(new Date(at.getTime() - 1)), undefined, 'locked after the deadline');
    const takers = await Promise.all(Array.from({ length: 20 }, () => take(fromNow(-5_000))));
    const taken = takers.filter((job) => job !== undefined);
    assert.is(taken.length, 1);
    assert.ok(present(taken[0]?.lockedAt) > at);
  });

  test('an expired lock is taken over in the last run of a job too', async ({ jobs }) => {
    const saved = await save(jobs, newJob({ name: 'a' }));
    const locked = present(await next(jobs, 'a'));
    await jobs.saveJobState({ ...locked, lockedAt: fromNow(-MINUTE), nextRunAt: null }, BY);
    const taken = await jobs.getNextJobToRun('a', fromNow(1_000), fromNow(-5_000), undefined, BY);
    assert.is(taken?._id, saved._id);
  });

  test.run();
}

async function save(jobs: JobRepository, job: JobParameters): Promise<JobParameters & { _id: JobId }> {
  const saved = await jobs.saveJob(job, BY);
  return { ...saved, _id: present(saved._id) };
}

/** The next job that is due now, unless its lock is younger than a minute. */
function next(jobs: JobRepository, name: string): Promise<JobParameters | undefined> {
  return jobs.getNextJobToRun(name, fromNow(0), fromNow(-MINUTE), undefined, BY);
}

function sorted(...jobs: { _id: JobId }[]): JobId[] {
  return jobs.map((job) => job._id).sort();
}

async function rejects(promise: Promise<unknown>): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, Error);
}
