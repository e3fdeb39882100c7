/**
 * The journal on MongoDB and what its projections tell: the reads of merchants' requests, of operators and of
 * verify. How a batch gets into the journal is in `appends/appends.ts`.
 */
import {
  type Batch,
  type BatchContent,
  entryFrom,
  type Head,
  type TransactionRecord,
} from '../../engine/journal.ts';
import type {
  Append,
  AppendResult,
  BankWait,
  ChangePlace,
  DeliveryRecord,
  Journal,
  Lookup,
  LookupRow,
  NumberedEntry,
  Reads,
  Wants,
} from '../../engine/store.ts';
import type { Appends } from './appends/appends.ts';
import { inTime, type MongoConnection } from './connection.ts';
import {
  type AdjustmentDocument,
  batchFromDocument,
  fromBson,
  type JournalDocument,
  type LookupElement,
  type RefusalDocument,
  recordFromDocument,
  type TransactionDocument,
  toDate,
} from './documents.ts';
import { type DeliveryDocument, deliveryFromDocument } from './due/documents.ts';
import type { Gathered } from './gathering.ts';
import { WAITS } from './projection.ts';
import type { MongoReads } from './reads.ts';
import type { MongoProcesses } from './recovery/processes.ts';

export interface MongoJournalParts {
  connection: MongoConnection;
  reads: MongoReads;
  appends: Appends;
  processes: MongoProcesses;
}

/** A lookup of one of many accounts. */
type AccountLookup = Lookup & { account: string };

/** At an end without having been delivered, in this order. */
const FAILED = ['dead', 'rejected'] as const;
const HEAD_MS = 5_000;
/** How long `close` waits for appends that are under way where the database is away. */
const CLOSE_MS = 2_000;
/** A record, as it is shown: without what it is found by. */
const SHOWN = { lookups: 0 };

/** Of the transactions that are found by one key, the one with the highest order. */
class Newest<Value> {
  readonly #found = new Map<string, { value: Value; order: number }>();

