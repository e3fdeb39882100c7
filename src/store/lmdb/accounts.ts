/** The settings of accounts in the embedded store, the client ids that find them, and the store's own marks. */
import type { Account } from '../../domain/account.ts';
import type { Marks } from '../../engine/store/marks.ts';
import type { AccountTable } from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import { ALL, fitsKey } from './projections/keys.ts';

export class LmdbAccounts implements AccountTable {
  readonly #environment: Environment;
  /** Versions of accounts that are on their way to the disk. */
  readonly #underWay = new Map<string, number>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async get(id: string): Promise<Account | null> {
    const { accounts } = this.#environment.opened.projections;
    return fitsKey(id) ? accounts.get(id) : null;
  }

  async byClientId(clientId: string): Promise<Account | null> {
    const { clients } = this.#environment.opened.projections;
    const id = fitsKey(clientId) ? clients.get(clientId) : null;
    return id === null ? null : this.get(id);
  }

  async after(id: string, limit: number): Promise<Account[]> {
    const found: Account[] = [];
    const [, end] = ALL;
    for (const [key, account] of this.#environment.opened.projections.accounts.range(id, end)) {
      if (found.length === limit) break;
      if (key !== id) found.push(account);
    }
    return found;
  }

  async isEmpty(): Promise<boolean> {
    for (const _ of this.#environment.opened.projections.accounts.keys(...ALL)) return false;
    return true;
  }

  async put(account: Account): Promise<boolean> {
    const { id, version } = account;
    const isWritten = await this.#environment.facts((projections) => {
      const before = this.#underWay.get(id) ?? projections.accounts.get(id)?.version ?? 0;
      if (before !== version - 1) return { facts: [], result: false };
      this.#underWay.set(id, version);
      return { facts: [{ kind: 'account', account }], result: true };
    });
    if (isWritten && this.#underWay.get(id) === version) this.#underWay.delete(id);
    return isWritten;
  }
}

export class LmdbMarks implements Marks {
  readonly #environment: Environment;
  /** Marks that are on their way to the disk, as they will be. */
  readonly #underWay = new Map<string, { text: string }>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async mark(name: string): Promise<string | null> {
    return this.#environment.opened.projections.marks.get(name);
  }

  async keepMark(name: string, text: string): Promise<void> {
    await this.#put(name, text, (present) => present === null);
  }

  async putMark(name: string, text: string): Promise<void> {
    await this.#put(name, text, () => true);
  }

  swapMark(name: string, before: string | null, text: string): Promise<boolean> {
    return this.#put(name, text, (present) => present === before);
  }

  /** Puts a text where what lies there by then is fit for it; whether it was. */
  async #put(name: string, text: string, isFit: (present: string | null) => boolean): Promise<boolean> {
    const own = { text };
    const isPut = await this.#environment.facts(({ marks }) => {
      if (!isFit(this.#underWay.get(name)?.text ?? marks.get(name))) return { facts: [], result: false };
      this.#underWay.set(name, own);
      return { facts: [{ kind: 'mark', name, text }], result: true };
    });
    if (this.#underWay.get(name) === own) this.#underWay.delete(name);
    return isPut;
  }
}
