/**
 * Long reads of a data folder in a thread of their own, so that whoever serves goes on meanwhile. The process holds the
 * folder, or nobody may write to it.
 *
 * 1. A task has a thread for itself; the thread ends with the task.
 * 2. A few at a time: what is more waits for its turn.
 * 3. A task that is told to stop has closed the folder by the time its promise is rejected.
 */
import { Worker } from 'node:worker_threads';
import type { VerifyReport } from '../audit/verify.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { OperatorError } from '../errors.ts';
import { workerEntry } from '../worker-entry.ts';
import type { Progress, Task } from './tasks.ts';

/** What the thread is started with. */
export interface Given {
  folder: string;
  incarnation: string;
  task: Task;
  /** One number: 1 tells the thread to stop. */
  stop: SharedArrayBuffer;
}

/** What the thread says. */
export type Said =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'done'; report: VerifyReport }
  | { kind: 'failed'; of: 'unavailable' | 'operator' | 'other'; message: string };

export interface ReadOptions {
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

function errorOf({ of, message }: Said & { kind: 'failed' }): Error {
  if (of === 'unavailable') return new StoreUnavailable(message);
  return of === 'operator' ? new OperatorError(message) : new Error(message);
}

function inThread(task: Task, { folder, incarnation, signal, onPage }: ReadOptions): Promise<VerifyReport> {
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const given: Given = { folder, incarnation, task, stop };
  return new Promise((resolve, reject) => {
    const worker = new Worker(...workerEntry(import.meta.url, './worker', { workerData: given }));
    const onAbort = (): void => void Atomics.store(new Int32Array(stop), 0, 1);
    signal.addEventListener('abort', onAbort);
    let settle = (): void => reject(new Error('the reading thread has ended'));
    worker.on('message', (said: Said) => {
      if (said.kind === 'progress') onPage(said.progress);
      else if (said.kind === 'done') settle = () => resolve(said.report);
      else settle = () => reject(errorOf(said));
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

/**
 * Does a task in a thread of its own.
 * @throws StoreUnavailable, OperatorError where the folder can't be read; the signal's reason where it was stopped
 */
export async function readApart(task: Task, options: ReadOptions): Promise<VerifyReport> {
  await turn();
  try {
    options.signal.throwIfAborted();
    return await inThread(task, options);
  } finally {
    leave();
  }
}
