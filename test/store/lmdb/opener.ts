/**
 * A process that opens the store of a data folder, writes to it and closes it, as commands do, until SIGTERM; then it
 * prints how often it did. Its keys begin with its process id. It tells when it is well under way.
 *
 *   node --import tsx test/store/lmdb/opener.ts FOLDER
 */
import { closeTables, openTables, openToRead } from '../../../src/store/lmdb/tables.ts';

const [folder = ''] = process.argv.slice(2);
let ended = false;
process.on('SIGTERM', () => {
  ended = true;
});

const WELL_UNDER_WAY = 20;

let rounds = 0;
for (; !ended; rounds += 1) {
  if (rounds === WELL_UNDER_WAY) process.stdout.write('under way\n');
  const reader = await openToRead(folder);
  if (reader !== null) await closeTables(reader);
  const tables = await openTables(folder);
  const { gate, root, transactions } = tables;
  await gate.write(() =>
    root.transaction(() => void transactions.put(`${process.pid}-${rounds}`, 'v'.repeat(300))),
  );
  await closeTables(tables);
  // What else waits gets its turn, the signal too.
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(`${rounds}\n`);
