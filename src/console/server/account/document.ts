/** One account as the console shows it: its balances, its settings without secrets, and how its URLs do. */
import type { Account, SealedSecret } from '../../../domain/account.ts';
import type { StoreReads } from '../../../engine/store.ts';
import type { AccountDocument, AccountUrl } from '../../shapes/account.ts';
import type { UrlHealth } from '../../shapes/deliveries.ts';
import { ConsoleError } from '../errors.ts';
import { mask } from '../masking.ts';

/** An account's settings. @throws ConsoleError where there are none */
export async function accountOf({ accounts }: StoreReads, id: string): Promise<Account> {
  const account = await accounts.get(id);
  if (account === null) throw new ConsoleError('ACCOUNT_NOT_FOUND', 'There is no such account.');
  return account;
}

/** When a secret was made, where that is known: former builds kept it only by not having changed the account. */
function sinceOf({ version, createdAt }: Account, since: string | undefined): string | null {
  return since ?? (version === 1 ? createdAt : null);
}

function signs({ until }: SealedSecret, now: number): boolean {
  return until === null || Date.parse(until) > now;
}

function urlsOf(account: Account, health: readonly UrlHealth[], now: number): AccountUrl[] {
  return account.webhooks.map(({ url, events, secrets }) => ({
    url,
    events,
    secrets: secrets
      .filter((secret) => signs(secret, now))
      .map(({ since, until }) => ({ since: sinceOf(account, since), until })),
    health: health.find((each) => each.url === url) ?? null,
  }));
}

/** All but whether its journal adds up. @throws ConsoleError where there is no such account */
export async function accountDocument(
  reads: StoreReads,
  id: string,
  healthOf: (account: string) => Promise<readonly UrlHealth[]>,
  now: number,
): Promise<Omit<AccountDocument, 'verified'>> {
  const account = await accountOf(reads, id);
  const [{ seq, at, hash, balances }, health] = await Promise.all([reads.journal.head(id), healthOf(id)]);
  const { version, name, clientId, status, userStatus, createdAt, allowedIps, fees, expiresIn, maxAmount } =
    account;
  const { pixKey, merchantName, merchantCity } = account;
  return {
    ...{ id, version, name: mask(name), clientId, status, userStatus, createdAt, allowedIps, balances },
    head: seq === 0 ? null : { seq, at, hash },
    secret: { since: sinceOf(account, account.secretSince) },
    urls: urlsOf(account, health, now),
    settings: mask({ fees, expiresIn, maxAmount, pixKey, merchantName, merchantCity }),
  };
}
