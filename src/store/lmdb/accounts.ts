/** The settings of accounts in the embedded store, the client ids that find them, and the store's own marks. */
import type { Account } from '../../domain/account.ts';
import type { AccountTable, Marks } from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import { fitsKey } from './tables.ts';

export class LmdbAccounts implements AccountTable {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async get(id: string): Promise<Account | null> {
    const { accounts } = this.#environment.fresh();
    const text = fitsKey(id) ? accounts.get(id) : undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  async byClientId(clientId: string): Promise<Account | null> {
    const { clients } = this.#environment.fresh();
    const id = fitsKey(clientId) ? clients.get(clientId) : undefined;
    return id === undefined ? null : this.get(id);
  }

  async all(): Promise<Account[]> {
    return [...this.#environment.fresh().accounts.getRange()].map(({ value }) => JSON.parse(value));
  }

  async isEmpty(): Promise<boolean> {
    return this.#environment.fresh().accounts.getKeysCount({ limit: 1 }) === 0;
  }

  put(account: Account): Promise<boolean> {
    return this.#environment.transaction(({ accounts, clients }) => {
      const text = accounts.get(account.id);
      const before: Account | null = text === undefined ? null : JSON.parse(text);
      if ((before?.version ?? 0) !== account.version - 1) return false;
      if (before !== null && before.clientId !== account.clientId) void clients.remove(before.clientId);
      void clients.put(account.clientId, account.id);
      void accounts.put(account.id, JSON.stringify(account));
      return true;
    });
  }
}

export class LmdbMarks implements Marks {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async mark(name: string): Promise<string | null> {
    return this.#environment.fresh().marks.get(name) ?? null;
  }

  async keepMark(name: string, text: string): Promise<void> {
    await this.#environment.transaction(({ marks }) => {
      if (!marks.doesExist(name)) void marks.put(name, text);
    });
  }

  async putMark(name: string, text: string): Promise<void> {
    await this.#environment.transaction(({ marks }) => void marks.put(name, text));
  }
}
