/** Ops make accounts, change their settings and rotate their secrets. */
import {
  type AccountChanges,
  AccountMoved,
  type Accounts,
  type ChangeBy,
  DoneBefore,
  type IssuedAccount,
  isMoved,
  type NewAccount,
} from '../accounts/manage.ts';
import type { Account } from '../domain/account.ts';
import { inTurn } from '../waiting.ts';
import { type Acting, type Intent, isRecorded, type OpsParts, record, tell } from './acting.ts';

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

/**
 * An action's entry in an account's journal. `version`: of the account that the action is for, where anybody has looked at
 * one; for any other it is refused, and has no entry, unless another process is first in between.
 * @throws ActionRefused, AccountMoved
 */
async function recordOf(
  parts: Parts,
  account: Account,
  version: number | null,
  intent: Intent,
  acting: Acting,
): Promise<ChangeBy> {
  const { id } = account;
  if (isMoved(account, version) && !(await isRecorded(parts, id, intent, acting)))
    throw new AccountMoved(account);
  const { applied } = await record(parts, id, intent, intent.asked, acting);
  return { id: acting.id, applied, version };
}

/**
 * The account after the changes, and the secrets of URLs that are new; null where there is no such account. `version`:
 * as `recordOf` has it.
 * @throws ActionRefused, AccountMoved
 */
export function changeSettings(
  parts: Parts,
  id: string,
  changes: AccountChanges,
  acting: Acting,
  version: number | null = null,
): ReturnType<Accounts['set']> {
  return inTurn(`account ${id}`, async () => {
    const account = await parts.store.accounts.get(id);
    if (account === null) return null;
    const change = await recordOf(parts, account, version, { action: 'settings', asked: changes }, acting);
    try {
      const changed = await parts.accounts.set(id, changes, change);
      tell(parts, 'settings', [id], acting);
      return changed;
    } catch (error) {
      // Only where it is known to have been made: of many changes the account keeps the last ones alone.
      if (!(error instanceof DoneBefore) || error.account.lastChanges?.includes(acting.id) !== true)
        throw error;
      return { account: error.account, issued: {} };
    }
  });
}

/** A new credential pair; null where there is no such account. @throws ActionRefused, AccountMoved, DoneBefore */
export function rotateSecret(
  parts: Parts,
  id: string,
  acting: Acting,
  version: number | null = null,
): ReturnType<Accounts['rotateSecret']> {
  return inTurn(`account ${id}`, async () => {
    const account = await parts.store.accounts.get(id);
    if (account === null) return null;
    const intent = { action: 'rotate', asked: { secret: 'client' } } as const;
    const change = await recordOf(parts, account, version, intent, acting);
    const rotated = await parts.accounts.rotateSecret(id, change);
    tell(parts, 'rotate', [id], acting);
    return rotated;
  });
}

/**
 * A new secret for a URL; null where there is no such account, false where it has no such URL.
 * @throws ActionRefused, AccountMoved, DoneBefore
 */
export function rotateWebhookSecret(
  parts: Parts,
  id: string,
  url: string,
  acting: Acting,
  version: number | null = null,
): ReturnType<Accounts['rotateWebhookSecret']> {
  return inTurn(`account ${id}`, async () => {
    const account = await parts.store.accounts.get(id);
    if (account === null) return null;
    if (!account.webhooks.some((webhook) => webhook.url === url)) return false;
    const intent = { action: 'rotate', asked: { secret: 'webhook', url } } as const;
    const change = await recordOf(parts, account, version, intent, acting);
    const rotated = await parts.accounts.rotateWebhookSecret(id, url, change);
    tell(parts, 'rotate', [id], acting);
    return rotated;
  });
}
