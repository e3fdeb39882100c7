/** What an account's settings may be, whichever door of ops gives them: each that breaks its rule is told in a word. */
import { isIPv4 } from 'node:net';
import { MAX_WEBHOOKS, type WebhookTarget } from '../accounts/manage.ts';
import { EVENT_FILTERS } from '../domain/events.ts';
import { anyPixKey } from '../domain/people/pix-key.ts';
import { checkWebhookUrl } from '../webhooks/address.ts';

export const MAX_ADDRESSES = 100;

export interface SettingsRules {
  /** Webhooks may go to addresses that aren't public. */
  allowPrivate: boolean;
}

/** IPv4 addresses or `*`, each once. */
export function checkedAddresses(texts: readonly string[], wrong: (message: string) => void): string[] {
  if (texts.length === 0 || texts.length > MAX_ADDRESSES) {
    wrong(`must be 1 to ${MAX_ADDRESSES} IPv4 addresses or *, not ${texts.length}`);
    return [];
  }
  for (const text of texts)
    if (text !== '*' && !isIPv4(text)) wrong(`must be an IPv4 address or *, not "${text}"`);
  return [...new Set(texts)];
}

/** URLs that get events, each URL and event once; `wrong` is told of which target it is, or null: of all. */
export function checkedWebhooks(
  targets: readonly WebhookTarget[],
  { allowPrivate }: SettingsRules,
  wrong: (message: string, of: { index: number; part: 'url' | 'events' } | null) => void,
): WebhookTarget[] {
  if (targets.length > MAX_WEBHOOKS) {
    wrong(`may be at most ${MAX_WEBHOOKS} URLs, not ${targets.length}`, null);
    return [];
  }
  const seen = new Set<string>();
  return targets.map(({ url, events }, index) => {
    const checked = checkWebhookUrl(url, { allowPrivate });
    if (!checked.ok) wrong(`"${url}": ${checked.message}`, { index, part: 'url' });
    const href = URL.canParse(url) ? new URL(url).href : url;
    if (seen.has(href)) wrong(`has ${url} twice; each URL may stand once`, null);
    seen.add(href);
    const unknown = events?.filter((event) => !EVENT_FILTERS.includes(event)) ?? [];
    if (unknown.length > 0 || events?.length === 0) {
      const named = unknown.length === 0 ? 'no event' : `unknown events (${unknown.join(', ')})`;
      wrong(`has ${named}; known are ${EVENT_FILTERS.join(', ')}`, { index, part: 'events' });
    }
    return { url, events: events === null ? null : [...new Set(events)] };
  });
}

/** A Pix key as it is stored; the text itself where it is none. */
export function checkedPixKey(text: string, wrong: (message: string) => void): string {
  const key = anyPixKey(text);
  if (key === null)
    wrong('must be a Pix key: a CPF, a CNPJ, an e-mail address, a phone (+55...) or a random key (a UUID)');
  return key ?? text;
}
