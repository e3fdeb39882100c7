/**
 * The entries of a batch as text, each written once it is decided: how large the batch becomes is told by nothing before,
 * since an entry names each URL that its events go to.
 */
import type { Batch, Entry } from '../journal.ts';
import { contentWith, entryText } from '../store/content.ts';

/**
 * Bytes of a batch's entries, unless a single one has more. Every store takes so many: MongoDB's documents have 16 MiB,
 * and no byte of JSON becomes more than eight there.
 */
export const BATCH_BYTES = 2_000_000;

/** The batch has entries, and no room for this one: nothing has changed, and its command belongs to the next batch. */
export class NoRoom extends Error {}

export class BatchText {
  readonly #at: string;
  readonly #most: number;
  readonly #entries: string[] = [];
  #bytes = 0;

  /** `at`: the batch's time; `most`: how many bytes it has, unless a single entry has more. */
  constructor(at: string, most: number) {
    this.#at = at;
    this.#most = most;
  }

  /** @throws NoRoom */
  add(entry: Entry): void {
    const text = entryText(entry, this.#at);
    const bytes = this.#bytes + Buffer.byteLength(text);
    if (bytes > this.#most && this.#entries.length > 0) throw new NoRoom();
    this.#entries.push(text);
    this.#bytes = bytes;
  }

  /** `contentOf` the batch, whose entries are those that were added. */
  content(batch: Omit<Batch, 'hash'>): string {
    if (batch.entries.length !== this.#entries.length) throw new Error('an entry of a batch was not taken');
    return contentWith(this.#entries, batch);
  }
}
