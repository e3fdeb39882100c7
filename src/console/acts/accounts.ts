/** Operators adjust balances, change settings and rotate secrets: by the doors of the command line. */
import { validationError } from '../../api/errors.ts';
import type { Account } from '../../domain/account.ts';
import { adjust as adjustBalance } from '../../engine/ops/adjust.ts';
import { checkChanges } from '../../ops/changes.ts';
import { changeSettings, rotateSecret, rotateWebhookSecret } from '../../ops/settings.ts';
import { ConsoleError } from '../server/errors.ts';
import type { PresentSettings } from '../shapes/acts.ts';
import { type Doing, noAccount } from './parts.ts';
import type { DeedOf } from './wishes.ts';

export const adjust: Doing<DeedOf<'adjust'>> = async (parts, deed, { id, by }) => {
  const { account, amount, allowNegative } = deed;
  if ((await parts.store.accounts.get(account)) === null) throw noAccount();
  const reason = by.reason ?? '';
  const adjustment = { id, amount, reason, allowNegative: allowNegative === true, by };
  const answer = await adjustBalance(parts.engine, account, adjustment);
  if (answer.kind === 'notAdjusted') {
    const extra = { balance: answer.balance };
    throw new ConsoleError('ADJUSTMENT_REFUSED', `Nothing was changed: ${answer.reason}.`, {}, extra);
  }
  if (answer.kind !== 'adjusted') throw new Error(`an adjustment was answered ${answer.kind}`);
  const { balance, applied } = answer;
  return { account, balance, applied };
};

/** What the dialog shows of an account, as it is. */
export function presentOf({
  version,
  status,
  userStatus,
  allowedIps,
  webhooks,
  maxAmount,
}: Account): PresentSettings {
  const urls = webhooks.map(({ url, events }) => ({ url, events }));
  return { version, status, userStatus, allowedIps, urls, maxAmount };
}

export const change: Doing<DeedOf<'settings'>> = async (parts, { account, changes, version }, acting) => {
  const checked = checkChanges(changes, parts);
  if (!checked.ok) throw validationError(checked.details);
  const changed = await changeSettings(parts, account, checked.changes, acting, version);
  if (changed === null) throw noAccount();
  const issued = Object.entries(changed.issued).map(([url, secret]) => ({ url, secret }));
  return { account, issued };
};

export const rotate: Doing<DeedOf<'rotate'>> = async (parts, { account, url, version }, acting) => {
  const rotated =
    url === null
      ? await rotateSecret(parts, account, acting, version)
      : await rotateWebhookSecret(parts, account, url, acting, version);
  if (rotated === null) throw noAccount();
  if (rotated === false) throw new ConsoleError('WEBHOOK_NOT_FOUND', 'The account has no such URL.');
  return rotated;
};
