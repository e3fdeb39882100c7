/**
 * The embedded store on LMDB: the default. Opens the data folder's environment and puts the roles together on it.
 *
 * - A batch and its projections are one conditional block of one LMDB transaction: all or nothing.
 * - An append resolves once its transaction is flushed to disk (I5). The first failed write is fatal.
 * - An append is waited for to its end. The caller of any other write is told after 5 s; the write goes on.
 * - Due things lie in rows of a group; a row belongs to one incarnation at a time and goes when all of its
 *   things are settled. A thing of a row that is taken over may have been done already: it is a hint.
 */
import type { Store } from '../../engine/store.ts';
import { LmdbAccounts, LmdbMarks } from './accounts.ts';
import { LmdbAttention } from './attention.ts';
import { LmdbBacklog } from './due/backlog.ts';
import { LmdbDue } from './due/due.ts';
import { DueRows } from './due/rows.ts';
import { Environment } from './environment.ts';
import { LmdbJournal } from './journal.ts';
import { openTables, openToRead } from './tables.ts';
import { Waits } from './waits.ts';

export interface LmdbStoreOptions {
  /** The data folder; it must exist. */
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  now(): number;
  /** An incarnation without a heartbeat for so long has fallen silent. */
  silentAfterMs: number;
  /** Nothing will be written: opening doesn't wait for a writer then, even a frozen one. */
  readOnly?: boolean;
  /** A write or flush failed: the process must stop. */
  onFatal(error: Error): void;
  /** A group of writes is on the disk. */
  onFlush?(ms: number, writes: number): void;
}

/** Opens the embedded store in a folder. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const toRead = options.readOnly === true ? await openToRead(options.folder) : null;
  const tables = toRead ?? (await openTables(options.folder));
  const environment = new Environment(
    tables,
    (error) => options.onFatal(error),
    (ms, writes) => options.onFlush?.(ms, writes),
  );
  // A group writes its rows of what is due, then its rows of what waits for the bank: in the order in which they are made here.
  const rows = new DueRows(environment, options);
  const waits = new Waits(environment, options);
  return {
    journal: new LmdbJournal(environment, rows, waits),
    due: new LmdbDue(environment, rows, waits, options),
    backlog: new LmdbBacklog(environment, rows, options),
    attention: new LmdbAttention(environment),
    accounts: new LmdbAccounts(environment),
    marks: new LmdbMarks(environment),
    ping: async () => environment.check(),
    close: () => environment.close(),
  };
}
