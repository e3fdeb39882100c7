/**
 * Long work on a data folder in a thread of its own, so that whoever serves goes on meanwhile. The process holds the
 * folder, or nobody may write to it.
 *
 * 1. A task has a thread for itself; the thread ends with the task.
 * 2. A few at a time: what is more waits for its turn.
 * 3. A task that is told to stop has closed the folder by the time its promise is rejected.
 * 4. The thread only reads. What a rebuild puts in place it asks of who started it, piece by piece.
 */
import { Worker } from 'node:worker_threads';
import type { RebuildReport, RebuildTarget } from '../audit/rebuild.ts';
import { BrokenJournal } from '../audit/reprojection.ts';
import type { VerifyReport } from '../audit/verify.ts';
import type { Restoration } from '../engine/store/restoration.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { asError, OperatorError } from '../errors.ts';
import { workerEntry } from '../worker-entry.ts';
import type { Progress, Report, Task } from './tasks.ts';

/** What the thread is started with. */
export interface Given {
  folder: string;
  incarnation: string;
  task: Task;
  /** One number: 1 tells the thread to stop. */
  stop: SharedArrayBuffer;
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
  | { kind: 'done'; report: Report }
  | { kind: 'failed'; error: Told };

/** What it hears when it has asked for something to be put in place: how much was otherwise. */
export type Heard = { restored: number } | { error: Told };

export interface ApartOptions {
  /** The data folder. */
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  /** Stops the task; its reason is what the task is rejected with. */
  signal: AbortSignal;
  onPage(progress: Progress): void;
}

const AT_ONCE = 2;
let running = 0;
const waiting: (() => void)[] = [];

async function turn(): Promise<void> {
  if (running < AT_ONCE) {
    running += 1;
    return;
  }
  await new Promise<void>((resolve) => waiting.push(resolve));
}

function leave(): void {
  const next = waiting.shift();
  if (next === undefined) running -= 1;
  else next();
}

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

type Restore = RebuildTarget['restore'];

function inThread(task: Task, { folder, incarnation, signal, onPage }: ApartOptions, restore: Restore) {
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const given: Given = { folder, incarnation, task, stop };
  return new Promise<Report>((resolve, reject) => {
    const worker = new Worker(...workerEntry(import.meta.url, './worker', { workerData: given }));
    const onAbort = (): void => void Atomics.store(new Int32Array(stop), 0, 1);
    signal.addEventListener('abort', onAbort);
    const answer = async (restoration: Restoration): Promise<void> => {
      const work = async (): Promise<Heard> => ({ restored: await restore(restoration) });
      const heard = await work().catch((error: unknown): Heard => ({ error: told(error) }));
      worker.postMessage(heard);
    };
    let settle = (): void => reject(new Error('the reading thread has ended'));
    worker.on('message', (said: Said) => {
      if (said.kind === 'progress') onPage(said.progress);
      else if (said.kind === 'restore') void answer(said.restoration);
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

async function inTurn(task: Task, options: ApartOptions, restore: Restore): Promise<Report> {
  await turn();
  try {
    options.signal.throwIfAborted();
    return await inThread(task, options, restore);
  } finally {
    leave();
  }
}

/** Verifying writes nothing. */
function unasked(): never {
  throw new Error('nothing is to be put in place');
}

/**
 * Verifies a data folder in a thread of its own.
 * @throws StoreUnavailable, OperatorError where the folder can't be read; the signal's reason where it was stopped
 */
export async function verifyInThread(
  options: (Task & { name: 'verify' })['options'],
  apart: ApartOptions,
): Promise<VerifyReport> {
  return (await inTurn({ name: 'verify', options }, apart, unasked)) as VerifyReport;
}

/**
 * Rebuilds the projections of a data folder that this process has open, reading and comparing in a thread of its own.
 * @throws BrokenJournal; as `verifyInThread`
 */
export async function rebuildInThread(
  options: (Task & { name: 'rebuild' })['options'],
  target: RebuildTarget,
  apart: ApartOptions,
): Promise<RebuildReport> {
  // What the batches are found by comes first: the thread reads all else by it.
  await target.mendPlaces?.();
  return await inTurn({ name: 'rebuild', options }, apart, (restoration) => target.restore(restoration));
}
