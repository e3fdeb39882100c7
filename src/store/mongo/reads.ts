/**
 * Reads, those of many callers in one: what is asked for at the same time travels together, so that a group of
 * accounts costs one parallel read. All of them see only what a majority holds.
 */
import type { Document } from 'mongodb';
import type { TransactionRecord } from '../../engine/journal.ts';
import { type Lookup, StoreUnavailable } from '../../engine/store.ts';
import { COMMAND_MS, inTime, type MongoConnection, RUN_MS } from './connection.ts';
import {
  type AccountDocument,
  type AdjustmentDocument,
  type DeliveryDocument,
  type JournalDocument,
  type LookupElement,
  recordOf,
  type TransactionDocument,
} from './documents.ts';
import { Gathered, MOST_KEYS, MOST_WAITING } from './gathering.ts';

export const READ = { readConcern: { level: 'majority' } } as const;

/** Reads under way; the rest of the connections is for writes. */
const READS_AT_A_TIME = 20;

/** Lets so many in at a time: the driver's own queue for connections has a time limit, this one a length. */
class Gate {
  readonly #width: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(width: number) {
    this.#width = width;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting.length >= MOST_WAITING) throw new StoreUnavailable('too much waits for the database');
    const cameAt = performance.now();
    if (this.#inside >= this.#width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inside += 1;
    try {
      // Nobody waits for the answer any more.
      if (performance.now() - cameAt > RUN_MS) throw new StoreUnavailable('too much waits for the database');
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // Who waited takes the place over.
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }
}

type Wanted = Lookup & { account: string };

/** Which batch of an account. */
interface Place {
  account: string;
  seq: number;
}

/** A batch's number and the transactions that its entries are of. */
interface Batched {
  ids: readonly string[];
  seq: number;
}

/** An account's last batch, in short. */
export type LastBatch = Pick<JournalDocument, 'seq' | 'at' | 'balances' | 'hash'> & {
  /** The transactions that its entries are of; null for entries of none. */
  transactions: (string | null)[];
};

/** What a batch is known by. */
export type BatchInShort = Pick<JournalDocument, '_id' | 'account' | 'seq' | 'id' | 'hash'>;

export class MongoReads {
  readonly #connection: MongoConnection;
  readonly #gate = new Gate(READS_AT_A_TIME);
  readonly #transactions: Gathered<string, TransactionRecord>;
  readonly #lookups: Gathered<Wanted, string>;
  readonly #adjustments: Gathered<Wanted, string>;
  readonly #accounts: Gathered<string, AccountDocument>;
  readonly #heads: Gathered<string, LastBatch>;
  readonly #inShort: Gathered<Place, BatchInShort>;
  readonly #projected: Gathered<Batched, true>;
  readonly #deliveries: Gathered<string, DeliveryDocument[]>;

  constructor(connection: MongoConnection) {
    this.#connection = connection;
    const bound = { waiting: 0 };
    this.#transactions = new Gathered(bound, (ids) => this.#readTransactions(ids));
    this.#lookups = new Gathered(bound, (wanted) => this.#readLookups(wanted));
    this.#adjustments = new Gathered(bound, (wanted) => this.#readAdjustments(wanted));
    this.#accounts = new Gathered(bound, (ids) => this.#byId<AccountDocument>('accounts', ids));
    this.#heads = new Gathered(bound, (accounts) => this.#readHeads(accounts));
    this.#inShort = new Gathered(bound, (places) => this.#readInShort(places));
    this.#projected = new Gathered(bound, (batches) => this.#readProjected(batches));
    this.#deliveries = new Gathered(bound, (transactions) => this.#readDeliveries(transactions));
  }

  /** @throws StoreUnavailable */
  find<Found extends Document>(
    collection: string,
    filter: Document,
    options: Document = {},
  ): Promise<Found[]> {
    const read = (): Promise<unknown> =>
      this.#connection.db
        .collection(collection)
        .find(filter, { ...READ, ...options, signal: AbortSignal.timeout(COMMAND_MS) })
        .toArray();
    // Callers wait so long and no longer, also for those before them.
    return inTime(
      RUN_MS,
      this.#gate.run(() => this.#connection.run(read) as Promise<Found[]>),
    );
  }

  transaction(id: string): Promise<TransactionRecord | null> {
    return this.#transactions.get(id);
  }

  /** An account's settings as they are stored. */
  account(id: string): Promise<AccountDocument | null> {
    return this.#accounts.get(id);
  }

  lookup(account: string, wanted: Lookup): Promise<string | null> {
    if (wanted.name === 'externalRef') return this.#newest(account, wanted.key);
    const gathered = wanted.name === 'adjustment' ? this.#adjustments : this.#lookups;
    return gathered.get({ ...wanted, account });
  }

  /** A transaction's deliveries, as far as there was an attempt. */
  async deliveries(transaction: string): Promise<DeliveryDocument[]> {
    return (await this.#deliveries.get(transaction)) ?? [];
  }

  async #readDeliveries(transactions: string[]): Promise<DeliveryDocument[][]> {
    const found = new Map<string, DeliveryDocument[]>(transactions.map((id) => [id, []]));
    const filter = { transaction: { $in: [...found.keys()] }, failures: { $exists: true } };
    for (const document of await this.find<DeliveryDocument>('deliveries', filter))
      found.get(document.transaction)?.push(document);
    return transactions.map((id) => found.get(id) ?? []);
  }

  /** An account's last batch, without its entries. */
  lastBatch(account: string): Promise<LastBatch | null> {
    return this.#heads.get(account);
  }

