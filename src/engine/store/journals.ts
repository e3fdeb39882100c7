/**
 * The journals of accounts, each by itself, and how far each was read again: the part of the store's port that a store
 * has whose batches have no order over all accounts.
 */
import type { Batch, Head } from '../journal.ts';

/** A batch in short. */
export type HeadInShort = Pick<Head, 'seq' | 'hash'>;

/** Where an account's journal stands, and how far it was read again; null: there is none, it never was. */
export interface Standing {
  account: string;
  head: HeadInShort | null;
  known: HeadInShort | null;
}

export interface StandingsPage {
  standings: Standing[];
  /** The account to go on behind; null at the end. */
  next: string | null;
}

/** Batches of an account, from one number to another, both of them included. */
export interface Span {
  account: string;
  from: number;
  to: number;
}

/** A batch as it is stored; `batch` is null where that can't be read. */
export interface StoredBatch {
  account: string;
  seq: number;
  hash: string;
  batch: Batch | null;
}

export interface FollowedJournals {
  /** Accounts in the order of their ids, behind one ('': from the first). @throws StoreUnavailable */
  standings(after: string): Promise<StandingsPage>;
  /**
   * Batches of these spans, in the order of their numbers; of one that has more than the limit the first ones. Several
   * have no more together.
   * @throws StoreUnavailable
   */
  stored(spans: readonly Span[], limit: number): Promise<StoredBatch[]>;
  /** Puts down how far accounts were read again. @throws StoreUnavailable */
  keep(heads: ReadonlyMap<string, HeadInShort>): Promise<void>;
}
