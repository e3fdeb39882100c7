/** Single callers' questions, asked together. */

import { StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { onceATurn } from '../../waiting.ts';
import { Groups } from './groups.ts';

/** What one command asks for at most. */
export const MOST_KEYS = 1_000;
/** Callers that may wait for reads: where more do, the database is too slow for them. */
export const MOST_WAITING = 20_000;

interface Caller<Found> {
  resolve(found: Found | null): void;
  reject(error: Error): void;
}

/** Gathers what single callers want into common questions: of one turn of the event loop, or more under load. */
export class Gathered<Key, Found> {
  readonly #read: (keys: Key[]) => Promise<(Found | null)[]>;
  readonly #bound: { waiting: number };
  readonly #groups = new Groups(() => this.#send());
  #wants: { key: Key; caller: Caller<Found> }[] = [];
  readonly #schedule = onceATurn(() => this.#send());

  constructor(bound: { waiting: number }, read: (keys: Key[]) => Promise<(Found | null)[]>) {
    this.#bound = bound;
    this.#read = read;
  }

  get(key: Key): Promise<Found | null> {
    if (this.#bound.waiting >= MOST_WAITING)
      return Promise.reject(new StoreUnavailable('too much waits for the database'));
    this.#bound.waiting += 1;
    return new Promise((resolve, reject) => {
      this.#wants.push({ key, caller: { resolve, reject } });
      this.#schedule();
    });
  }

  #send(): void {
    while (this.#groups.admits(this.#wants.length)) {
      const wants = this.#wants.splice(0, MOST_KEYS);
      this.#groups.follow(wants.length, this.#answer(wants));
    }
  }

  async #answer(wants: readonly { key: Key; caller: Caller<Found> }[]): Promise<void> {
    try {
      const found = await this.#read(wants.map(({ key }) => key));
      wants.forEach(({ caller }, index) => {
        caller.resolve(found[index] ?? null);
      });
    } catch (error) {
      const reason = asError(error);
      for (const { caller } of wants) caller.reject(reason);
    } finally {
      this.#bound.waiting -= wants.length;
    }
  }
}
