/**
 * Which store a process works on: the one file that knows both adapters. The embedded store lies in a data folder, which
 * one process at a time holds (`holder/`); a database is any number's.
 */
import { resolve } from 'node:path';
import type { Db } from 'mongodb';
import type { FollowedJournals } from '../engine/store/journals.ts';
import type { Tail } from '../engine/store/tail.ts';
import type { AttentionItem, JournalReads, Store, StoreReads } from '../engine/store.ts';
import { OperatorError, textOf, type Unwritten } from '../errors.ts';
import { later } from '../waiting.ts';
import { hasPlenty } from './environments/room.ts';
import { openFolder } from './folder.ts';
import { expectFiles, isFormer } from './lmdb/files.ts';
import type { LmdbStoreOptions } from './lmdb/store.ts';

/** A process without a heartbeat for so long has fallen silent. */
const SILENT_AFTER_MS = 5_000;
/** A claim on a database that isn't renewed for so long is free again. */
export const LEASE_MS = 10_000;
/** How far a long start has come is told so often. */
const TOLD_EVERY_MS = 2_000;

/**
 * What a process does with a store. It only reads, and writes nothing; it looks, but may write for others; it writes; or
 * it makes the store, too, where there is none. In a data folder, whoever may write holds the folder.
 */
export type Access = 'read' | 'look' | 'write' | 'make';

/** The process that opens a store. */
interface Opener {
  /** Names this run of this process. */
  incarnation: string;
  /** This process's clock, ms since 1970. */
  now(): number;
}

export interface FolderOptions extends Opener {
  access: Access;
  /** A write to the disk failed, as `LmdbStoreOptions` has it. */
  onFatal(error: Error, unwritten: Unwritten): void;
  /** Tells ops something that they should know, in a sentence. */
  onNotice?(text: string): void;
  /** As `LmdbStoreOptions` has them. */
  upTo?: LmdbStoreOptions['upTo'];
  signal?: AbortSignal;
}

export interface DatabaseOptions extends Opener {
  /** `make` where nothing is said: otherwise nothing is made in a database without a store. */
  access?: Access;
  /** Tells ops something that they should know, in a sentence. */
  onNotice(text: string): void;
  /** What an operator has to mend, in a sentence, once a minute while it is met; a notice where nothing is said. */
  onLack?(text: string): void;
  /** As `ConnectionOptions` has it. */
  endsAtLack?: boolean | undefined;
  /** To the database; many where nothing is said. */
  mostConnections?: number;
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
  /** Closes the store. */
  close(): Promise<void>;
}

/** A store in a database. */
export interface OpenDatabase extends OpenStore {
  /** Reads what all processes write from now on. @throws StoreUnavailable */
  tail(): Tail;
  journals: FollowedJournals;
}

/** The data folder as a process may use it. @throws OperatorError where it can't be made or written, or has no store */
export function dataFolder(dataDir: string, access: Access): string {
  const folder = access === 'make' ? openFolder(dataDir) : resolve(dataDir);
  expectFiles(folder, access === 'make');
  return access === 'write' ? openFolder(folder) : folder;
}

/**
 * How a command opens a folder that it holds. Near the disk's end one that only reads writes nothing at all, what is
 * behind the log neither, and so it reads where nothing can be written any more.
 */
export function accessToHeld(folder: string, access: Access): Access {
  return access === 'look' && !hasPlenty(folder) ? 'read' : access;
}

/** Tells ops now and then how far something long has come. */
function tellNowAndThen(tell: (text: string) => void): (text: string) => void {
  let toldAt = performance.now();
  return (text) => {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = performance.now();
    tell(text);
  };
}

async function openLmdb(
  options: LmdbStoreOptions,
  { access, onNotice = () => {} }: FolderOptions,
): Promise<Store> {
  const { folder, now } = options;
  const tell = tellNowAndThen(onNotice);
  const onProgress = (rows: number, of: number): void => tell(`the log is taken up: ${rows} of ${of} rows`);
  if (access === 'write' || access === 'make') {
    const { takeOver } = await import('./lmdb/former/takeover.ts');
    await takeOver({
      folder,
      now: now(),
      onProgress: (rows) => tell(`the store of a former build is brought up to date: ${rows} batches`),
    });
  } else if (isFormer(folder))
    throw new OperatorError(
      `the store in ${folder} is a former build's: start the server once, which brings it up to date`,
    );
  // LMDB is loaded only where it is used: commands that ask a server start without it.
  const { openLmdbStore, openLmdbToRead } = await import('./lmdb/store.ts');
  return access === 'read'
    ? openLmdbToRead({ ...options, onProgress })
    : openLmdbStore({ ...options, onProgress });
}

/**
 * Opens the embedded store in a data folder; where this process may write, it holds the folder. Folder and store are
 * made where they aren't there, but only by who may make them.
 * @throws FolderHeld where a process of a build that took no lock has the folder
 * @throws OperatorError where the folder or the store in it can't be used
 */
