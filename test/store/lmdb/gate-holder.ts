/**
 * A process that is in the middle of a write to a data folder until it is killed.
 *
 *   node --import tsx test/store/lmdb/gate-holder.ts FOLDER
 */
import { FolderGate } from '../../../src/store/lmdb/gate.ts';

const gate = new FolderGate(process.argv[2] ?? '');
await gate.write(async () => {
  process.stdout.write('inside\n');
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});
