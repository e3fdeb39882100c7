/**
 * Records as this process's own last batches left them, for what is decided next on their accounts. None is ever out
 * of date where it counts: a decision is on an account's last batch as this process knows it, and where another process
 * has appended since, the number of the next batch is taken, and all is read again. And none is of a document that was
 * read: it was made by this process from its first batch on, so it is what the journal says, whatever became of the
 * document; `rebuild` beside it puts the same in place.
 */
import type { TransactionRecord } from '../../../engine/journal.ts';
import { Lately } from '../../../passing.ts';

/** The account's batches that are this process's own, one behind the other up to the last one that it knows. */
interface Run {
  first: number;
  last: number;
}

/** Of the records that changed last so many are held, at least, and fewer than twice as many. */
const RECORDS = 4_096;
const RUNS = 50_000;

export class OwnRecords {
  readonly #runs = new Lately<Run>(RUNS);
  /** By transaction. */
  readonly #records = new Lately<TransactionRecord>(RECORDS);

  /** A batch of this process is projected, and left these records. */
  appended(account: string, seq: number, records: readonly TransactionRecord[]): void {
    const run = this.#runs.get(account);
    const first = run?.last === seq - 1 ? run.first : seq;
    this.#runs.set(account, { first, last: seq });
    for (const record of records)
      if (record.seqs[0] === seq || this.#records.has(record.id)) this.#records.set(record.id, record);
  }

  /** The record as it is after the account's batch `last`; null where it isn't known. */
  find(account: string, last: number, transaction: string): TransactionRecord | null {
    const run = this.#runs.get(account);
    if (run === undefined || run.last !== last) return null;
    const record = this.#records.get(transaction);
    const isOfRun = record?.account === account && (record.seqs[0] ?? 0) >= run.first;
    return isOfRun ? record : null;
  }
}
