/**
 * Accounts that other processes write to as well. Who wrote the last batch of one waits before the next, for about
 * as long as a batch takes: those who lost have to catch up before they can write, and would never win.
 */
import { jittered, pause } from './mongo-connection.ts';

/** Another process wrote so recently that it may be about to again. */
const SHARED_MS = 2_000;
const SHORTEST_MS = 4;
const LONGEST_MS = 200;
/** How much the newest batch counts in what one is taken to last. */
const NEWEST = 0.2;
const MAX_ACCOUNTS = 50_000;

export class SharedAccounts {
  /** Until when an account counts as shared, and whether its last batch was ours. */
  readonly #accounts = new Map<string, { until: number; wasOurs: boolean }>();
  #batchMs = 0;

  /** What a batch took from its insert to its answer. */
  took(ms: number): void {
    this.#batchMs += (ms - this.#batchMs) * NEWEST;
  }

  lost(account: string): void {
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.clear();
    this.#accounts.set(account, { until: performance.now() + SHARED_MS, wasOurs: false });
  }

  won(account: string): void {
    const shared = this.#accounts.get(account);
    if (shared !== undefined) shared.wasOurs = true;
  }

  /** Resolves once others have had their turn. */
  async yield(account: string): Promise<void> {
    const shared = this.#accounts.get(account);
    if (shared === undefined) return;
    if (shared.until < performance.now()) this.#accounts.delete(account);
    else if (shared.wasOurs) {
      await pause(jittered(Math.min(Math.max(this.#batchMs, SHORTEST_MS), LONGEST_MS)));
    }
  }
}
