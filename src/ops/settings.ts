/** Ops make accounts, change their settings and rotate their secrets. */
import {
  type AccountChanges,
  type Accounts,
  DoneBefore,
  type IssuedAccount,
  type NewAccount,
} from '../accounts/manage.ts';
import { type Acting, type OpsParts, record, tell } from './acting.ts';

type Parts = OpsParts & { accounts: Accounts };

/** A new account's journal stays empty: its settings say who made it. */
export async function createAccount(
  parts: Parts,
  wanted: NewAccount,
  acting: Acting,
): Promise<IssuedAccount> {
  const issued = await parts.accounts.create(wanted, acting.by);
  tell(parts, 'create', [issued.accountId], acting);
  return issued;
}

/** The account after the changes, and the secrets of URLs that are new; null where there is no such account. @throws ActionRefused */
export async function changeSettings(
  parts: Parts,
  id: string,
  changes: AccountChanges,
  acting: Acting,
): ReturnType<Accounts['set']> {
  if ((await parts.store.accounts.get(id)) === null) return null;
  const { applied } = await record(parts, id, { action: 'settings', asked: changes }, changes, acting);
  try {
    const changed = await parts.accounts.set(id, changes, { id: acting.id, applied });
    tell(parts, 'settings', [id], acting);
    return changed;
  } catch (error) {
    // Only where it is known to have been made: of many changes the account keeps the last ones alone.
    if (!(error instanceof DoneBefore) || error.account.lastChanges?.includes(acting.id) !== true)
      throw error;
    return { account: error.account, issued: {} };
  }
}

/** A new credential pair; null where there is no such account. @throws ActionRefused, DoneBefore */
export async function rotateSecret(
  parts: Parts,
  id: string,
  acting: Acting,
): ReturnType<Accounts['rotateSecret']> {
  if ((await parts.store.accounts.get(id)) === null) return null;
  const data = { secret: 'client' };
  const { applied } = await record(parts, id, { action: 'rotate', asked: data }, data, acting);
  const rotated = await parts.accounts.rotateSecret(id, { id: acting.id, applied });
  tell(parts, 'rotate', [id], acting);
  return rotated;
}

/** A new secret for a URL; null where there is no such account, false where it has no such URL. @throws ActionRefused, DoneBefore */
export async function rotateWebhookSecret(
  parts: Parts,
  id: string,
  url: string,
  acting: Acting,
): ReturnType<Accounts['rotateWebhookSecret']> {
  const account = await parts.store.accounts.get(id);
  if (account === null) return null;
  if (!account.webhooks.some((webhook) => webhook.url === url)) return false;
  const data = { secret: 'webhook', url };
  const { applied } = await record(parts, id, { action: 'rotate', asked: data }, data, acting);
  const rotated = await parts.accounts.rotateWebhookSecret(id, url, { id: acting.id, applied });
  tell(parts, 'rotate', [id], acting);
  return rotated;
}
