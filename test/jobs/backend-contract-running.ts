import type { AgendaBackend } from 'agenda';
import { Agenda } from 'agenda';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { OpenBackend } from './backend-contract.ts';
import { fromNow, newJob, present, sleep, waitUntil } from './support.ts';

interface Context {
  opened: OpenBackend;
  backend: AgendaBackend;
  agendas: Agenda[];
  errors: Error[];
}

/** Agenda's watch over a run lives for half of this even when the run is long over: keep it short. */
const LOCK_LIFETIME_MS = 2_000;

/** What Agenda must be able to do on a backend. */
export function runningContract(name: string, open: () => Promise<OpenBackend>): void {
  const test = suite<Context>(`${name}: agenda`);

  test.before.each(async (context) => {
    context.opened = await open();
    context.backend = context.opened.backend;
    context.agendas = [];
    context.errors = [];
  });

  test.after.each(async (context) => {
    await Promise.all(
      context.agendas.map((agenda) => agenda.drain({ timeout: 5_000, closeConnection: false })),
    );
    await context.opened.close();
    assert.equal(context.errors, [], 'Agenda met no error of its own');
  });

  test('a recurring job fires again and again', async (context) => {
    const agenda = newAgenda(context);
    let runs = 0;
    agenda.define('tick', async () => {
      runs += 1;
    });
    await agenda.every(100, 'tick');
    await agenda.start();
    await waitUntil('the job ran five times', () => runs >= 5);
    const { jobs, total } = await context.backend.repository.queryJobs({ name: 'tick' });
    assert.is(total, 1);
    assert.instance(jobs[0]?.nextRunAt, Date);
  });

  test('a job that fails does not stop later ones', async (context) => {
    const agenda = newAgenda(context);
    const failures: string[] = [];
    agenda.on('fail', (error) => failures.push(error instanceof Error ? error.message : error));
    let runs = 0;
    let others = 0;
    agenda.define('fails', async () => {
      runs += 1;
      if (runs <= 2) throw new Error(`failure ${runs}`);
    });
    agenda.define('other', async () => {
      others += 1;
    });
    await agenda.every(100, ['fails', 'other']);
    await agenda.start();
    await waitUntil('both went on', () => runs >= 4 && others >= 4);
    assert.equal(failures, ['failure 1', 'failure 2']);
    const stored = async () => (await context.backend.repository.queryJobs({ name: 'fails' })).jobs[0];
    assert.is((await stored())?.failReason, 'failure 2');
  });

  test('jobs for now and for later run once, with their data', async (context) => {
    const agenda = newAgenda(context);
    const seen: unknown[] = [];
    agenda.define('once', async (job) => {
      seen.push(job.attrs.data);
    });
    await agenda.schedule(fromNow(300), 'once', { n: 2 });
    await agenda.now('once', { n: 1 });
    await agenda.start();
    await waitUntil('both ran', () => seen.length === 2);
    assert.equal(seen, [{ n: 1 }, { n: 2 }]);
    await waitUntil('both are stored as done', async () => {
      const { jobs } = await context.backend.repository.queryJobs({ state: 'completed' });
      return jobs.length === 2;
    });
    await sleep(200);
    assert.is(seen.length, 2);
  });

  test('removeOnComplete removes a job that is done', async (context) => {
    const agenda = newAgenda(context);
    agenda.define('once', async () => {}, { removeOnComplete: true });
    await agenda.now('once', {});
    await agenda.start();
    await waitUntil('it is gone', async () => (await context.backend.repository.queryJobs()).total === 0);
  });

  test('drain waits for the run under way and leaves nothing running or locked', async (context) => {
    const agenda = newAgenda(context);
    let begun = 0;
    let ended = 0;
    agenda.define(
      'slow',
      async () => {
        begun += 1;
        await sleep(300);
        ended += 1;
      },
      { concurrency: 1 },
    );
    await agenda.now('slow', {});
    await agenda.start();
    await waitUntil('it runs', () => begun === 1);
    const result = await agenda.drain({ closeConnection: false });
    assert.equal([result.running, result.timedOut, ended], [0, false, 1]);
    assert.is((await context.backend.repository.queryJobs({ state: 'running' })).total, 0);
    await agenda.now('slow', {});
    await sleep(200);
    assert.is(begun, 1, 'nothing runs once it is drained');
  });

  test('stop releases what had not begun and starts nothing more', async (context) => {
    const agenda = newAgenda(context, { processEvery: 1_500 });
    let begun = 0;
    agenda.define('later', async () => {
      begun += 1;
    });
    const { repository } = context.backend;
    await agenda.schedule(fromNow(1_200), 'later', {});
    await agenda.start();
    await waitUntil('it is locked ahead of its time', async () => {
      return begun > 0 || (await repository.queryJobs({ state: 'running' })).total === 1;
    });
    await agenda.stop(false);
    const begunAtStop = begun;
    assert.is((await repository.queryJobs({ state: 'running' })).total, 0);
    await sleep(1_400);
    assert.is(begun, begunAtStop);
  });

  test('two instances share the jobs and run each once', async (context) => {
    const runs = new Map<number, number>();
    const workers = [newAgenda(context, { name: 'one' }), newAgenda(context, { name: 'two' })];
    for (const agenda of workers) {
      agenda.define<{ n: number }>('shared', async (job) => {
        const { n } = job.attrs.data;
        runs.set(n, (runs.get(n) ?? 0) + 1);
        await sleep(5);
      });
    }
    const { repository } = context.backend;
    await workers[0]?.ready;
    for (let n = 0; n < 30; n += 1)
      await repository.saveJob(newJob({ name: 'shared', data: { n } }), undefined);
    await Promise.all(workers.map((agenda) => agenda.start()));
    await waitUntil('all ran', async () => (await repository.queryJobs({ state: 'completed' })).total === 30);
    assert.is(runs.size, 30);
    assert.equal([...new Set(runs.values())], [1]);
  });

  test('stopping one of two instances leaves the other at work', async (context) => {
    const [first, second] = [newAgenda(context, { name: 'one' }), newAgenda(context, { name: 'two' })];
    const runs = { first: 0, second: 0 };
    first.define('tick', async () => {
      runs.first += 1;
    });
    second.define('tick', async () => {
      runs.second += 1;
    });
    await first.every(50, 'tick');
    await first.start();
    await waitUntil('the first runs it', () => runs.first >= 2);
    await second.start();
    await first.drain({ closeConnection: false });
    await first.stop(false);
    const [firstAtStop, secondAtStop] = [runs.first, runs.second];
    await waitUntil('the second goes on', () => runs.second >= secondAtStop + 3);
    assert.is(runs.first, firstAtStop);
  });

  test('the lock of a worker that died is taken over after its lifetime, not before', async (context) => {
    const { backend } = context;
    await backend.connect();
    const saved = await backend.repository.saveJob(newJob({ name: 'orphan' }), undefined);
    const dead = { lastModifiedBy: 'dead' };
    const { lockedAt } = present(await backend.repository.lockJob(saved, dead));
    const agenda = newAgenda(context);
    let ranAt = 0;
    agenda.define('orphan', async () => {
      ranAt = Date.now();
    });
    await agenda.start();
    await waitUntil('it is taken over', () => ranAt > 0);
    const heldMs = ranAt - present(lockedAt).getTime();
    assert.ok(heldMs >= LOCK_LIFETIME_MS, `taken over after ${heldMs} ms`);
  });

  test('disable, enable and cancel reach the jobs of a running instance', async (context) => {
    const agenda = newAgenda(context);
    let runs = 0;
    agenda.define('tick', async () => {
      runs += 1;
    });
    await agenda.every(50, 'tick');
    await agenda.start();
    await waitUntil('it runs', () => runs >= 1);
    assert.is(await agenda.disable({ name: 'tick' }), 1);
    await sleep(300);
    const runsWhenDisabled = runs;
    await sleep(300);
    assert.is(runs, runsWhenDisabled);
    assert.is(await agenda.enable({ name: 'tick' }), 1);
    await waitUntil('it runs again', () => runs > runsWhenDisabled);
    // A run in hand would miss its document, and Agenda would tell so.
    await agenda.disable({ name: 'tick' });
    await sleep(300);
    assert.is(await agenda.cancel({ name: 'tick' }), 1);
    assert.is((await agenda.queryJobs({ name: 'tick' })).total, 0);
  });

  test.run();
}

function newAgenda(context: Context, options: { name?: string; processEvery?: number } = {}): Agenda {
  const agenda = new Agenda({
    backend: context.backend,
    processEvery: 30,
    defaultLockLifetime: LOCK_LIFETIME_MS,
    ...options,
  });
  agenda.on('error', (error) => context.errors.push(error));
  context.agendas.push(agenda);
  return agenda;
}
