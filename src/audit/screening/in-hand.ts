/**
 * Owns the transactions that a screening has in hand, at most so many between two pages: the longest in hand are put aside
 * into the scratch, where there is one.
 */
import type { Open } from '../open-transactions.ts';
import type { Scratch, ScratchKey, ScratchRow } from '../scratch.ts';
import type { StoredRecord } from './stored-record.ts';

/** A transaction in hand. */
export interface Held {
  account: string;
  open: Open;
  /** The rows of its entries, in order; null where some weren't met: it was taken up from its history. */
  rows: number[] | null;
  /** Null where it wasn't read. */
  stored: StoredRecord | null;
}

type Aside = Pick<Held, 'open' | 'rows'>;

/** Above the bound so many of it are kept: else a few would go after each page. */
const KEPT = 0.9;

function keyOf(account: string, id: string): ScratchKey {
  return ['open', account, id];
}

export class InHand {
  readonly #most: number;
  readonly #scratch: Scratch | null;
  /** The longest in hand first. */
  readonly #held = new Map<string, Held>();

  constructor(most: number, scratch: Scratch | null) {
    this.#most = most;
    this.#scratch = scratch;
  }

  get size(): number {
    return this.#held.size;
  }

  get(id: string): Held | undefined {
    return this.#held.get(id);
  }

  all(): Iterable<Held> {
    return this.#held.values();
  }

  put(id: string, held: Held): void {
    this.#held.set(id, held);
  }

  remove(id: string): void {
    this.#held.delete(id);
  }

  /** Puts aside what is too much. */
  endPage(): void {
    if (this.#held.size <= this.#most) return;
    const left = Math.floor(KEPT * this.#most);
    const rows: ScratchRow[] = [];
    for (const [id, { account, open, rows: met }] of this.#held) {
      if (this.#held.size <= left) break;
      this.#held.delete(id);
      rows.push({ key: keyOf(account, id), value: JSON.stringify({ open, rows: met } satisfies Aside) });
    }
    this.#scratch?.put(rows);
  }

  /** The transaction as it was put aside; null where it wasn't. */
  putAside(account: string, id: string): Aside | null {
    const text = this.#scratch?.get(keyOf(account, id)) ?? null;
    return text === null ? null : JSON.parse(text);
  }
}
