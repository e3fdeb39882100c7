/**
 * Loaded into every thread of a server before its own module: HTTP threads fail as soon as they listen, by an error
 * that nobody catches, or with `FAIL_BY=memory` by taking all memory that they get.
 */
import { workerData } from 'node:worker_threads';

const taken = [];

function fail() {
  if (process.env.FAIL_BY !== 'memory') throw new Error('broken on purpose');
  for (let count = 0; count < 300_000; count += 1) taken.push([count]);
}

if (workerData?.buckets !== undefined) {
  setInterval(() => {
    if (process.getActiveResourcesInfo().includes('TCPServerWrap')) fail();
  }, 20);
}
