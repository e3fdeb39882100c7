/**
 * Batches that were read lately. Transactions that came together lie in one batch, which may be long, and are read one
 * after the other: its bytes are read once, and who asks for a second transaction has all entries looked for, once. A
 * row of the log never changes.
 */
import type { Batch, Entry } from '../../../engine/journal.ts';
import { EntriesIn, parseEntriesOf, parseNumber, parseWhole } from './batch-value.ts';

const MOST_BATCHES = 64;
const MOST_BYTES = 4_000_000;
/** A batch of so many bytes is read whole: that takes less than to look for its parts. */
const SHORT_BYTES = 4_096;

export class KeptBatch {
  readonly value: Buffer;
  #number: Pick<Batch, 'account' | 'seq'> | null = null;
  #wasAsked = false;
  #entries: EntriesIn | null = null;

  constructor(value: Buffer) {
    this.value = value;
  }

  /** Whose it is, and its number. @throws Error where the value is no batch */
  get number(): Pick<Batch, 'account' | 'seq'> {
    this.#number ??= parseNumber(this.value);
    return this.#number;
  }

  /** The entries of one transaction. @throws Error where the value is no batch */
  entriesOf(transaction: string): Entry[] {
    if (this.value.length <= SHORT_BYTES) {
      const { number, entries } = parseWhole(transaction, this.value);
      this.#number = number;
      return entries;
    }
    if (this.#wasAsked) {
      this.#entries ??= new EntriesIn(this.value);
      return this.#entries.of(transaction);
    }
    this.#wasAsked = true;
    return parseEntriesOf(transaction, this.value);
  }
}

export class KeptBatches {
  /** By the numbers of their rows, the longest unasked first. */
  readonly #batches = new Map<number, KeptBatch>();
  #bytes = 0;

  /** The batch in a row, which is read where it isn't kept; null where the row has none. */
  of(number: number, read: () => Buffer | null): KeptBatch | null {
    const known = this.#batches.get(number);
    if (known !== undefined) {
      this.#batches.delete(number);
      this.#batches.set(number, known);
      return known;
    }
    const value = read();
    if (value === null) return null;
    const batch = new KeptBatch(value);
    this.#batches.set(number, batch);
    this.#bytes += value.length;
    this.#forget();
    return batch;
  }

  #forget(): void {
    for (const [number, { value }] of this.#batches) {
      if (this.#batches.size <= MOST_BATCHES && this.#bytes <= MOST_BYTES) return;
      this.#batches.delete(number);
      this.#bytes -= value.length;
    }
  }
}
