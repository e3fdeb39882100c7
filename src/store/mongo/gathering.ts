/**
 * How the wishes of many callers travel together. A command costs the database about the same, be it for one or for
 * a thousand.
 *
 * - `Gathered` makes groups of single callers' wishes and gives each caller the answer to its own.
 * - `Groups` says when the next group is sent.
 * - `Throttle` lets so many commands run at a time.
 */

import { StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { onceATurn } from '../../waiting.ts';
import { RUN_MS } from './connection.ts';

/** Keys in one command, at most. */
export const MOST_KEYS = 1_000;
/** Callers that may wait for reads: where more do, the database is too slow for them. */
const MOST_WAITING = 20_000;
const LONGEST_WAIT_MS = 8;

/**
 * While groups are under way, those that would make a smaller one wait for more to come, or for an end; but never
 * for long, since what is under way may hang.
 */
export class Groups {
  readonly #again: () => void;
  #underWay = 0;
  #timer: NodeJS.Timeout | null = null;
  #isLate = false;

  /** `again` is called whenever it may be time to send. */
  constructor(again: () => void) {
    this.#again = again;
  }

  /** Whether a group of so many is to be sent now. */
  admits(waiting: number): boolean {
    if (waiting === 0) return false;
    if (this.#isLate || waiting >= this.#underWay) {
      this.#isLate = false;
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      return true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#isLate = true;
      this.#again();
    }, LONGEST_WAIT_MS);
    return false;
  }

  /** Counts a group of so many as under way until `work` has come to its end. */
  follow(count: number, work: Promise<unknown>): void {
    this.#underWay += count;
    const end = (): void => {
      this.#underWay -= count;
      this.#again();
    };
    work.then(end, end);
  }
}

interface Wish<Key, Found> {
  key: Key;
  resolve(found: Found | null): void;
  reject(error: Error): void;
}

/** A group is of one turn of the event loop, or of more under load. */
export class Gathered<Key, Found> {
  readonly #ask: (keys: Key[]) => Promise<(Found | null)[]>;
  readonly #bound: { waiting: number };
  readonly #groups = new Groups(() => this.#send());
  #wishes: Wish<Key, Found>[] = [];
  readonly #schedule = onceATurn(() => this.#send());

  constructor(bound: { waiting: number }, ask: (keys: Key[]) => Promise<(Found | null)[]>) {
    this.#bound = bound;
    this.#ask = ask;
  }

  get(key: Key): Promise<Found | null> {
    if (this.#bound.waiting >= MOST_WAITING)
      return Promise.reject(new StoreUnavailable('too much waits for the database'));
    this.#bound.waiting += 1;
    return new Promise((resolve, reject) => {
      this.#wishes.push({ key, resolve, reject });
      this.#schedule();
    });
  }

  #send(): void {
    while (this.#groups.admits(this.#wishes.length)) {
      const wishes = this.#wishes.splice(0, MOST_KEYS);
      this.#groups.follow(wishes.length, this.#answer(wishes));
    }
  }

  async #answer(wishes: readonly Wish<Key, Found>[]): Promise<void> {
    try {
      const found = await this.#ask(wishes.map(({ key }) => key));
      wishes.forEach(({ resolve }, index) => {
        resolve(found[index] ?? null);
      });
    } catch (error) {
      const reason = asError(error);
      for (const { reject } of wishes) reject(reason);
    } finally {
      this.#bound.waiting -= wishes.length;
    }
  }
}

/** The driver's own queue for connections has a time limit, this one a length. */
export class Throttle {
  readonly #width: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(width: number) {
    this.#width = width;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting.length >= MOST_WAITING) throw new StoreUnavailable('too much waits for the database');
    const cameAt = performance.now();
    if (this.#inside >= this.#width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inside += 1;
    try {
      // Its own caller has been told by now that it takes too long.
      if (performance.now() - cameAt > RUN_MS) throw new StoreUnavailable('too much waits for the database');
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The caller that waited longest takes the place over.
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }
}
