/**
 * Accounts as requests see them: settings from the store, at most half a second old, so that what ops change
 * in another process holds within a second and a request costs no read. Accounts in use are read anew
 * together: to a store behind a network that is one question, whatever their number.
 */

import type { Account } from '../domain/account.ts';
import { timeOfText } from '../domain/time.ts';
import type { AccountTable } from '../engine/store.ts';
import { Lately } from '../passing.ts';
import type { Soon } from '../waiting.ts';
import type { Sealer } from './sealing.ts';

const MAX_AGE_MS = 400;
const CACHED = 20_000;
/** Accounts that are read anew together. */
const MAX_TOGETHER = 1_000;

interface Cached {
  account: Account;
  readAt: number;
  /** Webhook secrets by their sealed text. */
  opened: Map<string, string>;
}

/** What settings are read from. */
export type AccountReads = Pick<AccountTable, 'get' | 'byClientId'>;

export class Directory {
  readonly #accounts: AccountReads;
  readonly #sealer: Sealer;
  readonly #now: () => number;
  readonly #byId = new Lately<Cached>(CACHED);
  /** The account's id of each client id, as it was read last. */
  readonly #ids = new Lately<string>(CACHED);
  readonly #reading = new Map<string, Promise<Account | null>>();
  /** Reads that haven't begun: each waits for the one under way. */
  readonly #next = new Map<string, Promise<Account | null>>();
  /** Accounts that were asked for since they were read. */
  readonly #used = new Set<string>();

  constructor(accounts: AccountReads, sealer: Sealer, now: () => number) {
    this.#accounts = accounts;
    this.#sealer = sealer;
    this.#now = now;
  }

  #known(id: string): Account | null {
    const known = this.#byId.get(id);
    if (known === undefined || !this.#isFresh(known)) return null;
    this.#used.add(id);
    return known.account;
  }

  #isFresh({ readAt }: Cached): boolean {
    const now = this.#now();
    return now - readAt < MAX_AGE_MS && now >= readAt;
  }

  #keep(id: string, account: Account, readAt: number): void {
    const known = this.#byId.get(id);
    // One that was read later may come earlier.
    if (known !== undefined && known.readAt > readAt && this.#isFresh(known)) return;
    const opened = known?.opened ?? new Map<string, string>();
    this.#byId.set(id, { account, readAt, opened });
  }

  /** Settings of an account; null where there is none. That there is none is read each time: it may be made next. */
  account(id: string): Soon<Account | null> {
    const known = this.#known(id);
    if (known !== null) return known;
    this.#readOthers(id);
    const isUnderWay = this.#reading.has(id);
    const reading = this.#read(id);
    return isUnderWay ? reading.then((account) => account ?? this.#read(id)) : reading;
  }

  /** The store's settings, for whoever keeps them for a while, too: what is read for them needn't be read again here. */
  get stored(): AccountReads {
    return {
      get: (id) => this.#readAnew(id),
      byClientId: (clientId) => this.#accounts.byClientId(clientId),
    };
  }

  /** Callers that ask at the same time share an answer. */
  #read(id: string): Promise<Account | null> {
    const underWay = this.#reading.get(id);
    if (underWay !== undefined) return underWay;
    const reading = this.#readAnew(id).finally(() => this.#reading.delete(id));
    this.#reading.set(id, reading);
    return reading;
  }

  async #readAnew(id: string): Promise<Account | null> {
    const readAt = this.#now();
    const account = await this.#accounts.get(id);
    if (account !== null) this.#keep(id, account, readAt);
    return account;
  }

  /** Reads in the same turn what else has been in use since it was read. */
  #readOthers(id: string): void {
    let count = 0;
    for (const other of this.#used) {
      this.#used.delete(other);
      // The next request for that account hears of the failure.
      if (other !== id) this.#read(other).catch(() => {});
      count += 1;
      if (count === MAX_TOGETHER) return;
    }
  }

  /** The account that a client id belongs to; null where it is nobody's. */
  async client(clientId: string): Promise<Account | null> {
    const id = this.#ids.get(clientId);
    const known = id === undefined ? null : this.#known(id);
    if (known?.clientId === clientId) return known;
    if (id !== undefined) {
      const account = await this.account(id);
      if (account?.clientId === clientId) return account;
    }
    const readAt = this.#now();
    const account = await this.#accounts.byClientId(clientId);
    // Guesses at client ids are read each time, and fill nothing.
    if (account === null) return null;
    this.#ids.set(clientId, account.id);
    this.#keep(account.id, account, readAt);
    return account;
  }

  /** The secrets that sign for a URL now; empty where the account has it no more. */
  secrets(id: string, url: string): Soon<string[]> {
    const account = this.account(id);
    return account instanceof Promise
      ? account.then((read) => this.#secretsOf(read, url))
      : this.#secretsOf(account, url);
  }

  /** As `secrets`, by settings that are read after this call: nothing is given up by those that are remembered. */
  async secretsAnew(id: string, url: string): Promise<string[]> {
    return this.#secretsOf(await this.#readNext(id), url);
  }

  /** A read that begins after this call; however many ask while one is under way, the one behind it is theirs together. */
  #readNext(id: string): Promise<Account | null> {
    const underWay = this.#reading.get(id);
    if (underWay === undefined) return this.#read(id);
    const waiting = this.#next.get(id);
    if (waiting !== undefined) return waiting;
    const read = (): Promise<Account | null> => {
      this.#next.delete(id);
      return this.#read(id);
    };
    const next = underWay.then(read, read);
    this.#next.set(id, next);
    return next;
  }

  #secretsOf(account: Account | null, url: string): string[] {
    const webhook = account?.webhooks.find((candidate) => candidate.url === url);
    if (account === null || webhook === undefined) return [];
    const secrets: string[] = [];
    for (const { until, sealed } of webhook.secrets)
      if (until === null || timeOfText(until) > this.#now()) secrets.push(this.#opened(account.id, sealed));
    return secrets;
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
