/** An account's life as ops lead it: create, set, rotate. The store checks that nobody else changed it meanwhile. */

import type { Account, Activity, SealedSecret, Webhook } from '../domain/account.ts';
import { DEMO_FEES, type FeePolicy } from '../domain/fees.ts';
import type { By } from '../domain/messages.ts';
import { textOfTime } from '../domain/time.ts';
import type { AccountTable } from '../engine/store.ts';
import { pause } from '../waiting.ts';
import {
  derivedPixKey,
  hashSecret,
  newAccountId,
  newClientId,
  newClientSecret,
  newWebhookSecret,
} from './credentials.ts';
import {
  AccountMoved,
  type ChangeBy,
  ChangeForgotten,
  DoneBefore,
  isForgotten,
  isMoved,
  wasMade,
  withChange,
} from './last-changes.ts';
import type { Sealer } from './sealing.ts';

export const MAX_WEBHOOKS = 10;
/** How long the old secret of a URL signs beside the new one. */
export const ROTATION_MS = 24 * 3600 * 1000;

/** A URL that gets events; without a filter, all of them. */
export interface WebhookTarget {
  url: string;
  events: string[] | null;
}

export interface NewAccount {
  name: string;
  webhooks: WebhookTarget[];
  allowedIps: string[];
  fees: FeePolicy | null;
  expiresIn: number | null;
  maxAmount: number | null;
  pixKey: string | null;
  merchantName: string | null;
  merchantCity: string | null;
}

/** A new account of which nothing is said but its name. */
export const PLAIN_ACCOUNT: Omit<NewAccount, 'name'> = {
  webhooks: [],
  allowedIps: ['127.0.0.1'],
  fees: null,
  expiresIn: null,
  maxAmount: null,
  pixKey: null,
  merchantName: null,
  merchantCity: null,
};

/** The secrets of a new account, shown once. */
export interface IssuedAccount {
  accountId: string;
  clientId: string;
  clientSecret: string;
  webhooks: { url: string; secret: string }[];
}

export interface AccountChanges {
  status?: Activity;
  userStatus?: Activity;
  allowedIps?: string[];
  webhooks?: WebhookTarget[];
  maxAmount?: number | null;
  /** Null: it has none of its own any more. */
  pixKey?: string | null;
}

/** Others changed the account all the time; nothing was changed. */
export class AccountBusy extends Error {}

/** How long a change is tried again while others change the account. */
const BUSY_MS = 5_000;
const LONGEST_PAUSE_MS = 250;

export class Accounts {
  readonly #accounts: AccountTable;
  readonly #sealer: Sealer;
  readonly #now: () => number;

  constructor(accounts: AccountTable, sealer: Sealer, now: () => number) {
    this.#accounts = accounts;
    this.#sealer = sealer;
    this.#now = now;
  }

  isEmpty(): Promise<boolean> {
    return this.#accounts.isEmpty();
  }

  /** `by`: who of ops makes it. */
  async create(wanted: NewAccount, by?: By): Promise<IssuedAccount> {
    const { account, issued } = this.prepare(wanted);
    await this.insert(by === undefined ? account : { ...account, createdBy: by });
    return issued;
  }

