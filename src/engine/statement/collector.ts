/** Gathers a page of an account's statement from its batches, which come in their order and without a gap. */
import { timeOfText } from '../../domain/time.ts';
import type { Batch } from '../journal.ts';
import { balanceBefore, changeOf, type Row, rowOf } from './rows.ts';

/** A place before an entry: the batch's number, and how many of the batch's entries lie before the place. */
export interface Place {
  seq: number;
  index: number;
}

/** Times in ms since 1970; `from` is inclusive, `to` exclusive. */
export interface Window {
  from: number;
  to: number;
}

export class Collector {
  readonly rows: Row[] = [];
  /** Where the next page begins, once a row has no room on this one. */
  next: Place | null = null;
  readonly #window: Window;
  readonly #limit: number;
  readonly #start: Place;
  /** Before the first entry of the page; null: none of the window has come. */
  #opening: number | null = null;
  /** After the last entry that was looked at. */
  #balance: number;

  /** `balance`: the account's, for a page that no batch comes to. */
  constructor(window: Window, limit: number, start: Place, balance: number) {
    this.#window = window;
    this.#limit = limit;
    this.#start = start;
    this.#balance = balance;
  }

  /** The balance before the page's rows, in cents. */
  get opening(): number {
    return this.#opening ?? this.#balance;
  }

  /** The balance after the page's rows, in cents. */
  get closing(): number {
    return this.rows.at(-1)?.balance ?? this.opening;
  }

  /** Takes the next batch. False: the page is at its end, since it is full or the window is over. */
  take(batch: Batch): boolean {
    this.#balance = balanceBefore(batch);
    const skipped = batch.seq === this.#start.seq ? this.#start.index : 0;
    for (const [index, entry] of batch.entries.entries()) {
      const at = timeOfText(entry.at);
      if (at >= this.#window.to) return false;
      if (index >= skipped && at >= this.#window.from) {
        this.#opening ??= this.#balance;
        const row = rowOf(entry, this.#balance);
        if (row !== null && this.rows.length === this.#limit) {
          this.next = { seq: batch.seq, index };
          return false;
        }
        if (row !== null) this.rows.push(row);
      }
      this.#balance += changeOf(entry);
    }
    return true;
  }
}
