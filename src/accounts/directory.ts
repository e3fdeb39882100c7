/**
 * Accounts as requests see them: settings from the store, at most half a second old, so that what ops change
 * in another process holds within a second and a request costs no read.
 */
import type { Store } from '../engine/store.ts';
import type { Account } from './account.ts';
import type { Sealer } from './sealing.ts';

const MAX_AGE_MS = 400;
const MAX_CACHED = 20_000;

interface Cached {
  account: Account | null;
  readAt: number;
  /** Webhook secrets by their sealed text. */
  opened: Map<string, string>;
}

export class Directory {
  readonly #store: Store;
  readonly #sealer: Sealer;
  readonly #now: () => number;
  readonly #byId = new Map<string, Cached>();
  /** Who a client id belonged to when it was read last. */
  readonly #ids = new Map<string, string>();

  constructor(store: Store, sealer: Sealer, now: () => number) {
    this.#store = store;
    this.#sealer = sealer;
    this.#now = now;
  }

  #known(id: string): Cached | null {
    const known = this.#byId.get(id);
    const now = this.#now();
    return known !== undefined && now - known.readAt < MAX_AGE_MS && now >= known.readAt ? known : null;
  }

  #keep(id: string, account: Account | null): void {
    if (this.#byId.size >= MAX_CACHED) this.#byId.clear();
    const opened = this.#byId.get(id)?.opened ?? new Map<string, string>();
    this.#byId.set(id, { account, readAt: this.#now(), opened });
  }

  /** Settings of an account; null where there is none. */
  async account(id: string): Promise<Account | null> {
    const known = this.#known(id);
    if (known !== null) return known.account;
    const account = await this.#store.account(id);
    this.#keep(id, account);
    return account;
  }

  /** Who a client id belongs to; null where it is nobody's. */
  async client(clientId: string): Promise<Account | null> {
    const id = this.#ids.get(clientId);
    const known = id === undefined ? null : this.#known(id);
    if (known?.account?.clientId === clientId) return known.account;
    const account = await this.#store.accountByClientId(clientId);
    // Guesses at client ids are read each time, and fill nothing.
    if (account === null) return null;
    if (this.#ids.size >= MAX_CACHED) this.#ids.clear();
    this.#ids.set(clientId, account.id);
    this.#keep(account.id, account);
    return account;
  }

  /** The secrets that sign for a URL now; empty where the account has it no more. */
  async secrets(id: string, url: string): Promise<string[]> {
    const account = await this.account(id);
    const webhook = account?.webhooks.find((candidate) => candidate.url === url);
    if (webhook === undefined) return [];
    const now = this.#now();
    return webhook.secrets
      .filter(({ until }) => until === null || Date.parse(until) > now)
      .map(({ sealed }) => this.#opened(id, sealed));
  }

  #opened(id: string, sealed: string): string {
    const cached = this.#byId.get(id);
    const known = cached?.opened.get(sealed);
    if (known !== undefined) return known;
    const secret = this.#sealer.open(sealed);
    cached?.opened.set(sealed, secret);
    return secret;
  }
}
