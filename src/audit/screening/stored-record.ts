/**
 * A transaction's stored record beside what a replay made of it so far. It is a text, and that of the replayed one is
 * nearly always the same to the letter: to write one takes a third of what to read one and to compare their parts does.
 */
import type { TransactionRecord } from '../../engine/journal.ts';
import { isEqual } from '../compare.ts';

export class StoredRecord {
  readonly #text: string;
  #read: TransactionRecord | null = null;

  /** `text` is JSON, or not to be read. */
  constructor(text: string) {
    this.#text = text;
  }

  /** @throws Error where it can't be read */
  get record(): TransactionRecord {
    this.#read ??= JSON.parse(this.#text) as TransactionRecord;
    return this.#read;
  }

  /** Whether it is the replayed one, in whatever order its parts stand. @throws as `record` */
  is(replayed: TransactionRecord): boolean {
    if (this.#read === null && JSON.stringify(replayed) === this.#text) return true;
    return this.record.seqs.at(-1) === replayed.seqs.at(-1) && isEqual(this.record, replayed);
  }

  /**
   * Whether the replayed one may become it: nothing comes after the batch that the record names last, or it would never be
   * compared with that.
   * @throws as `record`
   */
  isAheadOf(replayed: TransactionRecord): boolean {
    const { seqs, refusals = 0 } = this.record;
    return replayed.seqs.every((seq) => seqs.includes(seq)) && (replayed.refusals ?? 0) <= refusals;
  }
}