  /** The index skips from account to account: what lies between isn't looked at. */
  async #readHeads(accounts: string[]): Promise<(LastBatch | null)[]> {
    const first = (name: string): Document => ({ $first: `$${name}` });
    const parts = ['seq', 'at', 'balances', 'hash'].map((name) => [name, first(name)]);
    parts.push(['transactions', first('entries.transaction')]);
    const pipeline = [
      { $match: { account: { $in: [...new Set(accounts)] } } },
      { $sort: { account: -1, seq: -1 } },
      { $group: { _id: '$account', ...Object.fromEntries(parts) } },
    ];
    const found = await this.#connection.run(() =>
      this.#connection.db
        .collection('journal')
        .aggregate<LastBatch & { _id: string }>(pipeline, {
          ...READ,
          signal: AbortSignal.timeout(COMMAND_MS),
        })
        .toArray(),
    );
    const heads = new Map(found.map((head) => [head._id, head]));
    return accounts.map((account) => heads.get(account) ?? null);
  }

  /** A batch by its number, without its entries. */
  batchInShort(account: string, seq: number): Promise<BatchInShort | null> {
    return this.#inShort.get({ account, seq });
  }

  async #readInShort(places: Place[]): Promise<(BatchInShort | null)[]> {
    const projection = { account: 1, seq: 1, id: 1, hash: 1 };
    const $or = places.map(({ account, seq }) => ({ account, seq }));
    const found = await this.find<BatchInShort>('journal', { $or }, { projection });
    const batches = new Map(found.map((batch) => [`${batch.account} ${batch.seq}`, batch]));
    return places.map(({ account, seq }) => batches.get(`${account} ${seq}`) ?? null);
  }

  async batchDocument(account: string, seq: number): Promise<JournalDocument | null> {
    return (await this.find<JournalDocument>('journal', { account, seq }))[0] ?? null;
  }

  documents(ids: readonly string[]): Promise<TransactionDocument[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.find('transactions', { _id: { $in: ids } });
  }

  /** Whether each of these transactions has this batch, or a later one. */
  async isProjected(ids: readonly string[], seq: number): Promise<boolean> {
    return (await this.#projected.get({ ids, seq })) === true;
  }

  async #readProjected(batches: Batched[]): Promise<(true | null)[]> {
    const ids = [...new Set(batches.flatMap((batch) => batch.ids))];
    const seqs = new Map<string, number>();
    const read = async (some: string[]): Promise<void> => {
      const filter = { _id: { $in: some } };
      const options = { projection: { seq: 1 } };
      for (const { _id, seq } of await this.find<{ _id: string; seq: number }>(
        'transactions',
        filter,
        options,
      ))
        seqs.set(_id, seq);
    };
    const parts = Array.from({ length: Math.ceil(ids.length / MOST_KEYS) }, (_, part) =>
      ids.slice(part * MOST_KEYS, (part + 1) * MOST_KEYS),
    );
    await Promise.all(parts.map(read));
    return batches.map((batch) => (batch.ids.every((id) => (seqs.get(id) ?? 0) >= batch.seq) ? true : null));
  }

  /** Which of these documents are there. */
  async existing(collection: string, ids: readonly string[]): Promise<Set<string>> {
    const found = await this.find<{ _id: string }>(
      collection,
      { _id: { $in: ids } },
      { projection: { _id: 1 } },
    );
    return new Set(found.map(({ _id }) => _id));
  }

  async #byId<Found extends { _id: string }>(collection: string, ids: string[]): Promise<(Found | null)[]> {
    const found = await this.find<Found>(collection, { _id: { $in: [...new Set(ids)] } });
    const documents = new Map(found.map((document) => [document._id, document]));
    return ids.map((id) => documents.get(id) ?? null);
  }

  async #readTransactions(ids: string[]): Promise<(TransactionRecord | null)[]> {
    const documents = await this.#byId<TransactionDocument>('transactions', ids);
    // Each caller gets a record of its own.
    return documents.map((document) => (document === null ? null : recordOf(document)));
  }

  /** The charge with an external reference: the newest. */
  async #newest(account: string, externalRef: string): Promise<string | null> {
    const filter = { account, type: 'pix-in', externalRef };
    const options = { sort: { order: -1 }, limit: 1, projection: { _id: 1 } };
    return (await this.find<{ _id: string }>('transactions', filter, options))[0]?._id ?? null;
  }

  async #readLookups(wanted: Wanted[]): Promise<(string | null)[]> {
    const keys = [...new Set(wanted.map(({ key }) => key))];
    const accounts = [...new Set(wanted.map(({ account }) => account))];
    const filter = { 'lookups.key': { $in: keys }, account: { $in: accounts } };
    const projection = { account: 1, lookups: 1 };
    const found = await this.find<{ _id: string; account: string; lookups: LookupElement[] }>(
      'transactions',
      filter,
      { projection },
    );
    const best = new Map<string, { id: string; order: number }>();
    for (const { _id, account, lookups } of found) {
      for (const { name, key, order } of lookups) {
        const place = `${account} ${name} ${key}`;
        if ((best.get(place)?.order ?? -1) <= order) best.set(place, { id: _id, order });
      }
    }
    return wanted.map(({ account, name, key }) => best.get(`${account} ${name} ${key}`)?.id ?? null);
  }

  async #readAdjustments(wanted: Wanted[]): Promise<(string | null)[]> {
    const ids = wanted.map(({ account, key }) => `${account}:${key}`);
    const found = await this.#byId<AdjustmentDocument>('adjustments', ids);
    return found.map((document) => document?.digest ?? null);
  }
}
