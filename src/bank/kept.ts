/**
 * Claimed orders whose time comes soon: they wait in memory, and the store hears of them again once they have come to
 * their end. Where the process dies, their claims come free as those of all that it had in hand.
 */
import { type ClaimOf, KEPT_MS } from '../engine/store/due.ts';

const MOST = 32_768;

interface Waiting {
  claim: ClaimOf<'bank'>;
  /** When its time has come by the clock that never steps, ms. */
  until: number;
}

export interface KeptOptions {
  now(): number;
  elapsed(): number;
}

export class Kept {
  readonly #options: KeptOptions;
  #waiting: Waiting[] = [];

  constructor(options: KeptOptions) {
    this.#options = options;
  }

  /** False where its time is far, or there is no room. */
  keep(claim: ClaimOf<'bank'>): boolean {
    const { now, elapsed } = this.#options;
    const inMs = claim.due.at - now();
    if (inMs > KEPT_MS || this.#waiting.length >= MOST) return false;
    this.#waiting.push({ claim, until: elapsed() + inMs });
    return true;
  }

  /** Those whose time has come, by either clock: one that is set back holds up none. They are kept no more. */
  come(): ClaimOf<'bank'>[] {
    const [now, elapsed] = [this.#options.now(), this.#options.elapsed()];
    const come: ClaimOf<'bank'>[] = [];
    this.#waiting = this.#waiting.filter((each) => {
      const isEarly = each.claim.due.at > now && each.until > elapsed;
      if (!isEarly) come.push(each.claim);
      return isEarly;
    });
    return come;
  }
}
