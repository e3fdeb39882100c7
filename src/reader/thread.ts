/**
 * Long work on a data folder in a thread of its own, so that whoever serves goes on meanwhile. The process holds the
 * folder, or nobody may write to it.
 *
 * 1. A task has a thread for itself, a verification of much several; they end with the task.
 * 2. A few at a time: what is more waits for its turn.
 * 3. A task that is told to stop has closed the folder by the time its promise is rejected. Nobody gives the folder up
 *    before all threads have ended (`living.ts`): LMDB, opened beside another process that writes, takes back the writer's
 *    last transactions (ITS#9496).
 * 4. The thread only reads. What a rebuild puts in place it asks of who started it, piece by piece.
 */
import { Worker } from 'node:worker_threads';
import { BrokenJournal } from '../audit/broken-journal.ts';
import type { RebuildReport, RebuildTarget } from '../audit/rebuild.ts';
import type { VerifyReport } from '../audit/verify.ts';
import type { Restoration } from '../engine/store/restoration.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { asError, OperatorError } from '../errors.ts';
import { removeTemporary, temporaryFolder } from '../store/scratch.ts';
import { Semaphore } from '../waiting.ts';
import { workerEntry } from '../worker-entry.ts';
import { keep } from './living.ts';
import { Meeting, SharedProgress, together } from './shares.ts';
import type { Place, Progress, Report, Task } from './tasks.ts';

/** What the thread is started with. */
export interface Given {
  folder: string;
  incarnation: string;
  task: Task;
  /** One number: 1 tells the thread to stop. */
  stop: SharedArrayBuffer;
  /** An empty folder, which is removed when the thread has ended: it may be cut off. */
  temporary: string;
}

/** The kinds of errors that both sides tell apart. */
type Kind = 'unavailable' | 'operator' | 'broken' | 'other';

/** An error on its way between the threads. */
export interface Told {
  of: Kind;
  message: string;
}

/** What the thread says. */
export type Said =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'restore'; restoration: Restoration }
  | { kind: 'met'; place: Place; number: number }
  | { kind: 'done'; report: Report }
  | { kind: 'failed'; error: Told };

/** What it is answered where it asks. */
export interface Answers {
  /** How much of what was to be put in place was otherwise. */
  restore: number;
  /** The numbers of all shares. */
  met: number[];
}

/** What it hears when it has asked. */
export type Heard = { answer: Answers[keyof Answers] } | { error: Told };

export interface ApartOptions {
  /** The data folder. */
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  /** Stops the task; its reason is what the task is rejected with. */
  signal: AbortSignal;
  onPage(progress: Progress): void;
}

/**
 * V8's room for what lives shortly. With its own 48 MB a fifth of a verification went by in collections. Where the command
 * line says how large it is, as a server's does, this does nothing.
 */
const YOUNG_MB = 96;
/** A few tasks at a time. */
const places = new Semaphore(2);

/** An error for the other side. */
export function told(thrown: unknown): Told {
  const error = asError(thrown);
  const { message } = error;
  if (error instanceof StoreUnavailable) return { of: 'unavailable', message };
  if (error instanceof BrokenJournal) return { of: 'broken', message };
  return { of: error instanceof OperatorError ? 'operator' : 'other', message };
}

/** The error that was told of. */
export function errorOf({ of, message }: Told): Error {
  if (of === 'unavailable') return new StoreUnavailable(message);
  if (of === 'broken') return new BrokenJournal(message);
  return of === 'operator' ? new OperatorError(message) : new Error(message);
}

/** Does what a thread asks for. */
interface Asked {
  restore(restoration: Restoration): Promise<number>;
  met(place: Place, number: number): Promise<number[]>;
}

const UNASKED: Asked = {
  restore: () => Promise.reject(new Error('nothing is to be put in place')),
  met: () => Promise.reject(new Error('nobody else verifies')),
};

async function inThread(task: Task, apart: ApartOptions, asked: Asked): Promise<Report> {
  // Whoever gives the folder up ends the threads that there are by then: this one is, at once.
  const temporary = temporaryFolder('rebuild');
  try {
    return await ended(task, apart, asked, temporary);
  } finally {
    // Nobody waits for that: the end of the process sees to what is left.
    removeTemporary(temporary).catch(() => {});
  }
}

