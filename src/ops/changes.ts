/** Changes of an account's settings as a program gives them, checked with a word on what is right. */
import { isIPv4 } from 'node:net';
import { type AccountChanges, MAX_WEBHOOKS, type WebhookTarget } from '../accounts/manage.ts';
import type { Activity } from '../domain/account.ts';
import { EVENT_FILTERS } from '../domain/events.ts';
import type { FieldError } from '../domain/message-data.ts';
import { MAX_AMOUNT } from '../domain/money.ts';
import { anyPixKey } from '../domain/people/pix-key.ts';
import { checkWebhookUrl } from '../webhooks/address.ts';

const MOST_ADDRESSES = 100;

export interface ChangeRules {
  /** Webhooks may go to addresses that aren't public. */
  allowPrivate: boolean;
}

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
  const isRight =
    texts !== null &&
    texts.length >= 1 &&
    texts.length <= MOST_ADDRESSES &&
    texts.every((text) => text === '*' || isIPv4(text));
  if (!isRight) mistakes.add('allowedIps', `must be 1 to ${MOST_ADDRESSES} IPv4 addresses or *`);
  return [...new Set(texts ?? [])];
}

function target(
  value: unknown,
  field: string,
  { allowPrivate }: ChangeRules,
  mistakes: Mistakes,
): WebhookTarget {
  const { url, events = null } = (typeof value === 'object' && value !== null ? value : {}) as {
    url?: unknown;
    events?: unknown;
  };
  const given = typeof url === 'string' ? url : '';
  const checked = checkWebhookUrl(given, { allowPrivate });
  if (!checked.ok) mistakes.add(`${field}.url`, checked.message);
  const filter = events === null ? null : textsOf(events);
  const isFilter =
    events === null ||
    (filter !== null && filter.length > 0 && filter.every((event) => EVENT_FILTERS.includes(event)));
  if (!isFilter) mistakes.add(`${field}.events`, `must be null, or some of ${EVENT_FILTERS.join(', ')}`);
  return { url: given, events: filter === null ? null : [...new Set(filter)] };
}

function webhooks(value: unknown, rules: ChangeRules, mistakes: Mistakes): WebhookTarget[] {
  if (!Array.isArray(value) || value.length > MAX_WEBHOOKS) {
    mistakes.add('webhooks', `must be a list of at most ${MAX_WEBHOOKS}`);
    return [];
  }
  const targets = value.map((each, index) => target(each, `webhooks.${index}`, rules, mistakes));
  const known = new Set(targets.map(({ url }) => (URL.canParse(url) ? new URL(url).href : url)));
  if (known.size < targets.length) mistakes.add('webhooks', 'must have each URL once');
  return targets;
}

function maxAmount(value: unknown, mistakes: Mistakes): number | null {
  if (value === null) return null;
  const isRight = Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_AMOUNT;
  if (!isRight) mistakes.add('maxAmount', `must be whole cents from 1 to ${MAX_AMOUNT}, or null`);
  return Number(value);
}

function pixKey(value: unknown, mistakes: Mistakes): string | null {
  if (value === null) return null;
  const key = typeof value === 'string' ? anyPixKey(value) : null;
  if (key !== null) return key;
  mistakes.add(
    'pixKey',
    'must be a CPF, a CNPJ, an e-mail address, a phone (+55...) or a random key (a UUID), or null',
  );
  return null;
}

/** The changes, or every field that breaks its rule; a name that is none is a mistake. */
export function checkChanges(
  given: Record<string, unknown>,
  rules: ChangeRules,
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
