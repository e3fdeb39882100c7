/**
 * Which store a process works on, and who holds it: the one file that knows both adapters. The embedded store lies in
 * a data folder, which one server at a time holds while commands work beside it; a database is any number's.
 */
import { resolve } from 'node:path';
import type { Db } from 'mongodb';
import type { AttentionItem, Store } from '../engine/store.ts';
import { OperatorError, textOf } from '../errors.ts';
import { openFolder } from './folder.ts';
import { lockFolder } from './lmdb/folder-lock.ts';
import { succeed } from './lmdb/predecessors.ts';
import { type LmdbStoreOptions, openLmdbStore } from './lmdb/store.ts';
import { hasStore } from './lmdb/tables.ts';

/** A process without a heartbeat for so long has fallen silent. */
const SILENT_AFTER_MS = 5_000;
/** A claim on a database that isn't renewed for so long is free again. */
const LEASE_MS = 10_000;

/**
 * What a process does with a data folder: it only reads, and waits for no writer then, not even for a frozen one; it
 * writes beside others; or it holds the folder, and no other process may hold it meanwhile.
 */
export type Access = 'read' | 'write' | 'hold';

/** The process that opens a store. */
interface Opener {
  /** Names this run of this process. */
  incarnation: string;
  /** This process's clock, ms since 1970. */
  now(): number;
}

export interface FolderOptions extends Opener {
  access: Access;
  /** A write to the disk failed: the process must stop. */
  onFatal(error: Error): void;
}

export interface DatabaseOptions extends Opener {
  /** Where it is to be read, nothing is made in a database without a store. */
  access?: Access;
  /** Tells ops something that they should know, in a sentence. */
  onNotice(text: string): void;
  /** A committed batch can't be projected; the item is stored where nothing is said. */
  onUnprojectable?(item: AttentionItem): Promise<void>;
}

/** A store, and what goes with the one that it is. */
export interface OpenStore {
  store: Store;
  /** Where the store lies, for people. */
  place: string;
  /** The clock that all processes on the store go by, ms since 1970. */
  now(): number;
  /** Resolves once the store takes reads and writes; rejects with an OperatorError where it never will. */
  ready: Promise<void>;
  /** The database, where the store lies in one that other processes use as well. */
  database: Db | null;
  /** The listener hears of each group of writes that is on the disk, where the store lies in a folder. */
  onFlush(listener: (ms: number, writes: number) => void): void;
  /** Closes the store, and lets go of the data folder where it was held. */
  close(): Promise<void>;
}

/** The folder of a store that is there. @throws OperatorError where there is none: a look must not make one */
function existingStore(dataDir: string): string {
  const folder = resolve(dataDir);
  if (!hasStore(folder)) throw new OperatorError(`there is no store in ${folder}: is DATA_DIR right?`);
  return folder;
}

/** The lock comes before all else: a frozen holder would keep whoever opens LMDB waiting. */
async function openHeld(options: LmdbStoreOptions): Promise<Pick<OpenStore, 'store' | 'close'>> {
  const { folder, incarnation, now, silentAfterMs } = options;
  const since = new Date(now()).toISOString();
  const lock = await lockFolder(folder, { incarnation, pid: process.pid, since });
  try {
    await succeed(folder, { incarnation, now: now(), silentAfterMs });
    const store = await openLmdbStore(options);
    const close = async (): Promise<void> => {
      await store.close();
      lock.release();
    };
    return { store, close };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openBeside(options: LmdbStoreOptions): Promise<Pick<OpenStore, 'store' | 'close'>> {
  const store = await openLmdbStore(options);
  return { store, close: () => store.close() };
}

/**
 * Opens the embedded store in a data folder. Folder and store are made where they aren't there, but not to be read.
 * @throws FolderHeld where another process holds the folder that this one is to hold
 * @throws OperatorError where the folder or the store in it can't be used
 */
export async function openFolderStore(dataDir: string, options: FolderOptions): Promise<OpenStore> {
  const { incarnation, now, access, onFatal } = options;
  const folder = access === 'read' ? existingStore(dataDir) : openFolder(dataDir);
  let flushed: (ms: number, writes: number) => void = () => {};
  const onFlush: OpenStore['onFlush'] = (listener) => {
    flushed = listener;
  };
  const lmdb = {
    ...{ folder, incarnation, now, onFatal },
    onFlush: (ms: number, writes: number) => flushed(ms, writes),
    silentAfterMs: SILENT_AFTER_MS,
    readOnly: access === 'read',
  };
  try {
    const opened = await (access === 'hold' ? openHeld(lmdb) : openBeside(lmdb));
    return { ...opened, place: folder, now, ready: Promise.resolve(), database: null, onFlush };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the store in ${folder} can't be opened: ${textOf(error)}`);
  }
}

/**
 * Opens the store in a database of MongoDB, at once: `ready` tells when the database is there.
 * @throws OperatorError where the connection string can't be used
 */
export async function openDatabaseStore(uri: string, options: DatabaseOptions): Promise<OpenStore> {
  const { incarnation, access, onNotice, onUnprojectable } = options;
  // The driver is loaded only where it is used: commands on the embedded store start without it.
  const { openMongoStore } = await import('./mongo/store.ts');
  let giveUp: (error: Error) => void = () => {};
  const unusable = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  // A caller that waits hears of it; where nobody waits yet, nobody is to be surprised.
  unusable.catch(() => {});
  try {
    const store = openMongoStore({
      uri,
      incarnation,
      silentAfterMs: SILENT_AFTER_MS,
      leaseMs: LEASE_MS,
      readOnly: access === 'read',
      onUnusable: (reason) => giveUp(new OperatorError(reason)),
      onNotice,
      ...(onUnprojectable === undefined ? {} : { onUnprojectable }),
    });
    const ready = Promise.race([store.ready, unusable]);
    ready.catch(() => {});
    const place = `database ${store.db.databaseName}`;
    return {
      store,
      place,
      now: store.now,
      ready,
      database: store.db,
      onFlush: () => {},
      close: () => store.close(),
    };
  } catch (error) {
    throw new OperatorError(textOf(error));
  }
}

/** Opens the store that the configuration names. @throws OperatorError, as either of the two */
export function openStore(
  { mongodbUri, dataDir }: { mongodbUri: string | null; dataDir: string },
  options: FolderOptions & DatabaseOptions,
): Promise<OpenStore> {
  return mongodbUri === null ? openFolderStore(dataDir, options) : openDatabaseStore(mongodbUri, options);
}
