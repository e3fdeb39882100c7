import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryBackend } from '../../src/jobs/memory-backend.ts';
import { compareValues } from '../../src/jobs/memory-backend-query.ts';
import { agendaBackendContract } from './backend-contract.ts';
import { newJob } from './support.ts';

agendaBackendContract('MemoryBackend', async () => ({
  backend: new MemoryBackend({ now: Date.now }),
  close: async () => {},
}));

test('MemoryBackend goes by the clock that it is given', async () => {
  let now = 1_000;
  const { repository } = new MemoryBackend({ now: () => now });
  const saved = await repository.saveJob(newJob({ name: 'a', nextRunAt: new Date(1_500) }), undefined);
  assert.is(await repository.getQueueSize(), 0);
  assert.is((await repository.queryJobs()).jobs[0]?.state, 'scheduled');
  now = 2_000;
  assert.is(await repository.getQueueSize(), 1);
  assert.is((await repository.queryJobs()).jobs[0]?.state, 'queued');
  assert.equal((await repository.lockJob(saved, undefined))?.lockedAt, new Date(2_000));
});

test('MemoryBackend never debounces a run beyond maxWait', async () => {
  let now = 1_000;
  const { repository } = new MemoryBackend({ now: () => now });
  const debounce = { delay: 100, maxWait: 150 };
  const job = newJob({ name: 'a', data: { k: 1 }, unique: { 'data.k': 1 }, uniqueOpts: { debounce } });
  const dueAt = async () => (await repository.saveJob(job, undefined)).nextRunAt?.getTime();
  assert.is(await dueAt(), 1_100);
  now = 1_040;
  assert.is(await dueAt(), 1_140);
  now = 1_090;
  assert.is(await dueAt(), 1_150);
  now = 1_150;
  assert.is(await dueAt(), 1_150);
});

test('MemoryBackend counts a disabled job as paused besides its state', async () => {
  const { repository } = new MemoryBackend({ now: () => 1_000 });
  await repository.saveJob(newJob({ name: 'a', nextRunAt: new Date(500), disabled: true }), undefined);
  await repository.saveJob(newJob({ name: 'a', nextRunAt: new Date(500) }), undefined);
  const [overview] = await repository.getJobsOverview();
  assert.equal([overview?.total, overview?.queued, overview?.paused], [2, 2, 1]);
  assert.is((await repository.queryJobs({ state: 'paused' })).total, 1);
});

test('MemoryBackend finds jobs by a part of their data', async () => {
  const { repository } = new MemoryBackend({ now: () => 1_000 });
  await repository.saveJob(newJob({ name: 'a', data: { user: { id: 1, tags: ['x'] }, n: 1 } }), undefined);
  const total = async (data: unknown) => (await repository.queryJobs({ data })).total;
  assert.is(await total({ user: { id: 1 } }), 1);
  assert.is(await total({ user: { tags: ['x'] } }), 1);
  assert.is(await total({ user: { tags: [] } }), 0);
  assert.is(await total({ user: { id: 2 } }), 0);
  assert.is(await total({ other: 1 }), 0);
});

test('values are ordered by type, then by value, whatever the order of keys', () => {
  const ascending = [
    null,
    1,
    2,
    'a',
    'b',
    { a: 1 },
    { a: 2 },
    [1],
    [1, 2],
    false,
    true,
    new Date(1),
    new Date(2),
  ];
  for (const [index, value] of ascending.entries()) {
    assert.is(compareValues(value, structuredClone(value)), 0);
    if (index > 0) assert.ok(compareValues(ascending[index - 1], value) < 0, `before ${String(value)}`);
  }
  assert.is(compareValues({ a: 1, b: undefined, c: 2 }, { c: 2, a: 1 }), 0);
  assert.is(compareValues(undefined, null), 0);
});

test.run();
