/** Changes of an account's settings as a program gives them, checked with a word on what is right. */
import type { AccountChanges, WebhookTarget } from '../accounts/manage.ts';
import type { Activity } from '../domain/account.ts';
import type { FieldError } from '../domain/message-data.ts';
import { MAX_AMOUNT } from '../domain/money.ts';
import { checkedAddresses, checkedPixKey, checkedWebhooks, type SettingsRules } from './rules.ts';

/** Keeps what is wrong. */
class Mistakes {
  readonly details: FieldError[] = [];

  add(field: string, message: string): void {
    this.details.push({ field, message });
  }
}

function activity(field: string, value: unknown, mistakes: Mistakes): Activity {
  if (value === 'active' || value === 'inactive') return value;
  mistakes.add(field, 'must be active or inactive');
  return 'active';
}

function textsOf(value: unknown): string[] | null {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null;
}

function addresses(value: unknown, mistakes: Mistakes): string[] {
  const texts = textsOf(value);
  if (texts !== null) return checkedAddresses(texts, (message) => mistakes.add('allowedIps', message));
  mistakes.add('allowedIps', 'must be a list of IPv4 addresses or *');
  return [];
}

function target(value: unknown, field: string, mistakes: Mistakes): WebhookTarget {
  const { url, events = null } = (typeof value === 'object' && value !== null ? value : {}) as {
    url?: unknown;
    events?: unknown;
  };
  const filter = events === null ? null : textsOf(events);
  if (events !== null && filter === null)
    mistakes.add(`${field}.events`, 'must be null, or a list of names of events');
  return { url: typeof url === 'string' ? url : '', events: filter };
}

function webhooks(value: unknown, rules: SettingsRules, mistakes: Mistakes): WebhookTarget[] {
  if (!Array.isArray(value)) {
    mistakes.add('webhooks', 'must be a list');
    return [];
  }
  const targets = value.map((each, index) => target(each, `webhooks.${index}`, mistakes));
  return checkedWebhooks(targets, rules, (message, of) =>
    mistakes.add(of === null ? 'webhooks' : `webhooks.${of.index}.${of.part}`, message),
  );
}

function maxAmount(value: unknown, mistakes: Mistakes): number | null {
  if (value === null) return null;
  const isRight = Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_AMOUNT;
  if (!isRight) mistakes.add('maxAmount', `must be whole cents from 1 to ${MAX_AMOUNT}, or null`);
  return Number(value);
}

function pixKey(value: unknown, mistakes: Mistakes): string | null {
  if (value === null) return null;
  return checkedPixKey(typeof value === 'string' ? value : '', (message) => mistakes.add('pixKey', message));
}

/** The changes, or every field that breaks its rule; a name that is none is a mistake. */
export function checkChanges(
  given: Record<string, unknown>,
  rules: SettingsRules,
): { ok: true; changes: AccountChanges } | { ok: false; details: FieldError[] } {
  const mistakes = new Mistakes();
  const changes: AccountChanges = {};
  for (const [name, value] of Object.entries(given)) {
    if (name === 'status' || name === 'userStatus') changes[name] = activity(name, value, mistakes);
    else if (name === 'allowedIps') changes.allowedIps = addresses(value, mistakes);
    else if (name === 'webhooks') changes.webhooks = webhooks(value, rules, mistakes);
    else if (name === 'maxAmount') changes.maxAmount = maxAmount(value, mistakes);
    else if (name === 'pixKey') changes.pixKey = pixKey(value, mistakes);
    else mistakes.add(name, 'is not a known field');
  }
  if (Object.keys(given).length === 0) mistakes.add('', 'nothing is to be set');
  return mistakes.details.length > 0 ? { ok: false, details: mistakes.details } : { ok: true, changes };
}
