/**
 * Counts what may be long, in parts: each time it goes on where it stood, within bounds, and what was counted last as a
 * whole is told meanwhile. Nothing is held of it but the sums.
 */
import { turn } from '../../../waiting.ts';

/** A page of what is counted, and where the next one begins; null: that was all. */
export interface CountedPage<Item, Place> {
  items: readonly Item[];
  next: Place | null;
}

export interface PassOptions<Sums, Item, Place> {
  /** Nothing counted so far. */
  begin(): Sums;
  add(sums: Sums, item: Item): void;
  mostItems: number;
  mostMs: number;
  /** The place before all. */
  first: Place;
}

/** What was counted, and when that was begun, ms since 1970. */
export interface Outcome<Sums> {
  sums: Sums;
  at: number;
  complete: boolean;
}

export class Pass<Sums, Item, Place> {
  readonly #options: PassOptions<Sums, Item, Place>;
  #whole: Outcome<Sums> | null = null;
  #present: { sums: Sums; at: number; place: Place } | null = null;

  constructor(options: PassOptions<Sums, Item, Place>) {
    this.#options = options;
  }

  /** Goes on for a while; `read` gives the page at a place. */
  async goOn(read: (place: Place) => Promise<CountedPage<Item, Place>>, now: number): Promise<Outcome<Sums>> {
    const { begin, add, first, mostItems, mostMs } = this.#options;
    const present = this.#present ?? { sums: begin(), at: now, place: first };
    this.#present = present;
    const endsAt = performance.now() + mostMs;
    for (let count = 0; count < mostItems && performance.now() < endsAt; ) {
      const { items, next } = await read(present.place);
      for (const item of items) add(present.sums, item);
      count += items.length;
      if (next === null) {
        this.#present = null;
        this.#whole = { sums: present.sums, at: present.at, complete: true };
        return this.#whole;
      }
      present.place = next;
      await turn();
    }
    return this.#whole ?? { sums: present.sums, at: present.at, complete: false };
  }
}
