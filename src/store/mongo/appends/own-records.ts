/**
 * Records as this process's own last batches left them, for what is decided next on their accounts. None is ever out
 * of date where it counts: a decision is on an account's last batch as this process knows it, and where another process
 * has appended since, the number of the next batch is taken, and all is read again. And none is of a document that was
 * read: it was made by this process from its first batch on, so it is what the journal says, whatever became of the
 * document; `rebuild` beside it puts the same in place.
 */
import type { TransactionRecord } from '../../../engine/journal.ts';

/** The account's batches that are this process's own, one behind the other up to the last one that it knows. */
interface Run {
  first: number;
  last: number;
}

const MOST_RECORDS = 8_192;
const MOST_ACCOUNTS = 50_000;

export class OwnRecords {
  readonly #runs = new Map<string, Run>();
  /** By transaction; those that changed last are at the end. */
  readonly #records = new Map<string, TransactionRecord>();

  /** A batch of this process is projected, and left these records. */
  appended(account: string, seq: number, records: readonly TransactionRecord[]): void {
    const run = this.#runs.get(account);
    if (run !== undefined && run.last === seq - 1) run.last = seq;
    else {
      if (this.#runs.size >= MOST_ACCOUNTS) this.#runs.clear();
      this.#runs.set(account, { first: seq, last: seq });
    }
    for (const record of records)
      if (record.seqs[0] === seq || this.#records.has(record.id)) this.#keep(record);
  }

  #keep(record: TransactionRecord): void {
    this.#records.delete(record.id);
    this.#records.set(record.id, record);
    if (this.#records.size <= MOST_RECORDS) return;
    for (const oldest of this.#records.keys()) {
      this.#records.delete(oldest);
      return;
    }
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
