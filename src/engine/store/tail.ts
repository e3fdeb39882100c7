/** What comes to a store from now on: the part of it that those who watch read, beside those who write. */
import type { Batch } from '../journal.ts';
import type { DeliveryRecord } from './deliveries.ts';

/** What somebody wants to hear of. */
export interface Watched {
  /** All batches. */
  all: boolean;
  /** Batches of these accounts. */
  accounts: ReadonlySet<string>;
  /** Batches with entries of these transactions, and what their deliveries come to. */
  transactions: ReadonlySet<string>;
}

/** What came since somebody last asked. */
export interface News {
  /** At least those that were watched, each once and whole, in about the order in which they were written. */
  batches: Batch[];
  /** Deliveries of watched transactions that may have come further, as they are now. */
  deliveries: DeliveryRecord[];
  /** About so many batches were passed over, since more came than can be read; watched ones may be among them. */
  passed: number;
}

export interface Tail {
  /** Ms between two calls: more often is no use. */
  readonly restMs: number;
  /**
   * What came since the last call; of what wasn't watched then, what comes after this one. One call at a time.
   * @throws StoreUnavailable
   */
  next(watched: Watched): Promise<News>;
}

/** Whether a batch is watched. */
export function isWatched({ account, entries }: Batch, { all, accounts, transactions }: Watched): boolean {
  if (all || accounts.has(account)) return true;
  if (transactions.size === 0) return false;
  return entries.some(({ transaction }) => transaction !== null && transactions.has(transaction));
}
