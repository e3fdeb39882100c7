/**
 * Accounts that other processes write to as well. What is known of their last batch may be out of date; and where
 * two processes write at the same time, the one that wrote the last batch waits before its next, for about as long
 * as a batch takes: the ones that lost have to catch up before they can write, and would never win.
 */
import { pause } from '../../../waiting.ts';
import { jittered } from '../connection.ts';

/** Another process wrote so recently that it may again. */
const SHARED_MS = 2_000;
/** A process that was too late twice within so short a time has others beside it that write all the time. */
const TWICE_MS = 100;
/** So long after that others are given their turn. */
const CONTENDED_MS = 500;
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
  /** Whether the last batch that is known was ours, and since when it is known. */
  wasOurs: boolean;
  knownAt: number;
}

export class SharedAccounts {
  readonly #accounts = new Map<string, Shared>();
  #batchMs = 0;

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

  /** Another process had written before we did. */
  late(account: string): void {
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear();
    const now = performance.now();
    const known = this.#find(account);
    const isContended = known !== null && now - known.lateAt < TWICE_MS;
    this.#accounts.set(account, {
      until: now + SHARED_MS,
      contendedUntil: isContended ? now + CONTENDED_MS : (known?.contendedUntil ?? 0),
      lateAt: now,
      wasOurs: false,
      knownAt: Number.NEGATIVE_INFINITY,
    });
  }

  won(account: string): void {
    const shared = this.#find(account);
    if (shared === null) return;
    shared.wasOurs = true;
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
