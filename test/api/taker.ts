/** A thread that takes from one account's bucket, on a clock that stands still, as often as it is told. */
import { parentPort, workerData } from 'node:worker_threads';
import { RateLimit } from '../../src/api/rate-limit.ts';
import type { Account } from '../../src/domain/account.ts';

const { memory, gate, times } = workerData as {
  memory: SharedArrayBuffer;
  gate: SharedArrayBuffer;
  times: number;
};
const limit = new RateLimit(
  memory,
  () => 0,
  () => 1_000_000,
);
const account = { id: 'a' } as Account;
parentPort?.postMessage('ready');
// All begin in the same moment.
Atomics.wait(new Int32Array(gate), 0, 0);
let passed = 0;
for (let n = 0; n < times; n += 1) if (limit.take(account) >= 0) passed += 1;
parentPort?.postMessage(passed);
