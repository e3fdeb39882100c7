/**
 * Accounts that other processes write to as well. What is known of their last batch may be out of date; and where
 * two write at the same time, who wrote the last batch waits before the next, for about as long as a batch takes:
 * those who lost have to catch up before they can write, and would never win.
 */
import { jittered, pause } from './mongo-connection.ts';

/** Another process wrote so recently that it may again. */
const SHARED_MS = 2_000;
/** Another process was faster by so little that it may be about to again. */
const CONTENDED_MS = 300;
const SHORTEST_MS = 4;
const LONGEST_MS = 200;
/** How much the newest batch counts in what one is taken to last. */
const NEWEST = 0.2;
const MAX_ACCOUNTS = 50_000;

interface Shared {
  until: number;
  contendedUntil: number;
  /** Whether the last batch that is known was ours. */
  wasOurs: boolean;
}

export class SharedAccounts {
  readonly #accounts = new Map<string, Shared>();
  #batchMs = 0;

  /** What a batch took from its insert to its answer. */
  took(ms: number): void {
    this.#batchMs += (ms - this.#batchMs) * NEWEST;
  }

  /** Whether another process wrote to the account a short while ago. */
  has(account: string): boolean {
    const shared = this.#accounts.get(account);
    if (shared === undefined) return false;
    if (shared.until >= performance.now()) return true;
    this.#accounts.delete(account);
    return false;
  }

  /** Another process had written before we came. */
  behind(account: string): void {
    const { contendedUntil = 0 } = this.#accounts.get(account) ?? {};
    this.#set(account, contendedUntil);
  }

  /** Another process wrote while we did. */
  lost(account: string): void {
    this.#set(account, this.has(account) ? performance.now() + CONTENDED_MS : 0);
  }

  #set(account: string, contendedUntil: number): void {
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear();
    this.#accounts.set(account, { until: performance.now() + SHARED_MS, contendedUntil, wasOurs: false });
  }

  won(account: string): void {
    const shared = this.#accounts.get(account);
    if (shared !== undefined) shared.wasOurs = true;
  }

  /** Resolves once others have had their turn. */
  async yield(account: string): Promise<void> {
    const shared = this.#accounts.get(account);
    if (shared === undefined || !shared.wasOurs || shared.contendedUntil < performance.now()) return;
    await pause(jittered(Math.min(Math.max(this.#batchMs, SHORTEST_MS), LONGEST_MS)));
  }
}
