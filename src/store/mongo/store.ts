/**
 * The store on MongoDB: for those who outgrow one machine. Any number of processes may have it open; they hold
 * nothing that another doesn't find.
 *
 * - An append is the insert of one document of `journal`, confirmed by a majority (I5); see `appends.ts`.
 * - What is due belongs to one incarnation at a time; see `due.ts`.
 * - Opening returns at once. Until the database is there, and whenever it isn't, every method ends in
 *   StoreUnavailable.
 */

import type { Account } from '../../domain/account.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Batch, Head, TransactionRecord } from '../../engine/journal.ts';
import {
  type AccountTable,
  type Append,
  type AppendResult,
  type Attention,
  type AttentionItem,
  type Claim,
  type DeliveryRecord,
  type DueIndex,
  type DueKind,
  type Journal,
  type Lookup,
  type LookupRow,
  type Reads,
  type Settlement,
  type Store,
  StoreUnavailable,
  type Wants,
} from '../../engine/store.ts';
import { textOf } from '../../errors.ts';
import { MongoJournal } from './appends.ts';
import { toDate } from './bson.ts';
import { inTime, MAJORITY, MongoConnection } from './connection.ts';
import {
  type AccountDocument,
  type AdjustmentDocument,
  type AttentionDocument,
  accountDocument,
  accountOf,
  attentionOf,
  batchOf,
  deliveryOf,
  documentId,
  type JournalDocument,
  recordOf,
  type TransactionDocument,
} from './documents.ts';
import { MongoDue } from './due.ts';
import { Gathered } from './gathering.ts';
import { hasClaims, ownersOf } from './owners.ts';
import { MongoProcesses } from './processes.ts';
import { MongoReads } from './reads.ts';
import { insertAll, noteAll } from './writes.ts';

export interface MongoStoreOptions {
  uri: string;
  /** Names this run of this process. */
  incarnation: string;
  /** This process's clock, ms since 1970. */
  localNow(): number;
  /** The clock that due times and leases go by; the database's where none is given. */
  now?(): number;
  /** An incarnation without a heartbeat for so long has fallen silent. */
  silentAfterMs: number;
  /** The server can't be used, whatever one waits: a sentence for the operator. */
  onUnusable(reason: string): void;
  /** What ops should know, in a sentence. */
  onNotice(text: string): void;
}

/** How long `close` waits for what is under way where the database is away. */
const CLOSE_MS = 2_000;
const HEAD_MS = 5_000;
const STANDALONE =
  'MONGODB_URI leads to a standalone server: what is confirmed lies on one disk and is lost with it, nothing takes over when it stops. Use a replica set for money.';

