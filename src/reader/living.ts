/** The reader's threads that live in this process, and the folder that each of them reads. */
import type { Worker } from 'node:worker_threads';

const living = new Map<Worker, string>();

/** Counts a thread until it has ended. */
export function keep(worker: Worker, folder: string): void {
  living.set(worker, folder);
  worker.once('exit', () => living.delete(worker));
}

/**
 * Resolves once no thread of this process reads the folder any more. Their tasks must have ended, or been told to stop a
 * while ago: who still lives is cut off, be it that it is only just being started.
 */
export async function endReaders(folder: string): Promise<void> {
  const readers = [...living].filter(([, its]) => its === folder);
  await Promise.all(readers.map(([worker]) => worker.terminate()));
}
