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
  isEmpty(sums: Sums): boolean;
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

interface Begun<Sums, Place> {
  sums: Sums;
  at: number;
  goneOnAt: number;
  place: Place;
}

/** What was counted longer ago doesn't tell of now. */
const OLD_MS = 600_000;
/** A count that nobody went on with for so long begins anew. */
const LEFT_MS = 30_000;

export class Pass<Sums, Item, Place> {
  readonly #options: PassOptions<Sums, Item, Place>;
  #whole: Outcome<Sums> | null = null;
  #present: Begun<Sums, Place> | null = null;

  constructor(options: PassOptions<Sums, Item, Place>) {
    this.#options = options;
  }

  /** Goes on for a while; `read` gives the page at a place. */
  async goOn(read: (place: Place) => Promise<CountedPage<Item, Place>>, now: number): Promise<Outcome<Sums>> {
    const { add, mostItems, mostMs } = this.#options;
    const present = this.#begun(now);
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
    return this.#stillTold(now) ?? { sums: present.sums, at: present.at, complete: false };
  }

  #begun(now: number): Begun<Sums, Place> {
    const { begin, first } = this.#options;
    const known = this.#present;
    const isGoingOn = known !== null && now - known.goneOnAt < LEFT_MS;
    const present = isGoingOn ? known : { sums: begin(), at: now, goneOnAt: now, place: first };
    present.goneOnAt = now;
    this.#present = present;
    return present;
  }

  /** That there was nothing says nothing where it has become too much to be counted at once. */
  #stillTold(now: number): Outcome<Sums> | null {
    const whole = this.#whole;
    const isTold = whole !== null && now - whole.at < OLD_MS && !this.#options.isEmpty(whole.sums);
    return isTold ? whole : null;
  }
}
