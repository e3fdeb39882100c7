/** A token bucket an account (contract, "Limits"): refills 10,000 a second, holds 5,000. */

export const RATE_PER_SECOND = 10_000;
export const BURST = 5_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Buckets of accounts that were quiet for so long are full again and needn't be kept. */
const FULL_AFTER_MS = (BURST / RATE_PER_SECOND) * 1000;
const SWEEP_AT = 10_000;

export class RateLimit {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes a token. What is left, rounded down; -1: there was none. */
  take(account: string): number {
    const now = this.#now();
    const bucket = this.#buckets.get(account);
    if (bucket === undefined) {
      if (this.#buckets.size >= SWEEP_AT) this.#sweep(now);
      this.#buckets.set(account, { tokens: BURST - 1, at: now });
      return BURST - 1;
    }
    const refilled = bucket.tokens + (Math.max(0, now - bucket.at) * RATE_PER_SECOND) / 1000;
    bucket.tokens = Math.min(BURST, refilled);
    bucket.at = now;
    if (bucket.tokens < 1) return -1;
    bucket.tokens -= 1;
    return Math.floor(bucket.tokens);
  }

  #sweep(now: number): void {
    for (const [account, bucket] of this.#buckets)
      if (now - bucket.at > FULL_AFTER_MS) this.#buckets.delete(account);
  }
}
