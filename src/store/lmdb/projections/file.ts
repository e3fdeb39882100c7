/**
 * The environment of the projections: written without a flush, since all of it follows from the log. A process that is
 * killed leaves it whole; after a power cut it may be torn, and nothing of it is believed then.
 */
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, RootDatabase, Transaction } from 'lmdb';
import { flushToDisk, inOneTransaction, type Opened, openTables } from '../../environments/lmdb.ts';
import { flawOf } from '../../environments/whole.ts';
import { OlderLog } from '../../folder.ts';
import { formerSize, sizeOf } from '../files.ts';
import { FORMAT, type Log, type LogState } from '../log/log.ts';
import { Rows, type Table, tableOf } from './table.ts';

/** What the environment says of itself. */
interface FileState {
  /** The log's `generation`. */
  generation: string;
  /** Which tables there are, and what lies in them; absent: as before they were numbered. */
  version?: number;
  /** The last row of the log that is in the tables. */
  mark: number;
}

/** Another version's tables are made again from the log. A build that knows no versions leaves none. */
const VERSION = 8;

/** All tables, by what lies in them. */
const TABLES = [
  ...(['records', 'lookups', 'quoters', 'names', 'refusals', 'places', 'deliveries'] as const),
  ...(['failed', 'attention', 'listed', 'about', 'counts'] as const),
  ...(['waits', 'accounts', 'clients', 'marks', 'parked', 'backlog', 'targets', 'due'] as const),
];

export type TableName = (typeof TABLES)[number];

const STATE = 'state';
/** Pages that a write changes are written to new places: all of them, but hardly ever more than this. */
const MOST_COPIED = 16_777_216;

/** Names the present boot of the machine; null where the system doesn't tell. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** Whether what the log says of the projections lets them be believed. */
function areTrusted({ boot, clean }: LogState, present: string | null): boolean {
  return clean || (boot !== null && boot === present);
}

/**
 * Whether the log must still say that it was made of a former store: whoever ends the takeover asks for that. A command
 * that reads may open the folder before, and leaves the former file where it is.
 */
function isBesideFormer(folder: string, known: LogState | null): boolean {
  if (known?.madeOfFormer !== true) return false;
  if (formerSize(folder) !== null) return true;
  // After a power cut the file must not be back, beside a log that doesn't say so any more.
  flushToDisk(folder);
  return false;
}

interface Tables {
  state: Database<string, string>;
  databases: ReadonlyMap<TableName, Database<string, string>>;
}

function open(path: string, readOnly: boolean): Opened<Tables> {
  return openTables({ path, readOnly, maxDbs: 32, noSync: true }, (root) => ({
    state: root.openDB<string, string>({ name: STATE, encoding: 'string' }),
    databases: new Map(
      TABLES.map((name) => [name, root.openDB<string, string>({ name, encoding: 'string' })]),
    ),
  }));
}

export class ProjectionsFile {
  readonly #path: string;
  readonly #root: RootDatabase;
  readonly #tables: Tables;
  readonly #generation: string;
  /** Where nothing is written: the tables are as they were when this was opened. */
  readonly #pinned: Transaction | null;
  /** Null where nothing is written. */
  readonly #rows: Rows | null;
  /** The log that is told of a clean end. */
  #log: Log | null = null;
  /** Whether all that was to be written is. */
  #isWhole = true;

  private constructor(path: string, { root, tables, room }: Opened<Tables>, generation: string) {
    this.#path = path;
    this.#root = root;
    this.#tables = tables;
    this.#generation = generation;
    this.#pinned = room === null ? root.useReadTransaction() : null;
    this.#rows = room === null ? null : new Rows(room);
  }

  get isWritable(): boolean {
    return this.#pinned === null;
  }

  /** Whether what is written is there for whoever opens the store next. */
  get isKept(): boolean {
    return this.#log !== null;
  }

