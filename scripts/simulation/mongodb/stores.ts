/** The stores of a simulation on a real MongoDB server: faults happen around each command. */
import { MongoNetworkTimeoutError, MongoServerError } from 'mongodb';
import type { Account } from '../../../src/domain/account.ts';
import { type AttentionKey, type Store, StoreUnavailable } from '../../../src/engine/store.ts';
import { openMongoStore } from '../../../src/store/mongo/store.ts';
import { LEASE_MS } from '../../../src/store/open.ts';
import type { Stores, StoresParts } from '../stored.ts';
import { Mirror } from './mirror.ts';
import { INTERRUPTED } from './parted.ts';
import { type Command, type Gates, Wires } from './wires.ts';

/** How many of a thousand faults are such that all others would wait in vain as well. */
const AWAY = 300;

export class MongoStores implements Stores {
  readonly stored: Mirror;
  readonly #uri: string;
  readonly #parts: StoresParts;
  readonly #wires: Wires;

  /** `uri`: with a database that is empty. */
  constructor(uri: string, parts: StoresParts) {
    this.#uri = uri;
    this.#parts = parts;
    const stored = new Mirror(uri, parts.history);
    this.stored = stored;
    this.#wires = new Wires((collection) => stored.changed(collection));
    parts.world.isBusy = () => this.#wires.isBusy;
  }

  async open(incarnation: string, isAlive: () => boolean): Promise<Store> {
    const { world, clock, silentAfterMs, log } = this.#parts;
    const { uri, begin } = this.#wires.of(this.#uri, this.#gatesOf(incarnation, isAlive));
    return world.outside(async () => {
      const store = openMongoStore({
        ...{ uri, incarnation, silentAfterMs, leaseMs: LEASE_MS },
        now: () => clock.now,
        elapsed: () => world.now,
        onUnusable: (reason) => log(`${incarnation}: ${reason}`),
        onNotice: (text) => log(`${incarnation}: ${text}`),
      });
      await store.ready;
      begin();
      return store;
    });
  }

  #gatesOf(process: string, isAlive: () => boolean): Gates {
    const faults = this.#parts.weather.faultsOf(process, isAlive);
    const nameOf = ({ name, collection }: Command): string =>
      collection === 'journal' && name === 'insert' ? 'append' : `${name} ${collection}`;
    const failing = async (command: Command, moment: 'before' | 'after'): Promise<void> => {
      try {
        await faults[moment](nameOf(command));
      } catch (error) {
        throw error instanceof StoreUnavailable ? this.#failure() : error;
      }
    };
    return {
      before: (command) => failing(command, 'before'),
      parted: (command) => faults.parted(nameOf(command)),
      after: (command) => failing(command, 'after'),
    };
  }

  #failure(): Error {
    if (this.#parts.world.random.perMille(AWAY)) return new MongoNetworkTimeoutError('a simulated silence');
    return new MongoServerError({ errmsg: 'a simulated end', code: INTERRUPTED });
  }

  refresh(): Promise<void> {
    return this.#parts.world.outside(() => this.stored.refresh());
  }

  putAccount(account: Account): Promise<void> {
    return this.#parts.world.outside(() => this.stored.putAccount(account));
  }

  withdraw(items: readonly AttentionKey[]): Promise<void> {
    return this.#parts.world.outside(() => this.stored.withdraw(items));
  }

  async close(): Promise<void> {
    await this.#wires.close();
    await this.stored.close();
  }
}
