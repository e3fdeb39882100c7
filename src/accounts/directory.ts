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
  readonly #byClientId = new Map<string, Cached>();

  constructor(store: Store, sealer: Sealer, now: () => number) {
    this.#store = store;
    this.#sealer = sealer;
    this.#now = now;
  }

  /** Settings of an account; null where there is none. */
  account(id: string): Promise<Account | null> {
    return this.#cached(this.#byId, id, () => this.#store.account(id));
  }

  /** Who a client id belongs to; null where it is nobody's. */
  client(clientId: string): Promise<Account | null> {
    return this.#cached(this.#byClientId, clientId, () => this.#store.accountByClientId(clientId));
  }

  async #cached(
    cache: Map<string, Cached>,
    key: string,
    read: () => Promise<Account | null>,
  ): Promise<Account | null> {
    const known = cache.get(key);
    const now = this.#now();
    if (known !== undefined && now - known.readAt < MAX_AGE_MS && now >= known.readAt) return known.account;
    const account = await read();
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(key, { account, readAt: now, opened: new Map() });
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