function ended(
  task: Task,
  { folder, incarnation, signal, onPage }: ApartOptions,
  asked: Asked,
  temporary: string,
): Promise<Report> {
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const given: Given = { folder, incarnation, task, stop, temporary };
  return new Promise<Report>((resolve, reject) => {
    const options = { workerData: given, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } };
    const worker = new Worker(...workerEntry(import.meta.url, './worker', options));
    keep(worker, folder);
    const onAbort = (): void => void Atomics.store(new Int32Array(stop), 0, 1);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    const answer = async (work: Promise<Answers[keyof Answers]>): Promise<void> => {
      const heard = await work.then(
        (result): Heard => ({ answer: result }),
        (error: unknown): Heard => ({ error: told(error) }),
      );
      worker.postMessage(heard);
    };
    let settle = (): void => reject(new Error('the reading thread has ended'));
    worker.on('message', (said: Said) => {
      if (said.kind === 'progress') onPage(said.progress);
      else if (said.kind === 'restore') void answer(asked.restore(said.restoration));
      else if (said.kind === 'met') void answer(asked.met(said.place, said.number));
      else if (said.kind === 'done') settle = () => resolve(said.report);
      else settle = () => reject(errorOf(said.error));
    });
    worker.on('error', (error) => {
      settle = () => reject(error);
    });
    // By then the thread has closed the folder.
    worker.once('exit', () => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) reject(signal.reason);
      else settle();
    });
  });
}

async function inTurn(options: ApartOptions, work: () => Promise<Report>): Promise<Report> {
  await places.acquire();
  try {
    options.signal.throwIfAborted();
    return await work();
  } finally {
    places.release();
  }
}

type Verifying = Task & { name: 'verify' };

/** Each share in a thread of its own. @throws what the first one failed with, once all have ended */
async function inShares(task: Verifying, apart: ApartOptions, of: number): Promise<VerifyReport> {
  const meeting = new Meeting(of);
  const progress = new SharedProgress(of);
  const others = new AbortController();
  const signal = AbortSignal.any([apart.signal, others.signal]);
  const end = (error: unknown): void => {
    others.abort(error);
    meeting.end(asError(error));
  };
  const onAbort = (): void => end(apart.signal.reason);
  apart.signal.addEventListener('abort', onAbort);
  const asked: Asked = { ...UNASKED, met: (place, number) => meeting.at(place, number) };
  const shares = Array.from({ length: of }, async (_, index) => {
    const onPage = (own: Progress): void => apart.onPage(progress.told(index, own));
    const share = inThread({ ...task, share: { index, of } }, { ...apart, signal, onPage }, asked);
    share.catch(end);
    return (await share) as VerifyReport;
  });
  const ended = await Promise.allSettled(shares);
  apart.signal.removeEventListener('abort', onAbort);
  // The others were stopped for that.
  if (others.signal.aborted) throw others.signal.reason;
  return together(ended.flatMap((share) => (share.status === 'fulfilled' ? [share.value] : [])));
}

/**
 * Verifies a data folder in threads of its own, one or more.
 * @throws StoreUnavailable, OperatorError where the folder can't be read; the signal's reason where it was stopped
 */
export async function verifyInThreads(
  options: Verifying['options'],
  threads: number,
  apart: ApartOptions,
): Promise<VerifyReport> {
  const task: Verifying = { name: 'verify', options };
  const work = (): Promise<Report> =>
    threads === 1 ? inThread(task, apart, UNASKED) : inShares(task, apart, threads);
  return (await inTurn(apart, work)) as VerifyReport;
}

/**
 * Rebuilds the projections of a data folder that this process has open, reading and comparing in a thread of its own.
 * @throws BrokenJournal; as `verifyInThreads`
 */
export async function rebuildInThread(
  options: (Task & { name: 'rebuild' })['options'],
  target: RebuildTarget,
  apart: ApartOptions,
): Promise<RebuildReport> {
  // What the batches are found by comes first: the thread reads all else by it.
  await target.mendPlaces?.();
  const asked: Asked = { ...UNASKED, restore: (restoration) => target.restore(restoration) };
  const work = (): Promise<Report> => inThread({ name: 'rebuild', options }, apart, asked);
  return (await inTurn(apart, work)) as RebuildReport;
}