export class MongoStore implements Store, Journal, DueIndex, Attention, AccountTable {
  readonly journal: Journal = this;
  readonly due: DueIndex = this;
  readonly attention: Attention = this;
  readonly accounts: AccountTable = this;
  /** Resolves once the database is there and prepared; never where the server can't be used. */
  readonly ready: Promise<void>;
  /** The database's clock, ms since 1970. */
  readonly now: () => number;
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;
  readonly #journal: MongoJournal;
  readonly #processes: MongoProcesses;
  readonly #due: MongoDue;
  readonly #options: MongoStoreOptions;
  readonly #newAccounts = new Gathered<AccountDocument, boolean>({ waiting: 0 }, (documents) =>
    this.#insertAccounts(documents),
  );
  readonly #appending = new Set<Promise<AppendResult>>();
  #finishing: Promise<void> | null = null;
  #isReady = false;
  #closing: Promise<void> | null = null;

  constructor(options: MongoStoreOptions) {
    const { uri, incarnation, silentAfterMs, onNotice } = options;
    this.#options = options;
    const connection = new MongoConnection({ uri, onNotice });
    const reads = new MongoReads(connection);
    this.#connection = connection;
    this.#reads = reads;
    this.now = options.now ?? (() => connection.now(options.localNow()));
    const projected = (): number => this.#journal.projected;
    const lease = { now: this.now, silentAfterMs, projected };
    this.#processes = new MongoProcesses({ connection, reads, incarnation, ...lease });
    this.#due = new MongoDue({ connection, reads, incarnation, processes: this.#processes });
    this.#journal = new MongoJournal({ connection, reads, due: this.#due, incarnation });
    this.ready = this.#open();
  }

  async #open(): Promise<void> {
    const { onUnusable, onNotice, localNow } = this.#options;
    try {
      await this.#connection.connect(localNow);
    } catch (error) {
      if (this.#connection.closed) return new Promise(() => {});
      onUnusable(textOf(error));
      return new Promise(() => {});
    }
    if (this.#connection.standalone) onNotice(STANDALONE);
    this.#isReady = true;
  }

  /** The database that the store lies in, for others who keep something there. */
  get db(): MongoConnection['db'] {
    return this.#connection.db;
  }

  #check(): void {
    if (this.#closing !== null) throw new StoreUnavailable('the store is closed');
    if (!this.#isReady) throw new StoreUnavailable('the database is not there yet');
  }

  async head(account: string): Promise<Head> {
    this.#check();
    // What a crash cut off is finished on the way: tried until it is done, but not waited for that long.
    return inTime(HEAD_MS, this.#journal.head(account));
  }

  async read(account: string, wants: Wants): Promise<Reads> {
    this.#check();
    const [transactions, lookups] = await Promise.all([
      Promise.all(wants.transactions.map((id) => this.#reads.transaction(id))),
      Promise.all(wants.lookups.map((lookup) => this.#lookup(account, lookup))),
    ]);
    return {
      transactions: transactions.map((record) => (record?.account === account ? record : null)),
      lookups,
    };
  }

  /** What merchants look for and isn't there may be in a last batch that a dead process didn't project. */
  async #lookup(account: string, lookup: Lookup): Promise<string | null> {
    const found = await this.#reads.lookup(account, lookup);
    if (found !== null || (lookup.name !== 'externalRef' && lookup.name !== 'reference')) return found;
    const known = this.#journal.known(account);
    const { seq } = await this.#journal.head(account);
    return seq === (known ?? 0) ? null : this.#reads.lookup(account, lookup);
  }

  async append(append: Append): Promise<AppendResult> {
    this.#check();
    const appended = this.#processes.register().then(() => this.#journal.append(append));
    this.#appending.add(appended);
    return appended.finally(() => this.#appending.delete(appended));
  }

  async transaction(id: string): Promise<TransactionRecord | null> {
    this.#check();
    return this.#reads.transaction(id);
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    this.#check();
    const filter = { account, seq: { $in: seqs } };
    const found = await this.#reads.find<JournalDocument>('journal', filter, { sort: { seq: 1 } });
    return found.map(batchOf);
  }

  async batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    this.#check();
    const options = { sort: { seq: 1 }, limit };
    const found = await this.#reads.find<JournalDocument>(
      'journal',
      { account, seq: { $gte: from } },
      options,
    );
    return found.map(batchOf);
  }

  async accountIds(): Promise<string[]> {
    this.#check();
    const { db } = this.#connection;
    const [journals, settings] = await Promise.all([
      this.#connection.run(() =>
        db
          .collection('journal')
          .aggregate<{ _id: string }>([{ $group: { _id: '$account' } }], {
            readConcern: { level: 'majority' },
          })
          .toArray(),
      ),
      this.#reads.find<{ _id: string }>('accounts', {}, { projection: { _id: 1 } }),
    ]);
    return [...new Set([...journals, ...settings].map(({ _id }) => _id))].sort();
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    this.#check();
    const options = { sort: { _id: 1 }, limit };
    const found = await this.#reads.find<TransactionDocument>(
      'transactions',
      { _id: { $gt: after } },
      options,
    );
    return found.map(recordOf);
  }

  async lookups(account: string): Promise<LookupRow[]> {
    this.#check();
    const projection = { type: 1, externalRef: 1, order: 1, lookups: 1 };
    const [transactions, adjustments] = await Promise.all([
      this.#reads.find<TransactionDocument>('transactions', { account }, { projection }),
      this.#reads.find<AdjustmentDocument>('adjustments', {
        _id: { $gte: `${account}:`, $lt: `${account};` },
      }),
    ]);
    const best = new Map<string, { row: LookupRow; order: number }>();
    const offer = (row: LookupRow, order: number): void => {
      const name = `${row.name}:${row.key}`;
      if ((best.get(name)?.order ?? -1) <= order) best.set(name, { row, order });
    };
    for (const { _id, externalRef, order, lookups = [] } of transactions) {
      if (externalRef !== undefined) offer({ name: 'externalRef', key: externalRef, value: _id }, order);
      for (const { name, key, order: own } of lookups) offer({ name, key, value: _id }, own);
    }
    for (const { key, digest } of adjustments) offer({ name: 'adjustment', key, value: digest }, 0);
    return [...best.values()].map(({ row }) => row);
  }

  async beat(now: number): Promise<void> {
    this.#check();
    await this.#connection.run(() => this.#connection.measureClock(this.#options.localNow));
    await this.#processes.beat(now);
    // Not waited for: it may take long, and the next beat must come in time. What fails is done at the next.
    this.#finishing ??= this.#finishOthers()
      .catch(() => {})
      .finally(() => {
        this.#finishing = null;
      });
  }

  /** Finishes what processes that fell silent cut off: the last batches that they appended. */
  async #finishOthers(): Promise<void> {
    for (const silent of this.#processes.silentAtBeat) {
      const { _id, projected } = silent;
      const range = { $gt: documentId(_id, projected), $lt: `${_id}.` };
      const options = { projection: { account: 1, seq: 1 } };
      const batches = await this.#reads.find<JournalDocument>('journal', { _id: range }, options);
      for (const { account, seq } of batches) await this.#journal.finish(account, seq);
      if (!(await hasClaims(this.#reads, _id))) await this.#processes.forget(silent);
    }
  }

  async claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    this.#check();
    return this.#due.claim(kind, now, limit);
  }

  async settle(settlements: Settlement[]): Promise<boolean[]> {
    this.#check();
    return this.#due.settle(settlements);
  }

  async park(claims: Claim[]): Promise<void> {
    this.#check();
    await this.#due.park(claims);
  }

  async unpark(now: number): Promise<number> {
    this.#check();
    return this.#due.unpark(now);
  }

  async deliveries(transaction: string): Promise<DeliveryRecord[]> {
    this.#check();
    return (await this.#reads.deliveries(transaction)).map(deliveryOf);
  }

  async list(): Promise<AttentionItem[]> {
    this.#check();
    const options = { sort: { since: 1 } };
    const found = await this.#reads.find<AttentionDocument>('attention', { done: false }, options);
    return found.map(attentionOf);
  }

  async note(items: AttentionItem[]): Promise<void> {
    this.#check();
    await noteAll(this.#connection, items);
  }

  async dismiss(id: string): Promise<boolean> {
    this.#check();
    const updates = [{ q: { id, done: false }, u: { $set: { done: true } }, multi: true }];
    const { n } = await this.#connection.command({ update: 'attention', updates, writeConcern: MAJORITY });
    return n > 0;
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    this.#check();
    if (ids.length === 0) return [];
    const found = await this.#reads.find<AttentionDocument>('attention', { id: { $in: ids } });
    const known = new Set(found.map(({ id }) => id));
    const open = new Set(found.filter(({ done }) => !done).map(({ id }) => id));
    return ids.map((id) => known.has(id) && !open.has(id));
  }

  async openCashouts(before: string, limit: number): Promise<TransactionRecord[]> {
    this.#check();
    const filter = { open: true, updatedAt: { $lt: toDate(before) } };
    const options = { sort: { updatedAt: 1 }, limit };
    return (await this.#reads.find<TransactionDocument>('transactions', filter, options)).map(recordOf);
  }

  /** Looks for claims of processes that nobody knows any more: they are silent, too. */
  async tidy(_now: number): Promise<void> {
    this.#check();
    await this.#processes.rememberAll(await ownersOf(this.#reads));
  }

  async get(id: string): Promise<Account | null> {
    this.#check();
    const document = await this.#reads.account(id);
    return document === null ? null : accountOf(document);
  }

  async byClientId(clientId: string): Promise<Account | null> {
    this.#check();
    const [document] = await this.#reads.find<AccountDocument>('accounts', { clientId }, { limit: 1 });
    return document === undefined ? null : accountOf(document);
  }

  async all(): Promise<Account[]> {
    this.#check();
    return (await this.#reads.find<AccountDocument>('accounts', {}, { sort: { _id: 1 } })).map(accountOf);
  }

  async put(account: Account): Promise<boolean> {
    this.#check();
    if (await this.#write(accountDocument(account))) return true;
    // Where an answer was lost on the way, what is stored is what was to be.
    const stored = await this.get(account.id);
    return stored !== null && canonicalJson(stored) === canonicalJson(account);
  }

  async #write(document: AccountDocument): Promise<boolean> {
    const { _id, version } = document;
    // New accounts come in thousands, for load tests: together.
    if (version === 1) return (await this.#newAccounts.get(document)) === true;
    const updates = [{ q: { _id, version: version - 1 }, u: document }];
    const command = { update: 'accounts', updates, writeConcern: MAJORITY };
    return (await this.#connection.command(command)).n === 1;
  }

  async #insertAccounts(documents: AccountDocument[]): Promise<boolean[]> {
    const taken = new Set(await insertAll(this.#connection, 'accounts', documents));
    return documents.map((document) => !taken.has(document));
  }

  async ping(): Promise<void> {
    this.#check();
    await this.#connection.command({ ping: 1 });
    if (!this.#processes.isBeating) throw new StoreUnavailable('no majority of the database confirms writes');
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await inTime(CLOSE_MS, Promise.allSettled(this.#appending)).catch(() => {});
    this.#journal.close();
    // Where that can't be told, the others notice.
    await this.#processes.leave().catch(() => {});
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
