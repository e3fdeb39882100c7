/**
 * A process that opens the store of a data folder as a command does, enters a write transaction and is stopped
 * inside it, until SIGCONT: then the transaction ends, and the process with it.
 *
 *   node --import tsx test/faults/frozen-writer.ts FOLDER
 */
import { writeSync } from 'node:fs';
import { closeTables, openTables } from '../../src/store/lmdb/tables.ts';

const tables = await openTables(process.argv[2] ?? '');
await tables.gate.write(async () =>
  tables.root.transactionSync(() => {
    writeSync(1, 'inside\n');
    process.kill(process.pid, 'SIGSTOP');
  }),
);
await closeTables(tables);