export async function openFolderStore(dataDir: string, options: FolderOptions): Promise<OpenStore> {
  const { incarnation, now, access, onFatal } = options;
  const folder = dataFolder(dataDir, access);
  let flushed: (ms: number, writes: number) => void = () => {};
  const onFlush: OpenStore['onFlush'] = (listener) => {
    flushed = listener;
  };
  const lmdb = {
    ...{ folder, incarnation, now, onFatal, ...(options.upTo && { upTo: options.upTo }) },
    ...(options.signal && { signal: options.signal }),
    onFlush: (ms: number, writes: number) => flushed(ms, writes),
  };
  try {
    const store = await openLmdb(lmdb, options);
    const close = (): Promise<void> => store.close();
    return { store, place: folder, now, ready: Promise.resolve(), database: null, onFlush, close };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the store in ${folder} can't be opened: ${textOf(error)}`);
  }
}

/** What may be read of a data folder in a thread of its own, beside the one that has the store open. */
export interface FolderReader {
  journal: JournalReads;
  close(): Promise<void>;
}

/**
 * Opens the embedded store only to be read, in any thread of the process that holds the folder, or in any process where
 * nobody may write to it.
 * @throws OperatorError where the store can't be used
 */
export async function openReader(
  dataDir: string,
  opener: Opener & Pick<LmdbStoreOptions, 'upTo'>,
): Promise<FolderReader> {
  const onFatal = (error: Error): never => {
    throw error;
  };
  const { store, close } = await openFolderStore(dataDir, { ...opener, access: 'read', onFatal });
  return { journal: store.journal, close };
}

/** Reads beside those who write: each look sees all that was answered before it. */
export interface Follower {
  /** @throws StoreUnavailable, and whatever the work throws */
  look<Result>(work: (reads: StoreReads) => Promise<Result>): Promise<Result>;
  /** As `look`, but in a data folder what was answered in the last second may not be seen: it costs little. */
  settled<Result>(work: (reads: StoreReads) => Promise<Result>): Promise<Result>;
  /** Reads what is written from now on. @throws StoreUnavailable */
  tail(): Promise<Tail>;
  /** The accounts' journals, each by itself; null where one log has all of them in order. */
  journals: FollowedJournals | null;
  /** The next look sees what a rebuild has put in place, too. */
  refresh(): void;
  /** The clock of the store, ms since 1970. */
  now(): number;
  close(): Promise<void>;
}

/**
 * Opens what reads the embedded store in another thread of the process that holds the folder and has it open.
 * @throws OperatorError where the store can't be used
 */
async function followFolder(dataDir: string, { incarnation, now }: Opener): Promise<Follower> {
  const folder = dataFolder(dataDir, 'read');
  const { LmdbFollower } = await import('./lmdb/following.ts');
  try {
    const follower = await LmdbFollower.open({ folder, incarnation, now });
    return {
      look: (work) => follower.look(work),
      settled: (work) => follower.settled(work),
      tail: async () => follower.tail(),
      journals: null,
      refresh: () => follower.refresh(),
      now,
      close: () => follower.close(),
    };
  } catch (error) {
    throw new OperatorError(`the store in ${folder} can't be opened: ${textOf(error)}`);
  }
}

/** Connections of one who only reads beside a server. */
const FEW_CONNECTIONS = 4;

/** Opens what reads the store that the configuration names, beside a server. @throws OperatorError */
export async function openFollower(
  { mongodbUri, dataDir }: { mongodbUri: string | null; dataDir: string },
  opener: Opener & Pick<DatabaseOptions, 'onLack'>,
): Promise<Follower> {
  if (mongodbUri === null) return followFolder(dataDir, opener);
  const mostConnections = FEW_CONNECTIONS;
  const database = { ...opener, access: 'read' as const, onNotice: () => {}, mostConnections };
  const { store, now, tail, journals, close } = await openDatabaseStore(mongodbUri, database);
  const look: Follower['look'] = (work) => work(store);
  return { look, settled: look, tail: async () => tail(), journals, refresh: () => {}, now, close };
}

/**
 * Opens the store in a database of MongoDB, at once: `ready` tells when the database is there.
 * @throws OperatorError where the connection string can't be used
 */
export async function openDatabaseStore(uri: string, options: DatabaseOptions): Promise<OpenDatabase> {
  const { incarnation, access = 'make', onNotice, onLack, onUnprojectable, mostConnections } = options;
  // The driver is loaded only where it is used: commands on the embedded store start without it.
  const { openMongoStore } = await import('./mongo/store.ts');
  const unusable = later<never>();
  try {
    const store = openMongoStore({
      uri,
      incarnation,
      silentAfterMs: SILENT_AFTER_MS,
      leaseMs: LEASE_MS,
      readOnly: access === 'read' || access === 'look',
      mustExist: access !== 'make',
      onUnusable: (reason) => unusable.reject(new OperatorError(reason)),
      onNotice,
      onLack,
      endsAtLack: options.endsAtLack,
      ...(onUnprojectable === undefined ? {} : { onUnprojectable }),
      ...(mostConnections === undefined ? {} : { mostConnections }),
    });
    const ready = Promise.race([store.ready, unusable.promise]);
    ready.catch(() => {});
    const place = `database ${store.db.databaseName}`;
    return {
      store,
      place,
      now: store.now,
      ready,
      database: store.db,
      tail: () => store.tail(),
      journals: store.journals,
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
