/**
 * Holders of what comes and goes, thousands of times a second.
 *
 * They are no Maps and no Sets: V8 makes the table of one anew all the time that things go in and out of it, and the
 * table before keeps a pointer to the next one. Once such a table is in the old space it is garbage that nobody looks
 * at for seconds, and each table after it survives with all that lay in it then: nearly every request did, with its
 * response. That was a tenth of an HTTP thread's time, and half of what V8's helpers did.
 */

/** Places that numbers tell apart; more things never wait. */
const PLACES = 2 ** 24;

/** What is found by the number that it got here. */
export class Numbered<Item> {
  readonly #items: (Item | null)[] = [];
  /** How often each place was taken. */
  readonly #turns: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Puts it in; its number, which nothing had before. */
  put(item: Item): number {
    const place = this.#free.pop() ?? this.#items.length;
    const turn = (this.#turns[place] ?? 0) + 1;
    this.#items[place] = item;
    this.#turns[place] = turn;
    return turn * PLACES + place;
  }

  /** Takes out what has a number; null where it is out already. */
  take(number: number): Item | null {
    const place = number % PLACES;
    const item = this.#items[place] ?? null;
    if (item === null || this.#turns[place] !== Math.floor(number / PLACES)) return null;
    this.#items[place] = null;
    this.#free.push(place);
    return item;
  }

  /** All, each behind its number; what is taken out meanwhile is left out. */
  *[Symbol.iterator](): Generator<[number: number, item: Item]> {
    for (let place = 0; place < this.#items.length; place++) {
      const item = this.#items[place] ?? null;
      if (item !== null) yield [(this.#turns[place] ?? 0) * PLACES + place, item];
    }
  }
}

/** Names that came lately: at least the last so many. */
export class Lately {
  readonly #most: number;
  #count = 0;
  #newer = new Named<true>();
  #older = new Named<true>();

  constructor(most: number) {
    this.#most = most;
  }

  has(name: string): boolean {
    return this.#newer.has(name) || this.#older.has(name);
  }

  add(name: string): void {
    if (this.#count >= this.#most) {
      this.#older = this.#newer;
      this.#newer = new Named();
      this.#count = 0;
    }
    this.#newer.set(name, true);
    this.#count += 1;
  }
}

/** What is found by a name of its own. */
export class Named<Item> {
  /** Without a prototype it is a table that V8 grows without leaving a way from the old one to the new one. */
  readonly #items: Record<string, Item> = Object.create(null);

  get(name: string): Item | undefined {
    return this.#items[name];
  }

  has(name: string): boolean {
    return name in this.#items;
  }

  set(name: string, item: Item): void {
    this.#items[name] = item;
  }

  delete(name: string): void {
    delete this.#items[name];
  }

  /** All, in no order. */
  values(): Item[] {
    return Object.values(this.#items);
  }
}
