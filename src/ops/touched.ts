/** What an act over many deliveries touches, counted before it is written down. It is as long as there are accounts. */
import { MOST_NAMED, type TouchedOf } from './acting.ts';

/** So many ids are kept, of all accounts: what comes to further ones is only counted. */
const MOST_KEPT = 10_000;

interface Own extends TouchedOf {
  /** Null once there are more than are named. */
  ids: string[] | null;
  /** How many of those that were counted are still to come. */
  left: number;
}

export class Touched {
  readonly #accounts = new Map<string, Own>();
  #kept = 0;

  add(account: string, id: string): void {
    const own = this.#of(account);
    own.count += 1;
    own.left += 1;
    if (own.ids === null) return;
    if (own.ids.length < MOST_NAMED && this.#kept < MOST_KEPT) {
      own.ids.push(id);
      this.#kept += 1;
      return;
    }
    this.#kept -= own.ids.length;
    own.ids = null;
  }

  #of(account: string): Own {
    const known = this.#accounts.get(account);
    if (known !== undefined) return known;
    const own: Own = { count: 0, ids: [], left: 0 };
    this.#accounts.set(account, own);
    return own;
  }

  get accounts(): ReadonlyMap<string, TouchedOf> {
    return this.#accounts;
  }

  /** Whether this is among what was counted: no more than that is done, and where all are named, only those. */
  take(account: string, id: string): boolean {
    const own = this.#accounts.get(account);
    if (own === undefined || own.left === 0) return false;
    if (own.ids !== null && !own.ids.includes(id)) return false;
    own.left -= 1;
    return true;
  }
}
