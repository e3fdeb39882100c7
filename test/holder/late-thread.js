/**
 * Loaded before a command, on a machine so busy that its threads begin only once a server has the folder: a thread waits
 * for the server's name in the lock's file, and leaves a file `too-late` in the data folder.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const POLL_MS = 10;
const folder = process.env.DATA_DIR;

if (!isMainThread) {
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  while (!readFileSync(`${folder}/pixstate.server`, 'utf8').includes('"serve"'))
    Atomics.wait(never, 0, 0, POLL_MS);
  writeFileSync(`${folder}/too-late`, '');
}
