/** Values of options and arguments: each is checked with a word on what is right, and all mistakes are kept. */
import type { WebhookTarget } from '../accounts/manage.ts';
import type { Config } from '../config.ts';
import { type FeePolicy, parseFeePolicy } from '../domain/fees.ts';
import { type FieldError, normalizeTime } from '../domain/message-data.ts';
import type { Language } from '../domain/sentences/refusals.ts';
import { codePoints, isPrintable, isTooDeep, MAX_DEPTH } from '../domain/text.ts';
import { checkedAddresses, checkedPixKey, checkedWebhooks } from '../ops/rules.ts';
import { invalidValues } from './failure.ts';

/** For options that may stand several times. */
export function collect(value: string, before: string[] | false | undefined): string[] {
  return [...(before || []), value];
}

export const LANGUAGE_OPTION = ['--lang <language>', "en or pt (default: the locale's, else en)"] as const;

/** Reads values and keeps what is wrong with them; where something is, the value that it gives is of no use. */
export class Values {
  readonly #details: FieldError[] = [];

  /** @throws Failure with all mistakes, where there are any. */
  check(): void {
    if (this.#details.length > 0) throw invalidValues(this.#details);
  }

  wrong(field: string, message: string): void {
    this.#details.push({ field, message });
  }

  whole(field: string, text: string, min: number, max: number): number {
    const value = Number(text);
    if (/^-?\d{1,16}$/.test(text) && value >= min && value <= max) return value;
    this.wrong(field, `must be a whole number from ${min} to ${max}, not "${text}"`);
    return 0;
  }

  text(field: string, text: string, max: number): string {
    if (text === '' || codePoints(text) > max || !isPrintable(text)) {
      this.wrong(field, `must be 1 to ${max} printable characters`);
    }
    return text;
  }

  /** A time in RFC 3339, as it is stored. */
  time(field: string, text: string): string {
    const time = normalizeTime(text);
    if (time === null) this.wrong(field, `must be a time such as 2026-01-31T12:00:00Z, not "${text}"`);
    return time ?? '';
  }

  choice<Choice extends string>(
    field: string,
    text: string,
    choices: readonly [Choice, ...Choice[]],
  ): Choice {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) this.wrong(field, `must be ${choices.join(' or ')}, not "${text}"`);
    return found ?? choices[0];
  }

  /** What to tell people in: the option's, else the locale's. */
  language(option: string | undefined, { language }: Pick<Config, 'language'>): Language {
    return option === undefined ? language : this.choice('--lang', option, ['en', 'pt']);
  }

  /** A JSON object. */
  object(field: string, text: string): Record<string, unknown> {
    if (isTooDeep(Buffer.from(text))) {
      this.wrong(field, `must be nested at most ${MAX_DEPTH} deep`);
      return {};
    }
    const value = parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    this.wrong(field, 'must be a JSON object');
    return {};
  }

  fees(field: string, text: string): FeePolicy | null {
    const value = parse(text);
    const policy = value === undefined ? 'It is no JSON.' : parseFeePolicy(value);
    if (typeof policy !== 'string') return policy;
    const form = '{"pixIn": {"fixed", "percent", "min", "max"}, "cashout": {...}}';
    this.wrong(field, `must be ${form}: ${policy}`);
    return null;
  }

  pixKey(field: string, text: string): string {
    return checkedPixKey(text, (message) => this.wrong(field, message));
  }

  /** IPv4 addresses or `*`, each once. */
  addresses(field: string, texts: readonly string[]): string[] {
    return checkedAddresses(texts, (message) => this.wrong(field, message));
  }

  /** `URL[,event,...]`: what follows the first comma are names of events. */
  webhooks(field: string, texts: readonly string[], config: Config): WebhookTarget[] {
    const targets = texts.map((text): WebhookTarget => {
      const [url = '', ...events] = text.split(',');
      return { url, events: events.length === 0 ? null : events };
    });
    const rules = { allowPrivate: config.allowPrivateWebhooks };
    return checkedWebhooks(targets, rules, (message) => this.wrong(field, message));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
