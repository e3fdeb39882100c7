/**
 * All that follows from the log: records, what they are found by, progress of deliveries, items for ops, settings, what
 * is due. It is served from memory until it is written, in larger transactions behind a mark; who opens the store takes
 * up the log from the mark on.
 *
 * 1. What lies in the tables is as it was at the mark, so that a row of the log is never applied twice.
 * 2. But lookups and deliveries may lie there earlier: to put them again, in the log's order, leads to the same. Hardly any
 *    of them changes once it is put, where records and what is due change several times in the life of a transaction, and
 *    are written less often for that.
 */
import type { Account } from '../../../domain/account.ts';
import type { DoneBy } from '../../../engine/store.ts';
import { asError, OperatorError, writeFailure } from '../../../errors.ts';
import { Schedule } from '../due/schedule.ts';
import type { Log } from '../log/log.ts';
import type { KeptItem } from '../log/rows.ts';
import { Deliveries } from './deliveries.ts';
import { FailedDeliveries } from './failed-deliveries.ts';
import type { ProjectionsFile, TableName } from './file.ts';
import { json, Overlay, TEXT } from './overlay.ts';
import { Places } from './places.ts';
import { Records } from './records.ts';

/** An item for ops that is known. */
export interface Noted {
  item: KeptItem;
  done: boolean;
  /** Who was done with it, where that was said. */
  by?: DoneBy;
}

/** One of an account's URLs behind which deliveries wait. */
export interface TargetRow {
  account: string;
  url: string;
  /** When to look after it, ms. */
  look: number;
  waiting: number;
}

export interface ProjectionsOptions {
  file: ProjectionsFile;
  /** What the projections follow from. */
  log: Log;
  incarnation: string;
  now(): number;
  /** The projections can't be written any more, at the most once. */
  onFailure(error: Error): void;
}

/** All is written once so many changes wait of what lies in the tables as it was at the mark, or one has for `WAIT_MS`. */
const TOGETHER = 6_000;
const WAIT_MS = 500;
/** So many changes of what may lie there earlier are written by themselves: with all else they would hold up the thread. */
const EARLY_TOGETHER = 2_000;
/** Records that were written and are kept in memory: most are asked for again soon, or never. */
const RECORDS = 2_000;
/** Settings that are kept in memory: those of accounts in use are asked for several times a second. */
const ACCOUNTS = 4_000;

/** What is kept in tables. */
interface Written {
  /** How many changes wait to be written. */
  readonly waiting: number;
  issue(): void;
  written(): void;
}

function waitingIn(tables: readonly Written[]): number {
  return tables.reduce((sum, { waiting }) => sum + waiting, 0);
}

export class Projections {
  /** By id. */
  readonly records: Records;
  /** [account, name, key] to a transaction's id or another value. */
  readonly lookups: Overlay<string>;
  /** [name, digest of the key, account] of lookups that hardly any account has. */
  readonly quoters: Overlay<string>;
  /** Account to the names of the lookups that it has had any of. */
  readonly names: Overlay<string>;
  /** [transaction, seq] of batches that hold refused messages to it. */
  readonly refusals: Overlay<string>;
  readonly places: Places;
  readonly deliveries: Deliveries;
  /** Those that are dead or rejected. */
  readonly failed: FailedDeliveries;
  /** [kind, id] of items for ops that are known, on the list or done with. */
  readonly attention: Overlay<Noted>;
  /** [kind, since, id] of those on the list. */
  readonly listed: Overlay<string>;
  /** [transaction, since, kind, id] of those on the list that are about one. */
  readonly about: Overlay<string>;
  /** [what is waited for, time of the last change in ms, transaction]. */
  readonly waits: Overlay<string>;
  readonly accounts: Overlay<Account>;
  /** Client id to account. */
  readonly clients: Overlay<string>;
  readonly marks: Overlay<string>;
  /** What is due again only once it is unparked, by id. */
  readonly parked: Overlay<string>;
  /** [target's id, due time in ms, delivery] of what waits behind targets. */
  readonly backlog: Overlay<string>;
  readonly #storedTargets: Overlay<TargetRow>;
  /** Targets behind which something waits, by id: as many as there are URLs that don't keep up. */
  readonly targets = new Map<string, TargetRow>();
  /** Targets that are looked after, by id: nobody else does until then (ms). They end with the process, as claims do. */
  readonly looked = new Map<string, number>();
  readonly schedule: Schedule;
  /** By kind: how many items are on the list. */
  readonly counts: Overlay<number>;
  readonly #file: ProjectionsFile;
  readonly #onFailure: (error: Error) => void;
  /** What may lie in the tables before the mark says so. */
  readonly #early: readonly Written[];
  readonly #rest: readonly Written[];
  /** The last row of the log that is in here. */
  #mark: number;
  #writing: Promise<void> | null = null;
  /** All is written next, however little waits. */
  #isTime = false;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #failure: Error | null = null;

