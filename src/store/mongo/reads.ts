/**
 * Reads, those of many callers in one: what is asked for at the same time travels together, so that a group of
 * accounts costs one parallel read. All of them see only what a majority holds. The roles ask here; what appends
 * and the finishing of batches ask about the journal lies here as well.
 */
import type { Document } from 'mongodb';
import {
  commandDeadline,
  inTime,
  MAJORITY_READ,
  type MongoConnection,
  RUN_MS,
  SERVER_MS,
} from './connection.ts';
import {
  type JournalDocument,
  onceEach,
  type RefusalDocument,
  type TransactionDocument,
} from './documents.ts';
import { Gathered, MOST_KEYS, Throttle } from './gathering.ts';

const BOUNDED_READ = { ...MAJORITY_READ, maxTimeMS: SERVER_MS } as const;

/** Reads under way; the rest of the connections is for writes. */
const READS_AT_A_TIME = 20;

/** Accounts whose last batches one command reads. */
const HEADS_A_COMMAND = 50;

/** Which batch of an account. */
interface BatchNumber {
  account: string;
  seq: number;
}

/** A batch's number and the transactions that its entries are of. */
interface BatchTransactions {
  ids: readonly string[];
  seq: number;
}

/** An account's last batch, without its entries. */
export type LastBatch = Pick<JournalDocument, 'seq' | 'at' | 'balances' | 'hash'> & {
  /** The transactions that its entries are of, each once. */
  transactions: string[];
};

/** A batch that may lack its projection. */
export type UnfinishedBatch = Pick<JournalDocument, '_id' | 'account' | 'seq' | 'at'> & {
  /** The transactions that its entries are of, each once. */
  transactions: string[];
};

/** A part of a batch's document in which entries are told by their transactions; those of none tell nothing. */
type WithTransactions<Part> = Part & { entries: { transaction?: string }[] };

type AccountsLastBatch = LastBatch & { account: string };

/**
 * An account's last batch, by one key of the index, on one shard or on all of them. One `$group` over many accounts
 * costs less, but reads all of their batches where they are sharded (SERVER-55200).
 */
function lastBatchOf(account: string): Document[] {
  const $project = { account: 1, seq: 1, at: 1, balances: 1, hash: 1, 'entries.transaction': 1 };
  return [{ $match: { account } }, { $sort: { seq: -1 } }, { $limit: 1 }, { $project }];
}

/** Parts of at most so many. */
function inParts<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, part) => items.slice(part * most, (part + 1) * most));
}

function withoutEntries<Part>({ entries, ...part }: WithTransactions<Part>): Omit<
  WithTransactions<Part>,
  'entries'
> & {
  transactions: string[];
} {
  return { ...part, transactions: onceEach(entries.map(({ transaction = null }) => transaction)) };
}

/** What a batch is known by. */
export type BatchInShort = Pick<JournalDocument, '_id' | 'account' | 'seq' | 'id' | 'hash'>;
const IN_SHORT = { account: 1, seq: 1, id: 1, hash: 1 };

export class MongoReads {
  readonly #connection: MongoConnection;
  readonly #throttle = new Throttle(READS_AT_A_TIME);
  /** How many callers wait for reads of any kind. */
  readonly #bound = { waiting: 0 };
  readonly #lastBatches = this.gathered<string, LastBatch>((accounts) => this.#readLastBatches(accounts));
  readonly #inShort = this.gathered<BatchNumber, BatchInShort>((numbers) => this.#readInShort(numbers));
  readonly #projected = this.gathered<BatchTransactions, true>((batches) => this.#readProjected(batches));

  constructor(connection: MongoConnection) {
    this.#connection = connection;
  }

  /** A question that single callers ask and that is put for many of them at once. */
  gathered<Key, Found>(read: (keys: Key[]) => Promise<(Found | null)[]>): Gathered<Key, Found> {
    return new Gathered(this.#bound, read);
  }

  /** @throws StoreUnavailable */
  find<Found extends Document>(
    collection: string,
    filter: Document,
    options: Document = {},
  ): Promise<Found[]> {
    const read = (): Promise<Found[]> =>
      this.#connection.db
        .collection(collection)
        .find<Found>(filter, {
          ...BOUNDED_READ,
          batchSize: MOST_KEYS,
          ...options,
          signal: commandDeadline(),
        })
        .toArray();
    // Callers wait so long and no longer, also for those before them.
    return inTime(
      RUN_MS,
      this.#throttle.run(() => this.#current(read)),
    );
  }

  /** @throws StoreUnavailable */
  aggregate<Found extends Document>(
    collection: string,
    pipeline: Document[],
    options: Document = {},
  ): Promise<Found[]> {
    return this.#current(() =>
      this.#connection.db
        .collection(collection)
        .aggregate<Found>(pipeline, { ...BOUNDED_READ, ...options, signal: commandDeadline() })
        .toArray(),
    );
  }

