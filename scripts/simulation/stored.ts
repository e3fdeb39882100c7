/** Where the processes of a simulation store their data, and how the workload and the auditors read it. */
import type { Account } from '../../src/domain/account.ts';
import type { AttentionKey, Store } from '../../src/engine/store.ts';
import type { MemoryState } from '../../test/support/memory-store/state.ts';
import type { Weather } from './faults.ts';
import type { SettingsHistory } from './settings.ts';
import type { WallClock } from './wall-clock.ts';
import type { World } from './world.ts';

/** The data, as the workload and the auditors read it. */
export interface Stored
  extends Pick<
    MemoryState,
    | ('head' | 'journal' | 'transaction' | 'records' | 'lookups' | 'deliveries')
    | ('listed' | 'dismissed' | 'failedDeliveries' | 'account')
  > {
  /** How many things are due, and how many deliveries wait behind others. */
  readonly left: number;
}

/** What stores are opened with. */
export interface StoresParts {
  world: World;
  clock: WallClock;
  weather: Weather;
  history: SettingsHistory;
  silentAfterMs: number;
  log(line: string): void;
}

/** The stores of all processes, on the same data. */
export interface Stores {
  readonly stored: Stored;
  /** A process's own, once it may be used. */
  open(process: string, isAlive: () => boolean): Promise<Store>;
  /** `stored` shows what was written until now; its heads' numbers always do. */
  refresh(): Promise<void>;
  /** Writes settings past all faults, while nothing else happens. */
  putAccount(account: Account): Promise<void>;
  /** Forgets items, likewise. */
  withdraw(items: readonly AttentionKey[]): Promise<void>;
  close(): Promise<void>;
}
