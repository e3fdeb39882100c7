/** What both environments of a data folder have in common: how they are opened, looked at and written. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import type { Room } from './room.ts';

export interface EnvironmentFile {
  path: string;
  readOnly: boolean;
  /** Writes aren't flushed to the disk. */
  noSync?: boolean;
  maxDbs: number;
}

export function openRoot(file: EnvironmentFile): RootDatabase {
  return open({
    ...file,
    noSubdir: true,
    // With overlapping syncs a failed fsync leaves the write visible; without, a commit is durable once it resolves.
    overlappingSync: false,
    // A group is a batch of its own: the writer needn't wait for the end of our event loop's turn, which under
    // load is milliseconds away.
    eventTurnBatching: false,
    ...({ txnStartThreshold: 1 } as object),
    // What lmdb keeps of a list of free pages from one transaction to the next, it fails to save once it finds, beside a
    // reader who stays, that no older ones can be had (lmdb-js 3.5.6, `mdb_page_alloc`, `mdb_freelist_save`).
    ...({ maxFreeSpaceToRetain: 0 } as object),
  });
}

/**
 * Writes what `issue` puts, having taken room for it, in one transaction: all of it or nothing. Resolves once it is
 * written, and, but where that is turned off, durable; what is read from then on has it. Gives what each write resolves
 * with.
 */
export async function inOneTransaction(
  root: RootDatabase,
  room: Room,
  issue: () => Promise<unknown>[],
): Promise<unknown[]> {
  let taken = room.taken;
  let writes: Promise<unknown>[] = [];
  let failure: unknown = null;
  const written = root.batch(() => {
    try {
      writes = issue();
    } catch (error) {
      failure = error ?? new Error('a write could not be issued');
    }
    taken = room.taken;
  });
  const [, ...outcomes] = await Promise.all([written, ...writes]);
  // lmdb writes what was issued before a failure: that it has come to its end must be known, too.
  if (failure !== null) throw failure;
  room.writtenUpTo(taken);
  root.resetReadTxn();
  return outcomes;
}

/** Has the system write a file, or a folder's names, to the disk. */
export function flushToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
