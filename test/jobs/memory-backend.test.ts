import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MemoryBackend } from '../../src/jobs/memory-backend.ts';
import { backendContract } from './backend-contract.ts';
import { newJob, present } from './support.ts';

backendContract('MemoryBackend', async () => ({
  backend: new MemoryBackend({ now: Date.now }),
  close: async () => {},
}));

test('MemoryBackend dates locks by the clock that it is given', async () => {
  const backend = new MemoryBackend({ now: () => 2_000 });
  await backend.saveJob(newJob({ name: 'a', nextRunAt: new Date(1_500) }));
  const taken = await backend.getNextJobToRun('a', new Date(1_500), new Date(0), undefined, undefined);
  assert.equal(present(taken).lockedAt, new Date(2_000));
});

test.run();
