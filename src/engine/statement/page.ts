/**
 * Reads one page of an account's statement. The start of a window is searched for: the journal is in the order of
 * its entries' times, which never go back within an account. So a page costs the same however old the account is.
 */
import { timeOfText } from '../../domain/time.ts';
import { turn } from '../../waiting.ts';
import type { Batch } from '../journal.ts';
import { firstSince } from '../store/walks.ts';
import type { JournalReads } from '../store.ts';
import { Collector, type Place, type Window } from './collector.ts';
import type { Row } from './rows.ts';

/** A page reads at most so many batches, those of the search among them. */
export const MOST_BATCHES = 2_000;
/** About so many entries are read in one turn of the event loop, so that a page holds nobody up. */
const ENTRIES_A_TURN = 256;
const BATCHES_A_TURN = 64;
const RECORDS_A_TURN = 100;

export interface StatementWish extends Window {
  /** Rows. */
  limit: number;
  /** Where the page before ended; null: the page is the window's first. */
  place: Place | null;
}

export interface StatementRow extends Row {
  externalRef: string | null;
}

/** A page of a statement; balances in cents. */
export interface StatementPage {
  opening: number;
  closing: number;
  rows: StatementRow[];
  /** Where the next page begins; null: this one ends the window, or the journal as it was when the page was read. */
  next: Place | null;
}

/** What statements are read from. */
export type StatementReads = Pick<JournalReads, 'head' | 'read' | 'batches'>;

/** Null where the place is none of the account's journal. */
export type ReadStatement = (account: string, wish: StatementWish) => Promise<StatementPage | null>;

/** The batches of one account, as many as a page may read. */
class BoundedReads {
  readonly #journal: StatementReads;
  readonly #account: string;
  left = MOST_BATCHES;

  constructor(journal: StatementReads, account: string) {
    this.#journal = journal;
    this.#account = account;
  }

  /** Batches from a number on. @throws Error where one isn't there */
  async from(seq: number, count: number): Promise<Batch[]> {
    // The embedded store answers at once: others have their turn in between.
    await turn();
    this.left -= count;
    const seqs = Array.from({ length: count }, (_, index) => seq + index);
    const batches = await this.#journal.batches(this.#account, seqs);
    for (const [index, wanted] of seqs.entries())
      if (batches[index]?.seq !== wanted)
        throw new Error(`batch ${wanted} of account ${this.#account} is not there`);
    return batches;
  }
}

/** Hands batches over until the page is at its end; where to go on, if what may be read was read before that. */
async function walk(
  reads: BoundedReads,
  start: number,
  last: number,
  collector: Collector,
): Promise<Place | null> {
  let seq = start;
  let count = 1;
  while (seq <= last) {
    if (reads.left === 0) return { seq, index: 0 };
    const batches = await reads.from(seq, Math.min(count, reads.left, last - seq + 1));
    for (const batch of batches) if (!collector.take(batch)) return collector.next;
    seq += batches.length;
    const entries = batches.reduce((sum, batch) => sum + batch.entries.length, 0);
    const fitting = Math.floor((ENTRIES_A_TURN * batches.length) / Math.max(1, entries));
    count = Math.max(1, Math.min(BATCHES_A_TURN, count * 4, fitting));
  }
  return null;
}

/** The rows with their transactions' references; a transaction whose record isn't there has none to tell. */
async function withReferences(
  journal: StatementReads,
  account: string,
  rows: readonly Row[],
): Promise<StatementRow[]> {
  const ids = [...new Set(rows.map(({ transactionId }) => transactionId))].filter((id) => id !== null);
  const references = new Map<string, string | null>();
  for (let done = 0; done < ids.length; done += RECORDS_A_TURN) {
    await turn();
    const transactions = ids.slice(done, done + RECORDS_A_TURN);
    const found = await journal.read(account, { transactions, lookups: [] });
    for (const record of found.transactions)
      if (record !== null) references.set(record.id, record.snapshot.context.externalRef);
  }
  return rows.map((row) => ({ ...row, externalRef: references.get(row.transactionId ?? '') ?? null }));
}

/** Reads statements from a journal. */
export function statementsOf(journal: StatementReads): ReadStatement {
  return async (account, { from, to, limit, place }) => {
    const { seq: last, at, balances } = await journal.head(account);
    if (place !== null && place.seq > last) return null;
    const reads = new BoundedReads(journal, account);
    const isOver = last === 0 || timeOfText(at) < from;
    const batchAt = async (seq: number): Promise<Batch | undefined> => (await reads.from(seq, 1))[0];
    const first = async (): Promise<number> => (isOver ? last + 1 : firstSince(batchAt, last, from));
    const start = place ?? { seq: await first(), index: 0 };
    const collector = new Collector({ from, to }, limit, start, balances.available);
    const next = await walk(reads, start.seq, last, collector);
    const rows = await withReferences(journal, account, collector.rows);
    return { opening: collector.opening, closing: collector.closing, rows, next };
  };
}
