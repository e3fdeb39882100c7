/**
 * A token bucket an account (contract, "Limits"): refills 10,000 a second, holds 5,000. Buckets lie in memory that
 * threads share, so that an account has one limit, whichever of them answers.
 *
 * A bucket is one number: the tick at which it will be full again. A token comes back each tick, so what lies between
 * now and then is what was taken.
 */
import type { Account } from '../domain/account.ts';

export const RATE_PER_SECOND = 10_000;
export const BURST = 5_000;

const TICKS_PER_MS = RATE_PER_SECOND / 1000;

/** Takes from the buckets; each thread has one of its own on the same memory. */
export class RateLimit {
  readonly #fullAt: BigInt64Array;
  readonly #placeOf: (account: Account) => number;
  readonly #elapsed: () => number;

  /** `elapsed` is in ms, and the same for all that share the memory. */
  constructor(memory: SharedArrayBuffer, placeOf: (account: Account) => number, elapsed: () => number) {
    this.#fullAt = new BigInt64Array(memory);
    this.#placeOf = placeOf;
    this.#elapsed = elapsed;
  }

  /** Takes a token. What is left; -1: there was none. */
  take(account: Account): number {
    const place = this.#placeOf(account);
    const tick = BigInt(Math.floor(this.#elapsed() * TICKS_PER_MS));
    for (;;) {
      const fullAt = Atomics.load(this.#fullAt, place);
      const from = fullAt > tick ? fullAt : tick;
      const taken = Number(from - tick);
      if (taken >= BURST) return -1;
      if (Atomics.compareExchange(this.#fullAt, place, fullAt, from + 1n) === fullAt)
        return BURST - taken - 1;
    }
  }
}

/**
 * An account keeps its place for so long after it was asked for: a thread takes from a place that it was told of less
 * than a second ago, and a bucket that was left alone for half a second is full again, so it may be another's.
 */
const KEPT_MS = 5_000;
const SWEEP_AT = 10_000;
const SWEEP_PAUSE_MS = 1_000;
/** More accounts than can send a request within those seconds. */
const MOST_PLACES = 262_144;

interface Place {
  place: number;
  askedAt: number;
}

/** Says which bucket is whose; only one thread does. Accounts that find no place share the last one meanwhile. */
export class BucketPlaces {
  /** Eight bytes a bucket, of which the system gives those that are used. */
  readonly memory: SharedArrayBuffer;
  readonly #elapsed: () => number;
  readonly #most: number;
  readonly #places = new Map<string, Place>();
  readonly #free: number[] = [];
  #sweepAt: number;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #next = 0;

  constructor(elapsed: () => number, most = MOST_PLACES) {
    this.#elapsed = elapsed;
    this.#most = most;
    this.#sweepAt = Math.min(SWEEP_AT, most - 1);
    this.memory = new SharedArrayBuffer(most * BigInt64Array.BYTES_PER_ELEMENT);
  }

  /** The place of an account's bucket, its own for the next seconds. */
  of(account: string): number {
    const askedAt = this.#elapsed();
    const known = this.#places.get(account);
    if (known !== undefined) {
      known.askedAt = askedAt;
      return known.place;
    }
    if (this.#places.size >= this.#sweepAt) this.#sweep(askedAt);
    const place = this.#free.pop() ?? this.#next;
    if (place >= this.#most - 1) return this.#most - 1;
    if (place === this.#next) this.#next += 1;
    this.#places.set(account, { place, askedAt });
    return place;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_PAUSE_MS) return;
    this.#sweptAt = now;
    for (const [account, { place, askedAt }] of this.#places) {
      if (now - askedAt <= KEPT_MS) continue;
      this.#places.delete(account);
      this.#free.push(place);
    }
    this.#sweepAt = Math.min(this.#most - 1, Math.max(SWEEP_AT, 2 * this.#places.size));
  }
}
