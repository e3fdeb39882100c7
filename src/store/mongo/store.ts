/**
 * The store on MongoDB: for a load that outgrows one machine. Opens the database and puts the roles together on it. Any
 * number of processes may have it open; they hold nothing that another doesn't find.
 *
 * - An append is the insert of one document of `journal`, confirmed by a majority (I5); see `appends/appends.ts`.
 * - What is due is claimed by one process at a time, for as long as it renews its leases; see `due/due.ts`.
 * - What a dead process left without its projection is finished by the others; see `recovery/recovery.ts`.
 * - Opening returns at once. Until the database is there, and whenever it isn't, every method ends in
 *   StoreUnavailable.
 */
import type { FollowedJournals } from '../../engine/store/journals.ts';
import type { Tail } from '../../engine/store/tail.ts';
import { type AttentionItem, type Store, StoreUnavailable } from '../../engine/store.ts';
import { textOf } from '../../errors.ts';
import { MongoAccounts, MongoMarks } from './accounts.ts';
import { MongoJournals } from './across/journals.ts';
import { MongoTail } from './across/tail.ts';
import { Appends } from './appends/appends.ts';
import { Finishing } from './appends/finishing.ts';
import { MongoAttention } from './attention.ts';
import { MongoBacklog } from './backlog.ts';
import { MongoConnection } from './connection.ts';
import { MongoDue } from './due/due.ts';
import { Leases } from './due/leases.ts';
import { MongoJournal } from './journal.ts';
import { MongoReads } from './reads.ts';
import { MongoProcesses } from './recovery/processes.ts';
import { Recovery } from './recovery/recovery.ts';

export interface MongoStoreOptions {
  uri: string;
  /** Names this run of this process. */
  incarnation: string;
  /** The clock that due times and leases go by; the database's where none is given. */
  now?(): number;
  /** A clock that nobody sets, ms, which tells when that one was set; the system's own where nothing is said. */
  elapsed?(): number;
  /** Of a process without a heartbeat for so long the others finish what it left. */
  silentAfterMs: number;
  /** A claim that isn't renewed for so long is free again. */
  leaseMs: number;
  /** Nothing will be made: neither collections nor indexes. */
  readOnly?: boolean;
  /** A database without a store can't be used. */
  mustExist?: boolean;
  /** To the database; many where nothing is said. */
  mostConnections?: number;
  /** A committed batch can't be projected; the item is stored where nothing is said. */
  onUnprojectable?(item: AttentionItem): Promise<void>;
  /** The server can't be used, and no waiting mends that: a sentence for the operator. */
  onUnusable(reason: string): void;
  /** What ops should know, in a sentence. */
  onNotice(text: string): void;
  /** Both as `ConnectionOptions` has them. */
  onLack?: ((text: string) => void) | undefined;
  endsAtLack?: boolean | undefined;
}

const STANDALONE =
  'MONGODB_URI leads to a standalone server: what is confirmed lies on one disk and is lost with it, nothing takes over when it stops. Use a replica set for money.';

export class MongoStore implements Store {
  readonly journal: MongoJournal;
  readonly due: MongoDue;
  readonly backlog: MongoBacklog;
  readonly attention: MongoAttention;
  readonly accounts: MongoAccounts;
  readonly marks: MongoMarks;
  /** Resolves once the database is there and prepared; never where the server can't be used. */
  readonly ready: Promise<void>;
  /** The database's clock, ms since 1970. */
  readonly now: () => number;
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;
  readonly #processes: MongoProcesses;
  readonly #leases: Leases;
  #closing: Promise<void> | null = null;

  constructor(options: MongoStoreOptions) {
    const { uri, incarnation, silentAfterMs, leaseMs, onNotice, onLack, endsAtLack } = options;
    const { onUnprojectable = (item) => this.attention.note([item]) } = options;
    const { readOnly = false, mustExist = readOnly, mostConnections } = options;
    const most = mostConnections === undefined ? {} : { mostConnections };
    const connection = new MongoConnection({
      ...{ uri, onNotice, onLack, endsAtLack, readOnly, mustExist },
      ...most,
    });
    const now = options.now ?? (() => connection.now());
    const elapsed = options.elapsed ?? (() => performance.now());
    const reads = new MongoReads(connection);
    const common = { connection, reads, incarnation };
    const finishing = new Finishing(connection, reads, now);
    const leases = new Leases({ connection, reads, now, leaseMs });
    const onHeldUp = (): void => processes.tell();
    const present = (): Promise<void> => processes.present();
    const appends = new Appends({ ...common, finishing, leases, onHeldUp, present });
    const { numbers, shared } = appends;
    const processes = new MongoProcesses({
      connection,
      incarnation,
      ...{ now, elapsed },
      silentAfterMs,
      projected: () => numbers.projected,
      isDone: () => numbers.areDone,
      heldUp: () => shared.heldUp,
      onHeldUp: (accounts) => shared.makeWay(accounts),
    });
    const recovery = new Recovery({ ...common, processes, finishing, numbers, onUnprojectable });
    this.now = now;
    this.journal = new MongoJournal({ connection, reads, appends, processes });
    this.due = new MongoDue({ ...common, now, processes, leases, recovery });
    this.backlog = new MongoBacklog({ ...common, leases });
    this.attention = new MongoAttention(connection, reads, incarnation);
    this.accounts = new MongoAccounts(connection, reads);
    this.marks = new MongoMarks(connection, reads);
    this.#connection = connection;
    this.#reads = reads;
    this.#processes = processes;
    this.#leases = leases;
    this.ready = this.#open(options);
  }

  async #open({ onUnusable, onNotice }: MongoStoreOptions): Promise<void> {
    try {
      await this.#connection.connect();
    } catch (error) {
      if (this.#connection.closed) return new Promise(() => {});
      onUnusable(textOf(error));
      return new Promise(() => {});
    }
    if (this.#connection.standalone) onNotice(STANDALONE);
  }

  /** The database that the store lies in, for parts that keep something of their own there. */
  get db(): MongoConnection['db'] {
    return this.#connection.db;
  }

  /** Reads what is written from now on, by whatever process. @throws StoreUnavailable */
  tail(): Tail {
    this.#connection.check();
    return new MongoTail(this.#reads, this.now);
  }

  /** The accounts' journals, for one who reads them again as they grow. */
  get journals(): FollowedJournals {
    return new MongoJournals(this.#connection, this.#reads);
  }

  async ping(): Promise<void> {
    this.#connection.check();
    await this.#connection.command({ ping: 1 });
    const { right } = this.#connection.lacks;
    if (right !== null) throw new StoreUnavailable(right);
    if (!this.#processes.isBeating) throw new StoreUnavailable('no majority of the database confirms writes');
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#connection.turnAway();
    await this.journal.close();
    // Where that can't be told, the others notice.
    await Promise.allSettled([this.#leases.giveBack(), this.#processes.leave()]);
    await this.#connection.close();
  }
}

/**
 * Opens the store on MongoDB; what it waits for is told by `ready`.
 * @throws UnusableServer where the connection string is none.
 */
export function openMongoStore(options: MongoStoreOptions): MongoStore {
  return new MongoStore(options);
}