  /** An account with its secrets, in memory only; `insert` puts it in the store. */
  prepare(wanted: NewAccount): { account: Account; issued: IssuedAccount } {
    const secret = newClientSecret();
    const webhooks = wanted.webhooks.map((target) => ({ target, secret: newWebhookSecret() }));
    const id = newAccountId();
    const createdAt = this.#time();
    const account: Account = {
      id,
      version: 1,
      name: wanted.name,
      clientId: newClientId(),
      secretHash: hashSecret(secret),
      secretSince: createdAt,
      status: 'active',
      userStatus: 'active',
      allowedIps: wanted.allowedIps,
      webhooks: webhooks.map(({ target, secret }) => this.#webhook(target, secret, createdAt)),
      fees: wanted.fees ?? DEMO_FEES,
      expiresIn: wanted.expiresIn,
      maxAmount: wanted.maxAmount,
      pixKey: wanted.pixKey ?? derivedPixKey(id),
      ...(wanted.pixKey === null ? {} : { ownPixKey: true }),
      merchantName: wanted.merchantName ?? wanted.name,
      merchantCity: wanted.merchantCity ?? 'SAO PAULO',
      createdAt,
    };
    const issued: IssuedAccount = {
      accountId: account.id,
      clientId: account.clientId,
      clientSecret: secret,
      webhooks: webhooks.map(({ target, secret }) => ({ url: target.url, secret })),
    };
    return { account, issued };
  }

  async insert(account: Account): Promise<void> {
    if (!(await this.#accounts.put(account))) throw new AccountBusy('the new account id is taken');
  }

  /** The present, ISO 8601. */
  #time(): string {
    return textOfTime(this.#now());
  }

  #sealed(secret: string, since = this.#time()): SealedSecret {
    return { sealed: this.#sealer.seal(secret), until: null, since };
  }

  #webhook(target: WebhookTarget, secret: string, since?: string): Webhook {
    return { ...target, secrets: [this.#sealed(secret, since)] };
  }

  /**
   * Reads, changes what is stored by then, and writes, until nobody else was first; null where there is no such
   * account.
   * @throws AccountBusy after 5 s
   * @throws DoneBefore, AccountMoved
   */
  async #change<Result>(
    id: string,
    action: ChangeBy | undefined,
    change: (account: Account) => { account: Account; result: Result },
  ): Promise<Result | null> {
    const until = performance.now() + BUSY_MS;
    for (let attempt = 0; ; attempt++) {
      const account = await this.#accounts.get(id);
      if (account === null) return null;
      if (action !== undefined && wasMade(account, action.id)) throw new DoneBefore(account);
      if (action !== undefined && isForgotten(account, action)) throw new ChangeForgotten(account);
      if (isMoved(account, action?.version)) throw new AccountMoved(account);
      const changed = change(account);
      const after = action === undefined ? changed.account : withChange(changed.account, action);
      if (await this.#accounts.put({ ...after, version: account.version + 1 })) return changed.result;
      if (performance.now() >= until)
        throw new AccountBusy(`account ${id} is being changed by others all the time: nothing was changed`);
      await pause(Math.min(2 ** attempt, LONGEST_PAUSE_MS));
    }
  }

  /** The account after the changes, and the secrets of URLs that are new. @throws AccountBusy, DoneBefore, AccountMoved */
  set(
    id: string,
    changes: AccountChanges,
    action?: ChangeBy,
  ): Promise<{ account: Account; issued: Record<string, string> } | null> {
    return this.#change(id, action, (before) => {
      const issued: Record<string, string> = {};
      const { webhooks, pixKey, ...rest } = changes;
      const account: Account = { ...before, ...rest };
      // Whoever switches it on again takes it back: a folder that was kept as a backup, for one.
      if (rest.status === 'active' || rest.userStatus === 'active') delete account.handedOver;
      if (pixKey !== undefined) {
        account.pixKey = pixKey ?? derivedPixKey(id);
        if (pixKey === null) delete account.ownPixKey;
        else account.ownPixKey = true;
      }
      if (webhooks !== undefined) {
        account.webhooks = webhooks.map((target) => {
          const known = before.webhooks.find(({ url }) => url === target.url);
          if (known !== undefined) return { ...known, events: target.events };
          const secret = newWebhookSecret();
          issued[target.url] = secret;
          return this.#webhook(target, secret);
        });
      }
      return { account, result: { account, issued } };
    });
  }

  /** A new secret for a URL; null where there is no such account, false where it has no such URL. */
  rotateWebhookSecret(
    id: string,
    url: string,
    action?: ChangeBy,
  ): Promise<{ url: string; secret: string } | false | null> {
    const secret = newWebhookSecret();
    const until = textOfTime(this.#now() + ROTATION_MS);
    return this.#change<{ url: string; secret: string } | false>(id, action, (account) => {
      if (!account.webhooks.some((webhook) => webhook.url === url)) return { account, result: false };
      const webhooks = account.webhooks.map((webhook) => {
        if (webhook.url !== url) return webhook;
        // Two secrets sign during a rotation, never three.
        const old = webhook.secrets.slice(0, 1).map((before) => ({ ...before, until }));
        return { ...webhook, secrets: [this.#sealed(secret), ...old] };
      });
      return { account: { ...account, webhooks }, result: { url, secret } };
    });
  }

  /** A new credential pair; the old one stops working. */
  rotateSecret(id: string, action?: ChangeBy): Promise<{ clientId: string; clientSecret: string } | null> {
    const clientId = newClientId();
    const clientSecret = newClientSecret();
    return this.#change(id, action, (account) => ({
      account: { ...account, clientId, secretHash: hashSecret(clientSecret), secretSince: this.#time() },
      result: { clientId, clientSecret },
    }));
  }
}
