/** Ops make accounts, change their settings and rotate their secrets. */
import {
  AccountMoved,
  type ChangeBy,
  DoneBefore,
  isMoved,
  keepsAll,
  wasMade,
} from '../accounts/last-changes.ts';
import type { AccountChanges, Accounts, IssuedAccount, NewAccount } from '../accounts/manage.ts';
import type { Account } from '../domain/account.ts';
import { timeOfText } from '../domain/time.ts';
import type { Batch } from '../engine/journal.ts';
import { firstSince } from '../engine/store/walks.ts';
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
 * An action's entry in an account's journal, which names the change before it (`after`): as long as the account keeps
 * that one's id, it keeps this one's. `version`: of the account that the action is for, where anybody has looked at one;
 * for any other it is refused, and has no entry, unless another process is first in between.
 * @throws ActionRefused, AccountMoved, DoneBefore
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
  const last = account.lastChanges?.at(-1) ?? null;
  const data = { ...intent.asked, ...(last === null ? {} : { after: last }) };
  const { at, applied } = await record(parts, id, intent, data, acting);
  if (wasMade(account, acting.id)) throw new DoneBefore(account);
  const isNotMade = applied || keepsAll(account);
  const after = isNotMade ? last : await changeBefore(parts, id, acting.id, timeOfText(at));
  return { id: acting.id, after, version };
}

/** The change before an action, as its entry of a time (ms) has it; null where there was none, or a former build wrote it. */
async function changeBefore(
  { store: { journal } }: Parts,
  account: string,
  id: string,
  time: number,
): Promise<string | null> {
  const { seq: last } = await journal.head(account);
  const batchAt = async (seq: number): Promise<Batch | undefined> =>
    (await journal.batches(account, [seq]))[0];
  for (let seq = await firstSince(batchAt, last, time); seq <= last; seq++) {
    const { entries = [] } = (await batchAt(seq)) ?? {};
    const found = entries.find(({ message }) => message.type === 'OPS' && message.id === id);
    if (found !== undefined) {
      const { data } = found.message.data as { data: { after?: string } };
      return data.after ?? null;
    }
    if (entries.some(({ at }) => timeOfText(at) > time)) break;
  }
  return null;
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
    try {
      const change = await recordOf(parts, account, version, { action: 'settings', asked: changes }, acting);
      const changed = await parts.accounts.set(id, changes, change);
      tell(parts, 'settings', [id], acting);
      return changed;
    } catch (error) {
      if (!(error instanceof DoneBefore)) throw error;
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