  offer(key: string, value: Value, order: number): void {
    if ((this.#found.get(key)?.order ?? -1) <= order) this.#found.set(key, { value, order });
  }

  get(key: string): Value | null {
    return this.#found.get(key)?.value ?? null;
  }

  all(): Value[] {
    return [...this.#found.values()].map(({ value }) => value);
  }
}

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
  readonly #lookups: Gathered<AccountLookup, string>;
  readonly #adjustments: Gathered<AccountLookup, string>;
  readonly #refusals: Gathered<AccountLookup, string>;
  readonly #deliveries: Gathered<string, DeliveryDocument[]>;
  readonly #appending = new Set<Promise<AppendResult>>();

  constructor(parts: MongoJournalParts) {
    const { reads } = parts;
    this.#parts = parts;
    this.#transactions = reads.gathered((ids) => this.#readTransactions(ids));
    this.#lookups = reads.gathered((wanted) => this.#readLookups(wanted));
    this.#adjustments = reads.gathered(async (wanted) => {
      const ids = wanted.map(({ account, key }) => `${account}:${key}`);
      const found = await reads.byId<AdjustmentDocument>('adjustments', ids);
      return found.map((document) => document?.digest ?? null);
    });
    this.#refusals = reads.gathered(async (wanted) => {
      const ids = wanted.map(({ account, name, key }) => `${account}:${name}:${key}`);
      const found = await reads.byId<RefusalDocument>('refusals', ids);
      return found.map((document) => document?.transaction ?? null);
    });
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

  /** Waits for appends that are under way, not for long; what has not been sent by then fails. */
  async close(): Promise<void> {
    await inTime(CLOSE_MS, Promise.allSettled(this.#appending)).catch(() => {});
    this.#parts.appends.close();
  }

  async head(account: string): Promise<Head> {
    this.#check();
    // What a crash cut off is finished on the way: tried until it is done, but not waited for that long.
    return inTime(HEAD_MS, this.#parts.appends.head(account));
  }

  async read(account: string, wants: Wants): Promise<Reads> {
    this.#check();
    const [transactions, lookups] = await Promise.all([
      Promise.all(wants.transactions.map((id) => this.#transactions.get(id))),
      Promise.all(wants.lookups.map((lookup) => this.#lookUp(account, lookup))),
    ]);
    return {
      transactions: transactions.map((record) => (record?.account === account ? record : null)),
      lookups,
    };
  }

  /** What merchants look for and isn't there may be in a last batch that a dead process didn't project. */
  async #lookUp(account: string, lookup: Lookup): Promise<string | null> {
    const found = await this.#projected(account, lookup);
    if (found !== null || (lookup.name !== 'externalRef' && lookup.name !== 'reference')) return found;
    const { appends } = this.#parts;
    const known = appends.known(account);
    const { seq } = await appends.head(account);
    return seq === (known ?? 0) ? null : this.#projected(account, lookup);
  }

  /** What a lookup finds among what is projected. */
  async #projected(account: string, lookup: Lookup): Promise<string | null> {
    const wanted = { ...lookup, account };
    switch (lookup.name) {
      case 'externalRef':
        return this.#newestCharge(account, lookup.key);
      case 'adjustment':
        return this.#adjustments.get(wanted);
      case 'refusal':
      case 'returned': {
        // Former builds kept them in the transaction's document.
        const [own, former] = await Promise.all([this.#refusals.get(wanted), this.#lookups.get(wanted)]);
        return own ?? former;
      }
      default:
        return this.#lookups.get(wanted);
    }
  }

  async #newestCharge(account: string, externalRef: string): Promise<string | null> {
    const filter = { account, type: 'pix-in', externalRef };
    const options = { sort: { order: -1 }, limit: 1, projection: { _id: 1 } };
    return (await this.#parts.reads.find<{ _id: string }>('transactions', filter, options))[0]?._id ?? null;
  }

  async #readLookups(wanted: AccountLookup[]): Promise<(string | null)[]> {
    const keys = [...new Set(wanted.map(({ key }) => key))];
    const accounts = [...new Set(wanted.map(({ account }) => account))];
    const filter = { 'lookups.key': { $in: keys }, account: { $in: accounts } };
    const lookups = { $filter: { input: '$lookups', cond: { $in: ['$$this.key', { $literal: keys }] } } };
    const options = { projection: { account: 1, lookups } };
    type Found = { _id: string; account: string; lookups: LookupElement[] };
    const found = await this.#parts.reads.find<Found>('transactions', filter, options);
    const newest = new Newest<string>();
    for (const { _id, account, lookups } of found)
      for (const { name, key, order } of lookups) newest.offer(`${account} ${name} ${key}`, _id, order);
    return wanted.map(({ account, name, key }) => newest.get(`${account} ${name} ${key}`));
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
    const options = { sort: { seq: 1 }, limit, projection: { _id: 0, seq: 1 } };
    const filter = { transaction, seq: { $gt: after } };
    const found = await this.#parts.reads.find<RefusalDocument>('refusals', filter, options);
    // A payment given back has two documents.
    return [...new Set(found.map(({ seq }) => seq))];
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

  async accountIds(): Promise<string[]> {
    this.#check();
    const { reads } = this.#parts;
    const [journals, settings] = await Promise.all([
      reads.aggregate<{ _id: string }>('journal', [{ $group: { _id: '$account' } }]),
      reads.find<{ _id: string }>('accounts', {}, { projection: { _id: 1 } }),
    ]);
    return [...new Set([...journals, ...settings].map(({ _id }) => _id))].sort();
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    return this.#findRecords({ _id: { $gt: after } }, { sort: { _id: 1 }, limit });
  }

  async waiting(
    wait: BankWait,
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
    const filter = { [WAITS[wait]]: true, updatedAt: until, ...behind };
    return this.#findRecords(filter, { sort: { updatedAt: 1, _id: 1 }, limit });
  }

  async failedDeliveries(after: DeliveryRecord | null, limit: number): Promise<DeliveryRecord[]> {
    this.#check();
    const failed: DeliveryRecord[] = [];
    // An index over a condition of its own serves a query with that very condition only.
    for (const status of FAILED) {
      if (failed.length >= limit || (after !== null && status < after.status)) continue;
      const behind = after?.status === status ? { _id: { $gt: after.id } } : {};
      const options = { sort: { _id: 1 }, limit: limit - failed.length };
      const found = await this.#parts.reads.find<DeliveryDocument>(
        'deliveries',
        { status, ...behind },
        options,
      );
      failed.push(...found.map(deliveryFromDocument));
    }
    return failed;
  }

  async #findRecords(filter: object, options: object): Promise<TransactionRecord[]> {
    this.#check();
    const shown = { projection: SHOWN, ...options };
    const found = await this.#parts.reads.find<TransactionDocument>('transactions', filter, shown);
    return found.map(recordFromDocument);
  }

  async lookups(account: string): Promise<LookupRow[]> {
    this.#check();
    const { reads } = this.#parts;
    const projection = { type: 1, externalRef: 1, order: 1, lookups: 1 };
    const range = { _id: { $gte: `${account}:`, $lt: `${account};` } };
    const [transactions, adjustments, refusals] = await Promise.all([
      reads.find<TransactionDocument>('transactions', { account }, { projection }),
      reads.find<AdjustmentDocument>('adjustments', range),
      reads.find<RefusalDocument>('refusals', range),
    ]);
    const newest = new Newest<LookupRow>();
    const offer = (row: LookupRow, order: number): void => newest.offer(`${row.name}:${row.key}`, row, order);
    for (const { _id, externalRef, order, lookups = [] } of transactions) {
      if (externalRef !== undefined) offer({ name: 'externalRef', key: externalRef, value: _id }, order);
      for (const { name, key, order: own } of lookups) offer({ name, key, value: _id }, own);
    }
    for (const { key, digest } of adjustments) offer({ name: 'adjustment', key, value: digest }, 0);
    for (const { name, key, transaction } of refusals) offer({ name, key, value: transaction }, 0);
    return newest.all();
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
