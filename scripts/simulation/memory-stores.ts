/** The stores of a simulation in memory: faults happen around each of their methods. */
import type { Account } from '../../src/domain/account.ts';
import type { AttentionKey, Store } from '../../src/engine/store.ts';
import { MemoryState } from '../../test/support/memory-store/state.ts';
import { MemoryStore } from '../../test/support/memory-store/store.ts';
import type { SettingsHistory } from './settings.ts';
import type { Stored, Stores, StoresParts } from './stored.ts';

/** The data, whose settings are followed. */
class FollowedState extends MemoryState implements Stored {
  readonly #history: SettingsHistory;

  constructor(history: SettingsHistory) {
    super();
    this.#history = history;
  }

  get left(): number {
    return this.due.size + this.backlog.total();
  }

  override putAccount(account: Account): boolean {
    const isPut = super.putAccount(account);
    if (isPut) this.#history.changed(structuredClone(account));
    return isPut;
  }
}

export class MemoryStores implements Stores {
  readonly stored: FollowedState;
  readonly #parts: StoresParts;

  constructor(parts: StoresParts) {
    this.#parts = parts;
    this.stored = new FollowedState(parts.history);
  }

  async open(incarnation: string, isAlive: () => boolean): Promise<Store> {
    const { clock, weather, silentAfterMs } = this.#parts;
    const faults = weather.faultsOf(incarnation, isAlive);
    return new MemoryStore({ state: this.stored, incarnation, now: () => clock.now, silentAfterMs, faults });
  }

  async refresh(): Promise<void> {}

  async putAccount(account: Account): Promise<void> {
    this.stored.putAccount(account);
  }

  async withdraw(items: readonly AttentionKey[]): Promise<void> {
    this.stored.withdraw(items);
  }

  async close(): Promise<void> {}
}
