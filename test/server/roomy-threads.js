/**
 * Loaded into every thread of a server before its own module: fills the thread's young generation, and tells on stderr
 * how large it has become: `young generation: MB of threadId`.
 */

import { getHeapSpaceStatistics } from 'node:v8';
import { threadId } from 'node:worker_threads';

const kept = [];
for (let count = 0; count < 4_000_000; count += 1) kept[count % 200_000] = { count: [count] };
const { space_size: size } = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
process.stderr.write(`young generation: ${size / 2 ** 20} of ${threadId}\n`);
