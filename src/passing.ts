/**
 * Holders of what comes and goes, thousands of times a second.
 *
 * Where things stay for a moment they are no Maps and no Sets: V8 makes the table of one anew all the time that things
 * go in and out of it, and the table before keeps a pointer to the next one. Once such a table is in the old space it is
 * garbage that nobody looks at for seconds, and each table after it survives with all that lay in it then: nearly every
 * request did, with its response. That was a tenth of an HTTP thread's time, and half of what V8's helpers did.
 */

/** Places that numbers tell apart; more things never wait. */
export const PLACES = 2 ** 24;
/** How often a place is taken before its numbers come again: beyond it they would be no whole numbers any more. */
export const TURNS = 2 ** 29 - 1;

/** What is found by the number that it got here. */
export class Numbered<Item> {
  readonly #items: (Item | null)[] = [];
  /** How often each place was taken. */
  readonly #turns: number[] = [];
  readonly #free: number[] = [];
  readonly #most: number;

  constructor(most = TURNS) {
    this.#most = most;
  }

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Puts it in; its number, which nothing has had for half a thousand million times that its place was taken. */
  put(item: Item): number {
    const place = this.#free.pop() ?? this.#items.length;
    const turn = ((this.#turns[place] ?? 0) % this.#most) + 1;
    this.#items[place] = item;
    this.#turns[place] = turn;
    return turn * PLACES + place;
  }

  /** Takes out what has a number; null where it is out already. */
  take(number: number): Item | null {
    const item = this.get(number);
    if (item === null) return null;
    const place = number % PLACES;
    this.#items[place] = null;
    this.#free.push(place);
    return item;
  }

  /** What has a number and stays in; null where it is out. */
  get(number: number): Item | null {
    const place = number % PLACES;
    return this.#turns[place] === Math.floor(number / PLACES) ? (this.#items[place] ?? null) : null;
  }

  /** All, each behind its number; what is taken out meanwhile is left out. */
  *[Symbol.iterator](): Generator<[number: number, item: Item]> {
    for (let place = 0; place < this.#items.length; place++) {
      const item = this.#items[place] ?? null;
      if (item !== null) yield [(this.#turns[place] ?? 0) * PLACES + place, item];
    }
  }
}

/**
 * What was put under its name lately: at least the last so many, and fewer than twice as many. A Map whose oldest key is
 * deleted each time takes long, since V8 walks over all that was deleted before it: 3 us of Node 20 at 8,000 keys, 15 at
 * 20,000. Two Maps are right here: they only grow, and what lies in them stays for long.
 */
export class Lately<Item> {
  readonly #least: number;
  #newer = new Map<string, Item>();
  #older = new Map<string, Item>();

  constructor(least: number) {
    this.#least = least;
  }

  get(name: string): Item | undefined {
    return this.#newer.get(name) ?? this.#older.get(name);
  }

  has(name: string): boolean {
    return this.#newer.has(name) || this.#older.has(name);
  }

  set(name: string, item: Item): void {
    this.#newer.set(name, item);
    if (this.#newer.size < this.#least) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  delete(name: string): void {
    this.#newer.delete(name);
    this.#older.delete(name);
  }
}

interface Entry<Item> {
  name: string;
  item: Item;
}

/** Places of a new table, and how many names may share one on average before there are four times as many places. */
const FIRST_PLACES = 64;
const SHARING = 4;
/** The part of a name by which its place is found: ids differ at their ends. */
const LAST_LETTERS = 16;

function newPlaces<Item>(count: number): Entry<Item>[][] {
  return Array.from({ length: count }, () => []);
}

/** FNV-1a of a text, or of what comes from one of its letters on: a whole number of 32 bits. */
export function hashOf(text: string, from = 0): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * What is found by a name of its own. An object that has the names for its members would do as well, but V8 keeps one copy
 * of each text that was ever such a name, in the old space, and takes three times as long to make it.
 */
export class Named<Item> {
  #places = newPlaces<Item>(FIRST_PLACES);
  #size = 0;

  #placeOf(name: string): Entry<Item>[] {
    const hash = hashOf(name, Math.max(0, name.length - LAST_LETTERS));
    return this.#places[hash % this.#places.length] as Entry<Item>[];
  }

  #entry(name: string): Entry<Item> | undefined {
    for (const entry of this.#placeOf(name)) if (entry.name === name) return entry;
    return undefined;
  }

  get(name: string): Item | undefined {
    return this.#entry(name)?.item;
  }

  has(name: string): boolean {
    return this.#entry(name) !== undefined;
  }

  set(name: string, item: Item): void {
    const known = this.#entry(name);
    if (known !== undefined) {
      known.item = item;
      return;
    }
    this.#placeOf(name).push({ name, item });
    this.#size += 1;
    if (this.#size > SHARING * this.#places.length) this.#spread();
  }

  #spread(): void {
    const before = this.#places;
    this.#places = newPlaces<Item>(SHARING * before.length);
    for (const place of before) for (const entry of place) this.#placeOf(entry.name).push(entry);
  }

  delete(name: string): void {
    const place = this.#placeOf(name);
    const at = place.findIndex((entry) => entry.name === name);
    if (at === -1) return;
    // Their order says nothing: the last one takes the place of the one that goes.
    const last = place.pop();
    if (last !== undefined && at < place.length) place[at] = last;
    this.#size -= 1;
  }

  /** All, in no order. */
  values(): Item[] {
    return this.#places.flat().map(({ item }) => item);
  }
}
