/**
 * The journal on MongoDB and what its projections tell: the reads of merchants' requests, of operators and of
 * verify. How a batch gets into the journal is in `appends/appends.ts`.
 */
import type { Batch, Head, TransactionRecord } from '../../engine/journal.ts';
import { type BatchContent, entryFrom } from '../../engine/store/content.ts';
import type { DeliveryRecord, FailedFilter, FailedPage } from '../../engine/store/deliveries.ts';
import type { NewestPage } from '../../engine/store/log.ts';
import type { Lookup, LookupPage, QuotedPage } from '../../engine/store/lookups.ts';
import type { Restoration } from '../../engine/store/restoration.ts';
import type {
  Append,
  AppendResult,
  ChangePlace,
  Journal,
  NumberedEntry,
  Reads,
  Wait,
  Wants,
} from '../../engine/store.ts';
import { atMost } from '../../waiting.ts';
import { newestBatches, placeUntil } from './across/newest.ts';
import type { Appends } from './appends/appends.ts';
import { LookupPages } from './audit/lookup-pages.ts';
import { Restorations } from './audit/restoration.ts';
import { storedTwice } from './audit/twice.ts';
import { fromBson, toDate } from './bson.ts';
import { inTime, type MongoConnection } from './connection.ts';
import {
  batchFromDocument,
  type JournalDocument,
  recordFromDocument,
  type TransactionDocument,
  waitFilter,
} from './documents.ts';
import { type DeliveryDocument, deliveryFromDocument } from './due/documents.ts';
import { failedBehind } from './due/failed-deliveries.ts';
import type { Gathered } from './gathering.ts';
import { MongoLookups } from './lookups.ts';
import { quotedBy } from './quoting.ts';
import type { MongoReads } from './reads.ts';
import type { MongoProcesses } from './recovery/processes.ts';

export interface MongoJournalParts {
  connection: MongoConnection;
  reads: MongoReads;
  appends: Appends;
  processes: MongoProcesses;
}

const HEAD_MS = 5_000;
/** How long `close` waits for appends that are under way where the database is away. */
const CLOSE_MS = 2_000;
/** A record, as it is shown: without what it is found by. */
const SHOWN = { lookups: 0 };

/** A transaction's entries in a batch; the exact text, where there is one, has those of others as well. */
function entriesFromDocument({ seq, exact, ...read }: JournalDocument, transaction: string): NumberedEntry[] {
  const content = (exact === undefined ? fromBson(read) : JSON.parse(exact)) as BatchContent;
  return content.entries
    .filter((stored) => stored.transaction === transaction)
    .map((stored) => ({ seq, entry: entryFrom(stored, content.at) }));
}

export class MongoJournal implements Journal {
  readonly #parts: MongoJournalParts;
  readonly #transactions: Gathered<string, TransactionRecord>;
  readonly #lookups: MongoLookups;
  readonly #deliveries: Gathered<string, DeliveryDocument[]>;
  readonly #pages: LookupPages;
  readonly #restorations: Restorations;
  readonly #appending = new Set<Promise<AppendResult>>();

  constructor(parts: MongoJournalParts) {
    const { connection, reads } = parts;
    this.#parts = parts;
    this.#pages = new LookupPages(reads);
    this.#restorations = new Restorations(connection, reads);
    this.#transactions = reads.gathered((ids) => this.#readTransactions(ids));
    this.#lookups = new MongoLookups(reads);
    this.#deliveries = reads.gathered((transactions) => this.#readDeliveries(transactions));
  }

