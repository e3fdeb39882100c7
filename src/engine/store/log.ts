/** One log of all accounts: the part of the store's port that a store has whose batches lie in one. */
import type { Batch, TransactionRecord } from '../journal.ts';

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

/** The batches of all accounts from their ends backwards: the part of the port for who looks at all of them. */
export interface NewestReads {
  /**
   * Batches of all accounts from a place on backwards, that one first; null: from the newest. At most `limit`; none
   * doesn't mean that there are no more, but where the place is none.
   */
  newest(from: string | null, limit: number): Promise<NewestPage>;
  /**
   * From where `newest` gives what was made at a time (ms) or before; null where there surely is nothing. In one log of
   * all accounts near to there, where a clock that was set back has written it.
   */
  placeUntil(time: number): Promise<string | null>;
}

export interface LogPage {
  batches: LoggedBatch[];
  /** Rows that can't be read; `account`: whose they say that they are, null where that can't be told. */
  unreadable: { number: number; account: string | null; fault: string }[];
  /** The number of its last row. */
  upTo: number;
}

/** How batches are stored, beside what is read of them: the part of the port of a store where that may differ. */
export interface StoredReads {
  /**
   * Which of an account's batches are there, and are stored otherwise than their hashes say. What is read of them may be
   * the same: JSON and BSON let a member stand twice, and not all who read it take the last.
   */
  storedOtherwise?(account: string, seqs: readonly number[]): Promise<number[]>;
}

export interface LogReads {
  /**
   * The batches of all accounts, or of those that are wanted, in the order in which they were written, behind a row (0:
   * from the first), up to the present end; a page has about so many entries. Rows whose account can't be told are given
   * whoever is wanted.
   */
  pages(entries: number, after?: number, isWanted?: (account: string) => boolean): Iterable<LogPage>;
  /** The number of the last row that `pages` gives. */
  lastRow(): number;
  /**
   * The rows of the batches that have made a transaction's record, in order, where those are what is kept of it: read, it
   * is what these batches say. `whole` where the record itself is kept; null where there is none.
   */
  madeBy(id: string): readonly number[] | 'whole' | null;
  /**
   * The JSON of a transaction's stored record, or what lies in its place; null where there is none.
   * @throws Error where a batch that has made it can't be read
   */
  recordText(id: string): string | null;
  /** Whether a transaction whose record this is is found by all that it waits for. */
  isAwaited(record: TransactionRecord): boolean;
  /** Why an account's settings can't be read; null where they can, or there are none. */
  settingsFault(account: string): string | null;
  /** How many records are stored, of all accounts; whether they can be read isn't looked at. */
  countRecords(): number;
}
