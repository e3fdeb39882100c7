/** The reader's thread: opens the folder only to be read, does one task, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { now } from '../clock.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { asError, OperatorError } from '../errors.ts';
import { openReader } from '../store/open.ts';
import { openTemporaryTable } from '../store/scratch.ts';
import { perform } from './tasks.ts';
import type { Given, Said } from './thread.ts';

/** Of many small journals, far more pages are read than anybody wants to hear of. */
const TOLD_EVERY_MS = 200;

/** Told to stop. */
class Stopped extends Error {}

const { folder, incarnation, task, stop }: Given = workerData;
const isStopped = new Int32Array(stop);

function say(said: Said): void {
  parentPort?.postMessage(said);
}

/** The kind of an error that the other side tells apart. */
function kindOf(error: Error): 'unavailable' | 'operator' | 'other' {
  if (error instanceof StoreUnavailable) return 'unavailable';
  return error instanceof OperatorError ? 'operator' : 'other';
}

let toldAt = 0;
try {
  const reader = await openReader(folder, { incarnation, now });
  const scratch = await openTemporaryTable();
  try {
    const report = await perform(reader.journal, task, scratch, (progress) => {
      // No message would be heard: between two pages no turn of the event loop ends.
      if (Atomics.load(isStopped, 0) === 1) throw new Stopped();
      if (performance.now() - toldAt < TOLD_EVERY_MS) return;
      toldAt = performance.now();
      say({ kind: 'progress', progress });
    });
    say({ kind: 'done', report });
  } finally {
    await scratch.close();
    await reader.close();
  }
} catch (thrown) {
  const error = asError(thrown);
  if (!(error instanceof Stopped)) say({ kind: 'failed', of: kindOf(error), message: error.message });
}
