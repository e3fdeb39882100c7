/** `bank check`: whether what was agreed with the bank works, one line each. */
import type { BankConnection } from './connection.ts';
import { masked } from './notes.ts';
import { scopesOf } from './profile.ts';
import type { BankSettings } from './settings.ts';
import { type ClientIdentity, validity } from './wire/identity.ts';
import { CallFailed } from './wire/outcome.ts';
import type { Token } from './wire/token.ts';

export interface Check {
  /** `token`, `scopes`, `certificate`, `clock`, `key <masked>`, `webhook <masked>`. */
  name: string;
  ok: boolean;
  detail: string;
}

export interface CheckOptions {
  connection: BankConnection;
  settings: BankSettings;
  /** The keys that receive. */
  keys: readonly string[];
  /** Registers the webhook where another one is registered, or none. */
  fix: boolean;
  now(): number;
}

const CLOCK_MS = 30_000;
const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

function textOf(error: unknown): string {
  if (!(error instanceof CallFailed)) throw error;
  const { message, concern } = error;
  return concern === null ? message : `${message}: look at the ${WHERE[concern]}`;
}

const WHERE = {
  credentials: 'client id and secret, and at the certificate that belongs to them',
  scope: 'scopes that the contract gives',
  certificate: 'client certificate',
  path: "bank's base and paths, BANK_URL for one",
} as const;

function certificateCheck(identity: ClientIdentity, now: number): Check {
  const { from, to } = validity(identity);
  const check = (ok: boolean, detail: string): Check => ({ name: 'certificate', ok, detail });
  const until = new Date(to).toISOString();
  if (now < from) return check(false, `is good only from ${new Date(from).toISOString()} on`);
  if (now >= to) return check(false, `has expired at ${until}`);
  const days = Math.floor((to - now) / DAY_MS);
  return check(true, to - now < SOON_MS ? `expires in ${days} days, at ${until}` : `is good until ${until}`);
}

function scopesCheck(token: Token | null, wanted: readonly string[]): Check {
  const check = (ok: boolean, detail: string): Check => ({ name: 'scopes', ok, detail });
  if (token === null) return check(false, 'nobody knows without a token');
  if (token.scopes === null) return check(true, "the bank doesn't say which it gives");
  const missing = wanted.filter((scope) => token.scopes?.includes(scope) !== true);
  return missing.length === 0 ? check(true, 'all are there') : check(false, `missing: ${missing.join(', ')}`);
}

function clockCheck(token: Token | null): Check {
  const check = (ok: boolean, detail: string): Check => ({ name: 'clock', ok, detail });
  if (token === null) return check(false, 'nobody knows without a token');
  if (token.clockAheadMs === null) return check(true, "the bank doesn't tell its time");
  const seconds = Math.round(Math.abs(token.clockAheadMs) / 1000);
  const detail = `${seconds} s ${token.clockAheadMs > 0 ? 'behind' : 'ahead of'} the bank's`;
  return check(Math.abs(token.clockAheadMs) <= CLOCK_MS, seconds === 0 ? "agrees with the bank's" : detail);
}

async function tokenCheck({ client }: BankConnection): Promise<Check> {
  try {
    await client.tokens.get();
    return { name: 'token', ok: true, detail: 'the bank gives one' };
  } catch (error) {
    return { name: 'token', ok: false, detail: textOf(error) };
  }
}

async function webhookCheck(
  { connection, settings, fix }: CheckOptions,
  key: string,
  registered: string | null,
): Promise<Check> {
  const check = (ok: boolean, detail: string): Check => ({ name: `webhook ${masked(key)}`, ok, detail });
  const { webhookUrl } = settings;
  const there = registered === null ? 'none is registered' : `${registered} is registered`;
  if (webhookUrl === null) return check(true, `${there}; BANK_WEBHOOK_URL names none`);
  if (registered === webhookUrl) return check(true, there);
  if (!fix) return check(false, `${there}, not ${webhookUrl}: bank check --fix registers it`);
  try {
    await connection.hooks.register(key, webhookUrl);
    return check(true, `${webhookUrl} was registered; before, ${there}`);
  } catch (error) {
    return check(false, `${there}, and ${webhookUrl} can't be: ${textOf(error)}`);
  }
}

async function keyChecks(options: CheckOptions, key: string): Promise<Check[]> {
  const name = `key ${masked(key)}`;
  try {
    const registered = await options.connection.hooks.registered(key);
    return [{ name, ok: true, detail: 'is ours' }, await webhookCheck(options, key, registered)];
  } catch (error) {
    return [{ name, ok: false, detail: textOf(error) }];
  }
}

/** All checks, in order; the bank is asked for a token once, and once a key. */
export async function checkBank(options: CheckOptions): Promise<Check[]> {
  const { connection, settings, keys, now } = options;
  const checks = [await tokenCheck(connection)];
  const token = connection.client.tokens.current;
  checks.push(scopesCheck(token, scopesOf(connection.profile)));
  checks.push(certificateCheck(settings.identity, now()), clockCheck(token));
  for (const key of keys) checks.push(...(await keyChecks(options, key)));
  return checks;
}
