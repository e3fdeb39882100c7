/** What was made again from a journal: the part of the store's port that rebuild puts in place. */
import type { TransactionRecord } from '../journal.ts';
import type { Lookup, LookupRow } from './lookups.ts';

/** A lookup that an entry gave: in which batch, and at which place among all that the batch gives. */
export interface GivenLookup extends Lookup {
  seq: number;
  position: number;
}

/** All that a journal says of one transaction. */
export interface Rebuilt {
  record: TransactionRecord;
  /** The place of its first entry in its first batch. */
  position: number;
  /** In the order in which they were given; those of refused messages tell where these are. */
  lookups: GivenLookup[];
}

/** What an account's journal says of some of its transactions and lookups; both lists may be parts of what there is. */
export interface Restoration {
  account: string;
  /** The last batch that was read: what a later one changed stays as it is. */
  upTo: number;
  transactions: Rebuilt[];
  /** With the value that is found. */
  lookups: LookupRow[];
  /** Ids of records and lookups that no entry tells of. */
  gone: { transactions: string[]; lookups: Lookup[] };
}