  /** @throws StoreUnavailable */
  #current<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.#connection.run(() => this.#connection.primary.read(read));
  }

  /** Documents in the order of the ids. */
  async byId<Found extends { _id: string }>(
    collection: string,
    ids: string[],
    options: Document = {},
  ): Promise<(Found | null)[]> {
    const found = await this.find<Found>(collection, { _id: { $in: [...new Set(ids)] } }, options);
    const documents = new Map(found.map((document) => [document._id, document]));
    return ids.map((id) => documents.get(id) ?? null);
  }

  /**
   * Which of these batches are there, by their documents' names. Where a machine was put back to an earlier moment, its
   * memory with it, or was copied, a process gives names anew under which other batches are there.
   */
  async asInserted(batches: readonly BatchInShort[]): Promise<Set<string>> {
    const filter = { _id: { $in: batches.map(({ _id }) => _id) } };
    const found = await this.find<BatchInShort>('journal', filter, { projection: IN_SHORT });
    const stored = new Map(found.map((batch) => [batch._id, batch]));
    const isSame = ({ _id, account, seq, hash }: BatchInShort): boolean => {
      const there = stored.get(_id);
      return there?.account === account && there.seq === seq && there.hash === hash;
    };
    return new Set(batches.filter(isSame).map(({ _id }) => _id));
  }

  /** An account's last batch, without its entries. */
  lastBatch(account: string): Promise<LastBatch | null> {
    return this.#lastBatches.get(account);
  }

  async #readLastBatches(accounts: string[]): Promise<(LastBatch | null)[]> {
    const parts = inParts([...new Set(accounts)], HEADS_A_COMMAND);
    const read = ([first = '', ...others]: string[]): Promise<WithTransactions<AccountsLastBatch>[]> => {
      const union = others.map((account) => ({
        $unionWith: { coll: 'journal', pipeline: lastBatchOf(account) },
      }));
      return this.aggregate('journal', [...lastBatchOf(first), ...union]);
    };
    const found = (await Promise.all(parts.map(read))).flat();
    const batches = new Map(found.map((batch) => [batch.account, withoutEntries(batch)]));
    return accounts.map((account) => batches.get(account) ?? null);
  }

  /** Batches that may lack their projections, in the order of their ids. */
  async unfinished(filter: Document, limit: number): Promise<UnfinishedBatch[]> {
    const projection = { account: 1, seq: 1, at: 1, 'entries.transaction': 1 };
    const options = { sort: { _id: 1 }, limit, projection };
    const found = await this.find<WithTransactions<UnfinishedBatch>>('journal', filter, options);
    return found.map(withoutEntries);
  }

  /** The ids of batches' documents between two, in order; costs what they are, not what the documents are. */
  async batchIds(behind: string, before: string, limit: number): Promise<string[]> {
    const options = { sort: { _id: 1 }, limit, projection: { _id: 1 } };
    const filter = { _id: { $gt: behind, $lt: before } };
    const found = await this.find<Pick<JournalDocument, '_id'>>('journal', filter, options);
    return found.map(({ _id }) => _id);
  }

  /** A batch by its number, without its entries. */
  batchInShort(account: string, seq: number): Promise<BatchInShort | null> {
    return this.#inShort.get({ account, seq });
  }

  async #readInShort(numbers: BatchNumber[]): Promise<(BatchInShort | null)[]> {
    const $or = numbers.map(({ account, seq }) => ({ account, seq }));
    const found = await this.find<BatchInShort>('journal', { $or }, { projection: IN_SHORT });
    const batches = new Map(found.map((batch) => [`${batch.account} ${batch.seq}`, batch]));
    return numbers.map(({ account, seq }) => batches.get(`${account} ${seq}`) ?? null);
  }

  /** The batches that refused a transaction's messages, behind `after`. */
  async refusals(transaction: string, after: number, limit: number): Promise<number[]> {
    const options = { sort: { seq: 1 }, limit, projection: { _id: 0, seq: 1 } } as const;
    const found = await this.find<RefusalDocument>('refusals', { transaction, seq: { $gt: after } }, options);
    // A payment given back has two documents.
    return [...new Set(found.map(({ seq }) => seq))];
  }

  /** Batches' documents, each as its bytes: what is read of these hasn't all that stands there. */
  storedBatches(filter: Document, options: Document = {}): Promise<Uint8Array[]> {
    // Asked so, the driver gives no documents, whatever its types say.
    return this.find('journal', filter, { ...options, raw: true }) as Promise<unknown> as Promise<
      Uint8Array[]
    >;
  }

  async batchDocument(account: string, seq: number): Promise<JournalDocument | null> {
    return (await this.find<JournalDocument>('journal', { account, seq }))[0] ?? null;
  }

  transactionDocuments(ids: readonly string[]): Promise<TransactionDocument[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.find('transactions', { _id: { $in: ids } });
  }

  /** Whether each of these transactions has this batch, or a later one. */
  async isProjected(ids: readonly string[], seq: number): Promise<boolean> {
    return (await this.#projected.get({ ids, seq })) === true;
  }

  async #readProjected(batches: BatchTransactions[]): Promise<(true | null)[]> {
    const ids = [...new Set(batches.flatMap((batch) => batch.ids))];
    const seqs = new Map<string, number>();
    const read = async (some: string[]): Promise<void> => {
      const options = { projection: { seq: 1 } };
      const filter = { _id: { $in: some } };
      const found = await this.find<{ _id: string; seq: number }>('transactions', filter, options);
      for (const { _id, seq } of found) seqs.set(_id, seq);
    };
    await Promise.all(inParts(ids, MOST_KEYS).map(read));
    return batches.map((batch) => (batch.ids.every((id) => (seqs.get(id) ?? 0) >= batch.seq) ? true : null));
  }
}
