/** What all environments of lmdb have in common, a data folder's and temporary ones: how they are opened, looked at and written. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { prepare } from './opening.ts';
import { Room } from './room.ts';

export interface EnvironmentFile {
  path: string;
  readOnly: boolean;
  /** Writes aren't flushed to the disk. */
  noSync?: boolean;
  maxDbs: number;
}

/** @throws Error of the system where the disk has no room for what lmdb makes or touches then */
export function openRoot(file: EnvironmentFile): RootDatabase {
  prepare(file.path, file.readOnly);
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

/** An environment and its tables. */
export interface Opened<Tables> {
  root: RootDatabase;
  tables: Tables;
  /** The room in it; null where nothing is written. */
  room: Room | null;
}

/** Opens an environment to write to it: tables that aren't there are made. @throws as `openRoot` */
export function openToWrite<Tables>(
  file: Omit<EnvironmentFile, 'readOnly'>,
  tablesIn: (root: RootDatabase) => Tables,
): Opened<Tables> & { room: Room } {
  const root = openRoot({ ...file, readOnly: false });
  const room = new Room(root, file.path);
  try {
    return { root, tables: room.forTables(() => tablesIn(root)), room };
  } catch (error) {
    void root.close();
    room.close();
    throw error;
  }
}

/** Opens an environment, to write to it or to read it alone. @throws as `openRoot` */
export function openTables<Tables>(
  file: EnvironmentFile,
  tablesIn: (root: RootDatabase) => Tables,
): Opened<Tables> {
  if (!file.readOnly) return openToWrite(file, tablesIn);
  const root = openRoot(file);
  return { root, tables: tablesIn(root), room: null };
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
