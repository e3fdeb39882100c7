/**
 * A store as a replay reads it. A replay takes whatever can't be read for rotten and goes on; a store that is
 * away is another matter. From then on nothing more is found, so that the replay ends, and `expectThere` throws.
 */
import { ZERO_BALANCES } from '../domain/money.ts';
import { type Batch, type Head, type TransactionRecord, ZERO_HASH } from '../engine/journal.ts';
import {
  type DeliveryRecord,
  type LookupRow,
  type Reads,
  type Store,
  StoreUnavailable,
  type Wants,
} from '../engine/store.ts';

type Read =
  | 'head'
  | 'read'
  | 'transaction'
  | 'batches'
  | 'journal'
  | 'lookups'
  | 'deliveries'
  | 'records'
  | 'accountIds';

export class SteadyReads implements Pick<Store, Read> {
  readonly #store: Store;
  #failure: StoreUnavailable | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws StoreUnavailable where the store was away at some time. */
  expectThere(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  async #found<Result>(nothing: Result, read: () => Promise<Result>): Promise<Result> {
    if (this.#failure !== null) return nothing;
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#failure = error;
      return nothing;
    }
  }

  head(account: string): Promise<Head> {
    const none = { seq: 0, at: '', balances: { ...ZERO_BALANCES }, hash: ZERO_HASH };
    return this.#found(none, () => this.#store.head(account));
  }

  read(account: string, wants: Wants): Promise<Reads> {
    return this.#found({ transactions: [], lookups: [] }, () => this.#store.read(account, wants));
  }

  transaction(id: string): Promise<TransactionRecord | null> {
    return this.#found(null, () => this.#store.transaction(id));
  }

  batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    return this.#found([], () => this.#store.batches(account, seqs));
  }

  journal(account: string, from: number, limit: number): Promise<Batch[]> {
    return this.#found([], () => this.#store.journal(account, from, limit));
  }

  lookups(account: string): Promise<LookupRow[]> {
    return this.#found([], () => this.#store.lookups(account));
  }

  deliveries(transaction: string): Promise<DeliveryRecord[]> {
    return this.#found([], () => this.#store.deliveries(transaction));
  }

  records(after: string, limit: number): Promise<TransactionRecord[]> {
    return this.#found([], () => this.#store.records(after, limit));
  }

  accountIds(): Promise<string[]> {
    return this.#found([], () => this.#store.accountIds());
  }
}