  constructor({ file, log, incarnation, now, onFailure }: ProjectionsOptions) {
    const texts = (name: TableName): Overlay<string> =>
      new Overlay({ table: file.table(name), coding: TEXT });
    this.#file = file;
    this.#onFailure = onFailure;
    this.#mark = file.mark;
    // Who only reads goes through all there is, once.
    const keptFor = (recent: number): number => (file.isWritable ? recent : 0);
    this.records = new Records(file.table('records'), log, keptFor(RECORDS));
    this.lookups = texts('lookups');
    this.quoters = texts('quoters');
    this.names = new Overlay({ table: file.table('names'), coding: TEXT, recent: keptFor(ACCOUNTS) });
    this.refusals = texts('refusals');
    this.places = new Places(file.table('places'));
    this.deliveries = new Deliveries(file.table('deliveries'));
    this.failed = new FailedDeliveries(file.table('failed'), this, log);
    this.attention = new Overlay({ table: file.table('attention'), coding: json<Noted>('the item') });
    this.listed = texts('listed');
    this.about = texts('about');
    // Most waits have an end before they are written.
    this.waits = new Overlay({ table: file.table('waits'), coding: TEXT, areNew: true });
    this.accounts = new Overlay({
      table: file.table('accounts'),
      coding: json<Account>('the settings of'),
      recent: keptFor(ACCOUNTS),
    });
    this.clients = texts('clients');
    this.marks = texts('marks');
    this.parked = texts('parked');
    this.backlog = texts('backlog');
    this.counts = new Overlay({ table: file.table('counts'), coding: json<number>('the count of') });
    this.#storedTargets = new Overlay({
      table: file.table('targets'),
      coding: json<TargetRow>('the target'),
    });
    this.schedule = new Schedule(file.table('due'), incarnation, now);
    this.#early = [this.lookups, this.deliveries, this.failed];
    this.#rest = [
      this.records,
      this.quoters,
      this.names,
      this.refusals,
      this.places,
      this.attention,
      this.listed,
      this.about,
      this.counts,
      this.waits,
      this.accounts,
      this.clients,
      this.marks,
      this.parked,
      this.backlog,
      this.#storedTargets,
      this.schedule,
    ];
    for (const [id, row] of this.#storedTargets.range('', '~')) this.targets.set(id, row);
  }

  /** The last row of the log that is in here. */
  get mark(): number {
    return this.#mark;
  }

  putTarget(id: string, row: TargetRow): void {
    this.targets.set(id, row);
    this.#storedTargets.put(id, row);
  }

  removeTarget(id: string): void {
    this.targets.delete(id);
    this.#storedTargets.remove(id);
  }

  /** All rows of the log up to this one are in here: what they changed is written soon. */
  upTo(mark: number): void {
    this.#mark = mark;
    this.changed();
  }

  /** How many changes wait to be written. */
  get waiting(): number {
    return waitingIn(this.#early) + waitingIn(this.#rest);
  }

  /** Whether what is changed is ever written. */
  get isWritable(): boolean {
    return this.#file.isWritable;
  }

  /** Something was changed: it is written soon, where that is for others; for this process alone, by `write`. */
  changed(): void {
    if (this.#writing !== null || this.#hasEnded || !this.#file.isKept) return;
    this.#timer ??= setTimeout(() => {
      this.#isTime = true;
      this.changed();
    }, WAIT_MS);
    if (this.#isTime || waitingIn(this.#rest) >= TOGETHER) void this.#write();
    else if (waitingIn(this.#early) >= EARLY_TOGETHER) void this.#issue(this.#early, null);
  }

  /** Writes all, unless something is being written. */
  #write(): Promise<void> {
    if (this.#writing !== null) return this.#writing;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isTime = false;
    return this.#issue([...this.#early, ...this.#rest], this.#mark);
  }

  #issue(tables: readonly Written[], mark: number | null): Promise<void> {
    const writing = this.#file.write(mark, () => {
      for (const table of tables) table.issue();
    });
    this.#writing = this.#written(tables, writing);
    return this.#writing;
  }

  async #written(tables: readonly Written[], writing: Promise<void>): Promise<void> {
    try {
      await writing;
    } catch (error) {
      // Nothing is written any more; what the log has is taken up at the next start.
      this.#hasEnded = true;
      this.#failure = asError(error);
      this.#onFailure(this.#failure);
      return;
    }
    for (const table of tables) table.written();
    this.#writing = null;
    if (this.waiting > 0) this.changed();
  }

  /** Writes all that has changed until now. @throws OperatorError where that can't be written */
  async write(): Promise<void> {
    await this.#writeAll();
    this.#expectWritten();
  }

  async #writeAll(): Promise<void> {
    if (this.#writing !== null) {
      // What is written next is all of it, whoever begins it.
      this.#isTime = true;
      await this.#writing;
    }
    if (!this.#hasEnded) await this.#write();
  }

  /** @throws OperatorError */
  #expectWritten(): void {
    if (this.#failure !== null) throw new OperatorError(writeFailure(this.#failure));
  }

  /** Writes nothing more: what isn't written is taken up from the log again. */
  async leave(): Promise<void> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#writing;
  }

  /** Writes all that others are to find, and takes no more. @throws as `write` */
  async close(): Promise<void> {
    while (this.#file.isKept && !this.#hasEnded) {
      await this.#writeAll();
      if (this.waiting === 0) break;
    }
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#expectWritten();
  }
}
