/** The reader's thread: opens the folder only to be read, does one task, and ends. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { RebuildTarget } from '../audit/rebuild.ts';
import { now } from '../clock.ts';
import { openFollower, openReader } from '../store/open.ts';
import { openTemporaryTable } from '../store/scratch.ts';
import { type Progress, type Report, rebuildApart, type Task, type Tools, verifyApart } from './tasks.ts';
import { errorOf, type Given, type Heard, type Said, told } from './thread.ts';

/** Of many small journals, far more pages are read than anybody wants to hear of. */
const TOLD_EVERY_MS = 200;

/** Told to stop. */
class Stopped extends Error {}

const { folder, incarnation, task, stop }: Given = workerData;
const isStopped = new Int32Array(stop);

function say(said: Said): void {
  parentPort?.postMessage(said);
}

/** No message would be heard: between two pages no turn of the event loop ends. */
function expectWanted(): void {
  if (Atomics.load(isStopped, 0) === 1) throw new Stopped();
}

let toldAt = 0;

function onPage(progress: Progress): void {
  expectWanted();
  if (performance.now() - toldAt < TOLD_EVERY_MS) return;
  toldAt = performance.now();
  say({ kind: 'progress', progress });
}

/** One at a time: the next is asked for when the one before was answered. */
const restore: RebuildTarget['restore'] = async (restoration) => {
  expectWanted();
  if (parentPort === null) throw new Error('nobody started this thread');
  const answer = once(parentPort, 'message');
  say({ kind: 'restore', restoration });
  const [heard] = (await answer) as [Heard];
  if ('error' in heard) throw errorOf(heard.error);
  return heard.restored;
};

async function perform(asked: Task, tools: Tools): Promise<Report> {
  if (asked.name === 'verify') {
    const reader = await openReader(folder, { incarnation, now });
    return verifyApart(reader.journal, asked, tools).finally(() => reader.close());
  }
  const follower = await openFollower({ mongodbUri: null, dataDir: folder }, { incarnation, now });
  return rebuildApart(follower, { restore }, asked, tools).finally(() => follower.close());
}

try {
  const scratch = await openTemporaryTable();
  try {
    say({ kind: 'done', report: await perform(task, { scratch, onPage }) });
  } finally {
    await scratch.close();
  }
} catch (thrown) {
  if (!(thrown instanceof Stopped)) say({ kind: 'failed', error: told(thrown) });
}
