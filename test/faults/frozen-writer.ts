/**
 * A process that enters a write transaction of the log of a data folder and is stopped inside it, until SIGCONT: then
 * the transaction ends, and the process with it. To whoever has the folder its disk hangs meanwhile.
 *
 *   node --import tsx test/faults/frozen-writer.ts FOLDER
 */
import { writeSync } from 'node:fs';
import { open } from 'lmdb';

const log = open({
  path: `${process.argv[2] ?? ''}/pixstate.log`,
  noSubdir: true,
  maxDbs: 4,
  overlappingSync: false,
});
log.transactionSync(() => {
  writeSync(1, 'inside\n');
  process.kill(process.pid, 'SIGSTOP');
});
await log.close();
