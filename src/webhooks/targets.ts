/** What this process knows of each target: how much of it is in hand, and whether it keeps up. Times are monotonic ms. */
import type { Target } from '../engine/store/backlog.ts';

const MAX_OF_ONE = 1_024;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** Beyond the time of its look, which comes within a second or two. */
const LOOK_GRACE_MS = 2_000;
/** A choke that nobody has seen for so long is forgotten. */
const REMEMBERED_MS = 90_000;
/** One attempt that times out among many that are answered is no case. */
const HANGS_AFTER_MS = 1_000;
/** What the receiver may take: it hasn't answered, or not even connected, in time. */
const TIMEOUTS: ReadonlySet<string | null> = new Set(['TIMEOUT', 'ETIMEDOUT']);

export class TargetState {
  readonly target: Target;
  /** Deliveries to it that are with the sender, or wait for the one before. */
  inHand = 0;
  /** How often it was found to be choked. */
  chokes = 0;
  /** This process has its look: what comes meanwhile goes behind it, in order. */
  isLookedAfter = false;
  /** Whether `hanging` is noted about it; null: not known yet. */
  isNoted: boolean | null = null;
  readonly #clock: () => number;
  #chokedSince: number | null = null;
  /** Null: the last attempt didn't time out; undefined: none has ended yet. */
  #hangsSince: number | null | undefined;
  #chokedAt = 0;
  #heldUntil = 0;
  readonly #waiting: { below: number; resolve: () => void }[] = [];

  constructor(target: Target, clock: () => number) {
    this.target = target;
    this.#clock = clock;
  }

  get isChoked(): boolean {
    return this.#chokedSince !== null;
  }

  /** Whether its attempts have timed out for a while, and nothing else came of any; null: that isn't known yet. */
  get hangs(): boolean | null {
    const since = this.#hangsSince;
    if (since === null) return false;
    return since !== undefined && this.#clock() - since >= HANGS_AFTER_MS ? true : null;
  }

  /** Whether all that comes goes behind it. */
  get isHeld(): boolean {
    return this.isLookedAfter || this.#clock() < this.#heldUntil;
  }

  /** Whether what comes for it goes behind it; `free`: for how many more of all targets there is room. */
  isFull(free: number): boolean {
    return this.isHeld || this.inHand >= Math.min(MAX_OF_ONE, Math.max(1, free));
  }

  /** Whether nothing more is to be known of it. */
  get isIdle(): boolean {
    if (this.inHand > 0 || this.isHeld) return false;
    return !this.isChoked || this.#clock() - this.#chokedAt > REMEMBERED_MS;
  }

  /** Until the next look: as long as the choke has lasted, at least 1 s, at most 30 s. */
  get delayMs(): number {
    const now = this.#clock();
    return Math.min(LONGEST_DELAY_MS, Math.max(FIRST_DELAY_MS, now - (this.#chokedSince ?? now)));
  }

  /** An attempt has ended; `error`: why it has no answer. */
  attempted(error: string | null): void {
    if (TIMEOUTS.has(error)) {
      this.#hangsSince ??= this.#clock();
      this.choked();
    } else {
      this.#hangsSince = null;
      this.#chokedSince = null;
    }
  }

  /** It timed out, or its way is full. */
  choked(): void {
    this.#chokedAt = this.#clock();
    this.#chokedSince ??= this.#chokedAt;
    this.chokes += 1;
    this.hold();
  }

  hold(): void {
    this.#heldUntil = this.#clock() + this.delayMs + LOOK_GRACE_MS;
  }

  letGo(): void {
    this.#heldUntil = 0;
  }

  /** One of those in hand is so no more. */
  ended(): void {
    this.inHand -= 1;
    for (const waiting of this.#waiting.splice(0)) {
      if (this.inHand < waiting.below) waiting.resolve();
      else this.#waiting.push(waiting);
    }
  }

  /** Resolves once fewer than so many are in hand. */
  async below(count: number): Promise<void> {
    if (this.inHand < count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ below: count, resolve }));
  }
}

/** The targets that this process has to do with. */
export class Targets {
  /** By account, then by URL: no text is made for each delivery. */
  readonly #states = new Map<string, Map<string, TargetState>>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  of(account: string, url: string): TargetState {
    let states = this.#states.get(account);
    if (states === undefined) {
      states = new Map();
      this.#states.set(account, states);
    }
    let state = states.get(url);
    if (state === undefined) {
      state = new TargetState({ account, url }, this.#clock);
      states.set(url, state);
    }
    return state;
  }

  forgetIdle(): void {
    for (const [account, states] of this.#states) {
      for (const [url, state] of states) if (state.isIdle) states.delete(url);
      if (states.size === 0) this.#states.delete(account);
    }
  }
}