  #check(): void {
    this.#parts.connection.check();
  }

  async append(append: Append): Promise<AppendResult> {
    this.#check();
    const { appends, processes } = this.#parts;
    const appended = processes.present().then(() => appends.append(append));
    this.#appending.add(appended);
    return appended.finally(() => this.#appending.delete(appended));
  }

  async restore(restoration: Restoration): Promise<number> {
    this.#check();
    return this.#restorations.restore(restoration);
  }

  /** Waits for appends that are under way, not for long; what has not been sent by then fails. */
  async close(): Promise<void> {
    await atMost(CLOSE_MS, Promise.allSettled(this.#appending));
    this.#parts.appends.close();
  }

  async head(account: string): Promise<Head> {
    this.#check();
    // What a crash cut off is finished on the way: tried until it is done, but not waited for that long.
    return inTime(HEAD_MS, this.#parts.appends.head(account));
  }

  async read(account: string, wants: Wants, last?: number): Promise<Reads> {
    this.#check();
    const { appends } = this.#parts;
    const known = (id: string): TransactionRecord | null =>
      last === undefined ? null : appends.record(account, last, id);
    const [transactions, lookups] = await Promise.all([
      Promise.all(wants.transactions.map((id) => known(id) ?? this.#transactions.get(id))),
      Promise.all(wants.lookups.map((lookup) => this.#lookUp(account, lookup))),
    ]);
    return {
      transactions: transactions.map((record) => (record?.account === account ? record : null)),
      lookups,
    };
  }

  /** What merchants look for and isn't there may be in a last batch that a dead process didn't project. */
  async #lookUp(account: string, lookup: Lookup): Promise<string | null> {
    const found = await this.#lookups.find(account, lookup);
    if (found !== null || (lookup.name !== 'externalRef' && lookup.name !== 'reference')) return found;
    const { appends } = this.#parts;
    const known = appends.known(account);
    const { seq } = await appends.head(account);
    return seq === (known ?? 0) ? null : this.#lookups.find(account, lookup);
  }

  async #readTransactions(ids: string[]): Promise<(TransactionRecord | null)[]> {
    const options = { projection: SHOWN };
    const documents = await this.#parts.reads.byId<TransactionDocument>('transactions', ids, options);
    // Each caller gets a record of its own.
    return documents.map((document) => (document === null ? null : recordFromDocument(document)));
  }

  async transaction(id: string): Promise<TransactionRecord | null> {
    this.#check();
    return this.#transactions.get(id);
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    return this.#findBatches({ account, seq: { $in: seqs } }, {});
  }

  async storedOtherwise(account: string, seqs: readonly number[]): Promise<number[]> {
    this.#check();
    return storedTwice(this.#parts.reads, account, seqs);
  }

  async entries(account: string, transaction: string, seqs: readonly number[]): Promise<NumberedEntry[]> {
    this.#check();
    const isOwn = { $eq: ['$$this.transaction', { $literal: transaction }] };
    const own = { $filter: { input: '$entries', cond: isOwn } };
    const options = { sort: { seq: 1 }, projection: { _id: 0, seq: 1, at: 1, exact: 1, entries: own } };
    const filter = { account, seq: { $in: seqs } };
    const found = await this.#parts.reads.find<JournalDocument>('journal', filter, options);
    return found.flatMap((document) => entriesFromDocument(document, transaction));
  }

  async refusals(transaction: string, after: number, limit: number): Promise<number[]> {
    this.#check();
    return this.#parts.reads.refusals(transaction, after, limit);
  }

  async batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    return this.#findBatches({ account, seq: { $gte: from } }, { limit });
  }

  async #findBatches(filter: object, options: { limit?: number }): Promise<Batch[]> {
    this.#check();
    const inOrder = { sort: { seq: 1 }, ...options };
    const found = await this.#parts.reads.find<JournalDocument>('journal', filter, inOrder);
    return found.map(batchFromDocument);
  }

  async quoted(lookups: readonly Lookup[], after: string, limit: number): Promise<QuotedPage> {
    this.#check();
    return quotedBy(this.#parts.reads, lookups, after, limit);
  }

  async newest(from: string | null, limit: number): Promise<NewestPage> {
    this.#check();
    return newestBatches(this.#parts.reads, from, limit);
  }

  async placeUntil(time: number): Promise<string | null> {
    this.#check();
    return placeUntil(time);
  }

  async accountIds(after: string, limit: number): Promise<string[]> {
    this.#check();
    const options = { projection: { _id: 1 }, sort: { _id: 1 }, limit };
    const [journals, settings] = await Promise.all([
      this.#journalsAfter(after, limit),
      this.#parts.reads.find<{ _id: string }>('accounts', { _id: { $gt: after } }, options),
    ]);
    return [...new Set([...journals, ...settings.map(({ _id }) => _id)])].sort().slice(0, limit);
  }

  /** From account to account by the index, whatever the length of their journals, on a sharded collection too. */
  async #journalsAfter(after: string, limit: number): Promise<string[]> {
    const options = { projection: { _id: 0, account: 1 }, sort: { account: 1, seq: 1 }, limit: 1 };
    const accounts: string[] = [];
    for (let last = after; accounts.length < limit; ) {
      const filter = { account: { $gt: last } };
      const [found] = await this.#parts.reads.find<{ account: string }>('journal', filter, options);
      if (found === undefined) break;
      last = found.account;
      accounts.push(last);
    }
    return accounts;
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    return this.#findRecords({ _id: { $gt: after } }, { sort: { _id: 1 }, limit });
  }

  async waiting(
    wait: Wait,
    after: ChangePlace | null,
    before: string,
    limit: number,
  ): Promise<TransactionRecord[]> {
    const until = { $lt: toDate(before) };
    const since = after === null ? null : toDate(after.updatedAt);
    const behind =
      since === null
        ? {}
        : { $or: [{ updatedAt: { ...until, $gt: since } }, { updatedAt: since, _id: { $gt: after?.id } }] };
    const filter = { ...waitFilter(wait), updatedAt: until, ...behind };
    return this.#findRecords(filter, { sort: { updatedAt: 1, _id: 1 }, limit });
  }

  /** A charge has a timer as long as it waits, and nothing else has one. */
  async waitingCharges(most: number): Promise<number> {
    this.#check();
    const pipeline = [{ $match: { 'timers.due': { $exists: true } } }, { $limit: most }, { $count: 'n' }];
    const options = { hint: 'timers_due' };
    const [found] = await this.#parts.reads.aggregate<{ n: number }>('transactions', pipeline, options);
    return found?.n ?? 0;
  }

  async failedDeliveries(filter: FailedFilter, after: string | null, limit: number): Promise<FailedPage> {
    this.#check();
    return failedBehind(this.#parts.reads, filter, after, limit);
  }

  async #findRecords(filter: object, options: object): Promise<TransactionRecord[]> {
    this.#check();
    const shown = { projection: SHOWN, ...options };
    const found = await this.#parts.reads.find<TransactionDocument>('transactions', filter, shown);
    return found.map(recordFromDocument);
  }

  async lookups(account: string, after: string | null, limit: number): Promise<LookupPage> {
    this.#check();
    return this.#pages.page(account, after, limit);
  }

  async deliveries(transaction: string): Promise<DeliveryRecord[]> {
    this.#check();
    return ((await this.#deliveries.get(transaction)) ?? []).map(deliveryFromDocument);
  }

  /** Deliveries of transactions, as far as there was an attempt. */
  async #readDeliveries(transactions: string[]): Promise<DeliveryDocument[][]> {
    const found = new Map<string, DeliveryDocument[]>(transactions.map((id) => [id, []]));
    const filter = { transaction: { $in: [...found.keys()] }, failures: { $exists: true } };
    for (const document of await this.#parts.reads.find<DeliveryDocument>('deliveries', filter))
      found.get(document.transaction)?.push(document);
    return transactions.map((id) => found.get(id) ?? []);
  }
}
