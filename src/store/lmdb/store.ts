/**
 * The embedded store on LMDB: the default. One process has the data folder.
 *
 * - The log is what is durable: an append is a row of it, and resolves once that is flushed to disk (I5). The first
 *   failed write of it is fatal.
 * - All else follows from the log. It is served from memory, written without a flush behind a mark, and taken up from
 *   there by who opens the store next.
 * - An append is waited for to its end. The caller of any other write is told after 5 s; the write goes on.
 */
import type { Store } from '../../engine/store.ts';
import type { Unwritten } from '../../errors.ts';
import { removeTemporary, temporaryFailure, temporaryFolder } from '../scratch.ts';
import { LmdbAccounts, LmdbMarks } from './accounts.ts';
import { LmdbAttention } from './attention.ts';
import { LmdbBacklog } from './due/backlog.ts';
import { LmdbDue } from './due/due.ts';
import { Environment } from './environment.ts';
import { logIn, projectionsIn } from './files.ts';
import { LmdbJournal } from './journal.ts';
import { Log } from './log/log.ts';
import { ProjectionsFile } from './projections/file.ts';
import { Projections } from './projections/projections.ts';
import { replay } from './projections/replay.ts';

export interface LmdbStoreOptions {
  /** The data folder; it must exist, and be this process's alone unless it is only read. */
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  now(): number;
  /**
   * A write or flush failed. Where it was the log's, nothing is answered any more: the process must stop. Where it was the
   * projections', all goes on from memory, and `close` says that they aren't written; a server must stop all the same.
   */
  onFatal(error: Error, unwritten: Unwritten): void;
  /** A group of writes is on the disk. */
  onFlush?(ms: number, writes: number): void;
  /** Names the present boot of the machine; the system's word where nothing is said. */
  boot?: string | null;
  /** Stops the taking up of the log; where nothing is said, nobody else has a turn meanwhile. */
  signal?: AbortSignal;
  /** So many rows of the log were taken up, of so many. */
  onProgress?(rows: number, of: number): void;
  /**
   * Where it is only read: up to which row, of those that are durable by then. `end` is the last one that is there when it
   * is opened: it can't be an earlier one.
   */
  upTo?(end: number): Promise<number>;
}

/** Opens the embedded store in a folder. @throws OlderLog */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const { folder, incarnation, boot } = options;
  const log = new Log(logIn(folder));
  return openOn(log, options, () => ProjectionsFile.open(projectionsIn(folder), log, incarnation, boot));
}

/**
 * Opens the embedded store as it is now to read it, beside whoever writes it in this process, or where the folder can't
 * be written. Nothing that is written later is seen, and what is written here is nobody's.
 */
export async function openLmdbToRead(options: Omit<LmdbStoreOptions, 'onFatal' | 'onFlush'>): Promise<Store> {
  const { folder, incarnation, boot } = options;
  const log = new Log(logIn(folder), { readOnly: true });
  let scratch: string | null = null;
  // Nothing else is written.
  const failure = (error: unknown): unknown => (scratch === null ? error : temporaryFailure(error));
  const onFatal = (error: Error): never => {
    throw failure(error);
  };
  const fresh = async (): Promise<ProjectionsFile> => {
    scratch = temporaryFolder('read');
    return ProjectionsFile.fresh(`${scratch}/projections`, incarnation);
  };
  const removeScratch = async (): Promise<void> => {
    if (scratch !== null) await removeTemporary(scratch);
  };
  try {
    const store = await openOn(
      log,
      { ...options, onFatal },
      async () => (await ProjectionsFile.toRead(projectionsIn(folder), log, boot)) ?? (await fresh()),
    );
    return { ...store, close: () => store.close().finally(removeScratch) };
  } catch (error) {
    await removeScratch();
    throw failure(error);
  }
}

/** Opens what follows from a log, and takes up the log; all of it is closed where that can't be done. */
async function openOn(
  log: Log,
  options: LmdbStoreOptions,
  openFile: () => Promise<ProjectionsFile>,
): Promise<Store> {
  const { incarnation, now, signal = null, onFatal, onFlush = () => {}, onProgress = () => {} } = options;
  const { upTo: agree = async () => Number.POSITIVE_INFINITY } = options;
  let file: ProjectionsFile | null = null;
  let projections: Projections | null = null;
  try {
    file = await openFile();
    const onFailure = (error: Error): void => environment.fatal(error, 'projections');
    projections = new Projections({ file, log, incarnation, now, onFailure });
    const environment = new Environment({ log, file, projections, onFatal, onFlush });
    // What lies in the file ahead of the mark is in the log, as it is by now.
    log.renew();
    const upTo = await agree(Math.max(log.end(), projections.mark));
    // It may be a row that wasn't there yet.
    log.renew();
    await replay({ log, projections, now, upTo, signal, onProgress });
    return storeOn(environment, now);
  } catch (error) {
    await projections?.leave();
    await file?.close();
    await log.close();
    throw error;
  }
}

/** The roles of the store, put together. */
function storeOn(environment: Environment, now: () => number): Store {
  return {
    journal: new LmdbJournal(environment, now),
    due: new LmdbDue(environment, now),
    backlog: new LmdbBacklog(environment, now),
    attention: new LmdbAttention(environment),
    accounts: new LmdbAccounts(environment),
    marks: new LmdbMarks(environment),
    ping: async () => environment.check(),
    close: () => environment.close(),
  };
}
