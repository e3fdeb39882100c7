/** One log of all accounts: the part of the store's port that a store has whose batches lie in one. */
import type { Batch } from '../journal.ts';

/** A batch as it lies in the log. */
export interface LoggedBatch {
  /** Of its row. */
  number: number;
  batch: Batch;
  /** Whether its text as it lies there is what its hash says. */
  isAsHashed: boolean;
  /** Whether the account's batch of that number is found there. */
  isFound: boolean;
}

/** A batch, and its place among those of all accounts, in the adapter's own words. */
export interface PlacedBatch {
  place: string;
  batch: Batch;
}

export interface NewestPage {
  batches: PlacedBatch[];
  /** How many batches between them can't be read. */
  unreadable: number;
  /** The place to go on from; null at the beginning of all. */
  next: string | null;
}

export interface LogPage {
  batches: LoggedBatch[];
  /** Rows that can't be read. */
  unreadable: { number: number; fault: string }[];
  /** The number of its last row. */
  upTo: number;
}

export interface LogReads {
  /**
   * The batches of all accounts in the order in which they were written, behind a row (0: from the first), up to the
   * present end; a page has about so many entries.
   */
  pages(entries: number, after?: number): Iterable<LogPage>;
  /** The number of the last row that `pages` gives. */
  lastRow(): number;
  /** How many records are stored, of all accounts; whether they can be read isn't looked at. */
  countRecords(): number;
}
