/** What the console's start page is made of. Amounts are whole cents, times ISO in UTC. */
import type { About } from '../../domain/sentences/item-codes.ts';
import type { Item, Kind, TransactionRow } from '../shapes.ts';

/**
 * What helps: `retry` the deliveries, `answer` for the bank what it said, be `done` with it once it is looked into;
 * `look`: it goes by itself once its cause is mended.
 */
export type CauseAction = 'retry' | 'answer' | 'done' | 'look';

/** One cause that needs a person, whatever number of items it has made. */
export interface Cause {
  kind: string;
  /** Null: items of former builds, which have their sentences alone. */
  code: string | null;
  /** What all of it is about; null where its items differ. */
  about: About;
  accountName: string | null;
  /** How many deliveries, messages, transactions it is. */
  count: number;
  /** The money at stake; null where none is named. */
  sum: number | null;
  /** Of the oldest. */
  since: string;
  /** The oldest, at most three. */
  sample: Item[];
  action: CauseAction;
}

/** How far a count has come that takes longer than one answer. */
export interface Counted {
  /** When it was begun. */
  at: string;
  /** False: what was counted until now; there is more. */
  complete: boolean;
}

/** What is known of the journal by reading it again, on and on. */
export interface Following {
  /** Up to then all adds up; null: it wasn't read to its end yet. */
  at: string | null;
  /** False: something is off, and on the list of what needs a person. */
  ok: boolean;
  /** Rows of the log, or batches of a database, that are still to be read. */
  lag: number;
}

/** Null: not known here. */
export interface Figures {
  /** Messages in each of the last 60 minutes, the newest last; null before this server looked. */
  perMin: (number | null)[];
  /** First attempts of the last hour, and how many of them were taken. */
  firstAttempt: { of: number; taken: number } | null;
  openCashouts: Counted & { n: number; sum: number };
  /** Charges that wait for their payment. */
  waiting: { n: number; complete: boolean } | null;
  verified: Following | null;
  /** Other servers work on the same database: messages and attempts are this one's alone. */
  shared: boolean;
}

/** `GET /console/api/now` */
export interface NowDocument {
  /** What comes first is most urgent. */
  causes: Cause[];
  /** How many causes there are besides. */
  others: number;
  counted: Counted;
  /** Charges under protest (MED): how many there are to decide, and the money at stake. */
  protests: Counted & { n: number; sum: number };
  figures: Figures;
}

/** `GET /console/api/protests?after&limit`: those charges, the one that was changed longest ago first. */
export interface Protests {
  rows: TransactionRow[];
  /** What the next page comes after, as this answer gives it; null after the last one. */
  after: string | null;
}

/** An entry of any journal. */
export interface JournalRow {
  /** Names it among all. */
  id: string;
  at: string;
  account: string;
  accountName: string;
  /** Null: of the account itself. */
  type: Kind | null;
  transaction: string | null;
  /** The transaction's, or by how much the account's balance was changed. */
  amount: number | null;
  message: string;
  door: string;
  /** The transaction's state after it; null for none, and for what was refused. */
  status: string | null;
  isRefused: boolean;
}

/** `GET /console/api/journal?limit`: the newest entries of all accounts, the newest first. */
export interface NewestEntries {
  rows: JournalRow[];
  /** How many batches between them can't be read. */
  unreadable: number;
}
