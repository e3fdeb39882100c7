/** The reader's thread: opens the folder only to be read, does one task, and ends. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { RebuildTarget } from '../audit/rebuild.ts';
import { now } from '../clock.ts';
import { type FolderReader, openFollower, openReader } from '../store/open.ts';
import { openTemporaryTable } from '../store/scratch.ts';
import {
  type Meet,
  type Progress,
  type Report,
  rebuildApart,
  type Task,
  type Tools,
  verifyApart,
} from './tasks.ts';
import { type Answers, errorOf, type Given, type Heard, type Said, told } from './thread.ts';

/** Of many small journals, far more pages are read than anybody wants to hear of. */
const TOLD_EVERY_MS = 200;

/** Told to stop. */
class Stopped extends Error {}

const { folder, incarnation, task, stop, temporary }: Given = workerData;
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
async function ask<Asked extends keyof Answers>(asked: Said & { kind: Asked }): Promise<Answers[Asked]> {
  expectWanted();
  if (parentPort === null) throw new Error('nobody started this thread');
  const answer = once(parentPort, 'message');
  say(asked);
  const [heard] = (await answer) as [Heard];
  expectWanted();
  if ('error' in heard) throw errorOf(heard.error);
  return heard.answer as Answers[Asked];
}

const restore: RebuildTarget['restore'] = (restoration) => ask({ kind: 'restore', restoration });
const meet: Meet = (place, number) => ask({ kind: 'met', place, number });

async function perform(asked: Task, tools: Tools): Promise<Report> {
  // Whoever started this thread may be about to give the folder up: it isn't opened any more.
  expectWanted();
  if (asked.name === 'verify') {
    const open = (upTo?: (end: number) => Promise<number>): Promise<FolderReader> =>
      openReader(folder, { incarnation, now, ...(upTo && { upTo }) });
    return verifyApart(open, asked, meet, tools);
  }
  const follower = await openFollower({ mongodbUri: null, dataDir: folder }, { incarnation, now });
  return rebuildApart(follower, { restore }, asked, tools).finally(() => follower.close());
}

try {
  expectWanted();
  const scratch = await openTemporaryTable(temporary);
  try {
    say({ kind: 'done', report: await perform(task, { scratch, onPage, onAccount: expectWanted }) });
  } finally {
    await scratch.close();
  }
} catch (thrown) {
  if (!(thrown instanceof Stopped)) say({ kind: 'failed', error: told(thrown) });
}
