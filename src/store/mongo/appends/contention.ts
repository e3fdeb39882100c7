/**
 * Accounts that other processes write to as well. What is known of their last batch may be out of date; and where
 * two processes write at the same time, the one that wrote the last batch waits before its next, for about as long
 * as a batch takes: the ones that lost have to catch up before they can write, and would never win. One that doesn't
 * win once is unknown to the others: its heartbeat tells them (`recovery/processes.ts`).
 */
import { jittered, pause } from '../../../waiting.ts';

/** Another process wrote so recently that it may again. */
const SHARED_MS = 2_000;
/** A process that was too late twice within so short a time has others beside it that write all the time. */
const TWICE_MS = 100;
/** So long after that others are given their turn. */
const CONTENDED_MS = 500;
/** A process that was too late so often in a row is held up. */
const HELD_UP_AT = 3;
/** Accounts that a process tells of at a time. */
const MOST_TOLD = 100;
/** So long after a heartbeat told of one that is held up it is given its turn: until the next heartbeat, and longer. */
const WAY_MS = 1_500;
/** What was known of a shared account so short a while ago is taken to be still so. */
const FRESH_MS = 20;
const SHORTEST_MS = 4;
const LONGEST_MS = 200;
/** How much the newest batch counts in what one is taken to last. */
const NEWEST = 0.2;
const MAX_ACCOUNTS = 50_000;

interface Shared {
  until: number;
  contendedUntil: number;
  /** When we were too late last. */
  lateAt: number;
  /** How often in a row we were too late. */
  misses: number;
  /** Whether the last batch that is known was ours, and since when it is known. */
  wasOurs: boolean;
  knownAt: number;
}

export class SharedAccounts {
  readonly #accounts = new Map<string, Shared>();
  readonly #onHeldUp: () => void;
  #batchMs = 0;

  /** `onHeldUp`: there is one more account at which this process is held up. */
  constructor(onHeldUp: () => void) {
    this.#onHeldUp = onHeldUp;
  }

  /** How long a batch lasted from its insert to its answer. */
  lasted(ms: number): void {
    this.#batchMs += (ms - this.#batchMs) * NEWEST;
  }

  #find(account: string): Shared | null {
    const shared = this.#accounts.get(account);
    if (shared === undefined || shared.until >= performance.now()) return shared ?? null;
    this.#accounts.delete(account);
    return null;
  }

  /** Whether another process may have written to the account since its last batch was known. */
  isDoubtful(account: string): boolean {
    const shared = this.#find(account);
    return shared !== null && performance.now() - shared.knownAt > FRESH_MS;
  }

  /** The account's last batch was read just now. */
  seen(account: string): void {
    const shared = this.#find(account);
    if (shared !== null) shared.knownAt = performance.now();
  }

  /** What is known of an account that others write to; where nothing was, our batch was the last as far as we know. */
  #entry(account: string): Shared {
    const known = this.#find(account);
    if (known !== null) return known;
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear();
    const never = Number.NEGATIVE_INFINITY;
    const shared = {
      until: never,
      contendedUntil: 0,
      lateAt: never,
      misses: 0,
      wasOurs: true,
      knownAt: never,
    };
    this.#accounts.set(account, shared);
    return shared;
  }

  /** Another process had written before we did. */
  late(account: string): void {
    const shared = this.#entry(account);
    const now = performance.now();
    if (now - shared.lateAt < TWICE_MS) shared.contendedUntil = now + CONTENDED_MS;
    shared.until = now + SHARED_MS;
    shared.lateAt = now;
    shared.misses += 1;
    shared.wasOurs = false;
    shared.knownAt = Number.NEGATIVE_INFINITY;
    if (shared.misses === HELD_UP_AT) this.#onHeldUp();
  }

  /** Accounts at which this process is held up: others were first each time it tried to write; a hundred at most. */
  get heldUp(): string[] {
    const isHeldUp = (account: string): boolean => (this.#find(account)?.misses ?? 0) >= HELD_UP_AT;
    return [...this.#accounts.keys()].filter(isHeldUp).slice(0, MOST_TOLD);
  }

  /** Gives others their turn at accounts. */
  makeWay(accounts: readonly string[]): void {
    for (const account of accounts) {
      const shared = this.#entry(account);
      const now = performance.now();
      shared.until = Math.max(now + WAY_MS, shared.until);
      shared.contendedUntil = now + WAY_MS;
    }
  }

  won(account: string): void {
    const shared = this.#find(account);
    if (shared === null) return;
    shared.wasOurs = true;
    shared.misses = 0;
    shared.knownAt = performance.now();
  }

  /** Resolves once others have had their turn. */
  async yield(account: string): Promise<void> {
    const shared = this.#find(account);
    if (shared === null || !shared.wasOurs || shared.contendedUntil < performance.now()) return;
    shared.knownAt = Number.NEGATIVE_INFINITY;
    await pause(jittered(Math.min(Math.max(this.#batchMs, SHORTEST_MS), LONGEST_MS)));
  }
}