  /**
   * Opens the projections of a log to write them; those that can't be believed go, and are empty then, and of the
   * given generation: a name that none had before. @throws OlderLog
   */
  static async open(path: string, log: Log, generation: string, boot = bootId()): Promise<ProjectionsFile> {
    const known = log.state();
    const file =
      (await ProjectionsFile.#trusted(path, known, boot, false)) ??
      (await ProjectionsFile.fresh(path, generation));
    const { mark } = file;
    // What came next would get the numbers of what is gone, and its accounts couldn't go on.
    if (mark > log.last) {
      await file.#closeFile();
      throw new OlderLog(log.path, log.last, path, mark);
    }
    file.#log = log;
    const { dueFrom = 0 } = known ?? {};
    const made = isBesideFormer(dirname(path), known) ? { madeOfFormer: true } : {};
    await log.keepState({
      format: FORMAT,
      generation: file.#generation,
      boot,
      clean: false,
      dueFrom,
      ...made,
    });
    return file;
  }

  /** Empty projections, which belong to no log yet; `generation` is a name that none had before. */
  static async fresh(path: string, generation: string): Promise<ProjectionsFile> {
    rmSync(path, { force: true });
    rmSync(`${path}-lock`, { force: true });
    const file = new ProjectionsFile(path, open(path, false), generation);
    await file.#keep(0);
    return file;
  }

  /** Opens the projections of a log to read; null where they can't be believed. */
  static toRead(path: string, log: Log, boot = bootId()): Promise<ProjectionsFile | null> {
    return ProjectionsFile.#trusted(path, log.state(), boot, true);
  }

  /**
   * Opens the projections of a log to read them, again and again, beside the one who writes them in this process; null
   * where they aren't the log's.
   */
  static beside(path: string, log: Log): Promise<ProjectionsFile | null> {
    return ProjectionsFile.#ofLog(path, log.state(), true);
  }

  /** The same file as it is now, until `leave`. */
  asOfNow(): ProjectionsFile {
    const root = this.#root;
    root.resetReadTxn();
    // lmdb can't open a table any more beside a transaction that is kept.
    return new ProjectionsFile(this.#path, { root, tables: this.#tables, room: null }, this.#generation);
  }

  /** Lets go of what was kept as it was; the file stays open. */
  leave(): void {
    this.#pinned?.done();
  }

  static async #trusted(
    path: string,
    known: LogState | null,
    boot: string | null,
    readOnly: boolean,
  ): Promise<ProjectionsFile | null> {
    return known !== null && areTrusted(known, boot) ? ProjectionsFile.#ofLog(path, known, readOnly) : null;
  }

  static async #ofLog(
    path: string,
    known: LogState | null,
    readOnly: boolean,
  ): Promise<ProjectionsFile | null> {
    if (known === null || sizeOf(path) === null || flawOf(path) !== null) return null;
    const file = new ProjectionsFile(path, open(path, readOnly), known.generation);
    const state = file.#read();
    if (state?.generation === known.generation && state.version === VERSION) return file;
    await file.#closeFile();
    return null;
  }

  /** Closes the file, and says nothing to the log. */
  async #closeFile(): Promise<void> {
    this.#pinned?.done();
    await this.#root.close();
    this.#rows?.room.close();
  }

  #read(): FileState | null {
    // lmdb gives no database, against its types, where there is none.
    const state = this.#tables.state as Database<string, string> | undefined;
    if (state === undefined) return null;
    const text = tableOf(state, { pinned: this.#pinned }).get(STATE);
    return text === undefined ? null : JSON.parse(text);
  }

  /** The last row of the log that is in the tables. */
  get mark(): number {
    return this.#read()?.mark ?? 0;
  }

  table(name: TableName): Table {
    const database = this.#tables.databases.get(name);
    if (database === undefined) throw new Error(`there is no table ${name}`);
    return tableOf(database, { pinned: this.#pinned, rows: this.#rows });
  }

  /** Writes all that `issue` puts, and the mark, in one transaction, or nothing; null: the mark stays where it is. */
  async write(mark: number | null, issue: () => void): Promise<void> {
    const rows = this.#rows;
    if (rows === null) throw new Error('the projections are only read');
    const { room } = rows;
    try {
      await inOneTransaction(this.#root, room, () => {
        room.take(Math.min(room.used, MOST_COPIED));
        rows.issue(issue);
        return mark === null ? [] : [this.#keep(mark)];
      });
    } catch (error) {
      this.#isWhole = false;
      throw error;
    }
  }

  #keep(mark: number): Promise<unknown> {
    const state = { generation: this.#generation, version: VERSION, mark } satisfies FileState;
    return this.#tables.state.put(STATE, JSON.stringify(state));
  }

  /** Closes what was opened by `beside`, once nobody reads. */
  async closeRead(): Promise<void> {
    await this.#root.close();
  }

  /**
   * Closes the projections; those of a log, in which all of it is, are on the disk then, and the log says so. Where a write
   * has failed, nothing more is asked of the disk.
   */
  async close(): Promise<void> {
    await this.#closeFile();
    if (this.#log === null || !this.#isWhole) return;
    flushToDisk(this.#path);
    const state = this.#log.state();
    if (state !== null) await this.#log.keepState({ ...state, clean: true });
  }
}
