/**
 * A process that opens the store of a data folder as a command does, enters a write transaction and is stopped
 * inside it, until SIGCONT: then the transaction ends, and the process with it.
 *
 *   node --import tsx test/faults/frozen-writer.ts FOLDER
 */
import { writeSync } from 'node:fs';
import { openTables } from '../../src/store/lmdb-tables.ts';

const tables = openTables(process.argv[2] ?? '');
tables.root.transactionSync(() => {
  writeSync(1, 'inside\n');
  process.kill(process.pid, 'SIGSTOP');
});
await tables.root.close();
