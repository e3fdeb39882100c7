/** Configuration: the only file that reads the environment. All mistakes are listed at once. */
import { isIPv4 } from 'node:net';
import { availableParallelism } from 'node:os';
import { parseKey } from './accounts/secrets-key.ts';
import { BANK_VARIABLES, type BankSettings, readBankSettings } from './bank/api-pix/settings.ts';
import type { BankChoice } from './bank/open.ts';
import { type ConsoleSettings, readConsoleSettings } from './console/settings.ts';
import type { Language } from './domain/sentences/refusals.ts';
import { isWebhookSecret } from './domain/webhook-signature.ts';
import { mistakesIn } from './store/connection-string.ts';

export interface Config extends BankChoice {
  port: number;
  host: string;
  /** Threads that serve HTTP; 0: the engine's own does. */
  httpThreads: number;
  dataDir: string;
  mongodbUri: string | null;
  logLevel: string;
  sandboxDelayMs: number;
  allowPrivateWebhooks: boolean;
  trustedProxyHops: number;
  /** Seconds. */
  chargeExpiryS: number;
  stuckAfterS: number;
  bankCallbackSecret: string | null;
  /** 32 bytes; null: the data folder's own. */
  secretsKey: Buffer | null;
  /** Of the console and the metrics; null: neither is served. */
  adminPort: number | null;
  /** Nobody has named the place: where it can't be listened on, the API is served all the same. */
  adminPortIsDefault: boolean;
  adminHost: string;
  /** Whether the console is served beside the metrics. */
  console: boolean;
  /** What stands before the console. */
  consoleSettings: ConsoleSettings;
  /** 1 is the contract's schedule. */
  webhookRetryScale: number;
  /** What commands tell people in, as far as they can. */
  language: Language;
}

/** Every mistake of the environment, one sentence each. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`);
    this.mistakes = mistakes;
  }
}

/** Where the console is served, unless somebody says otherwise. */
const CONSOLE_PORT = 3001;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const CONTROL_CHARACTERS = /\p{Cc}/gu;

class Reader {
  readonly mistakes: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /**
   * An empty variable counts as unset. A file of variables with Windows line ends leaves a carriage return behind each
   * value: a folder of that name would be a new, empty store.
   */
  text(name: string): string | null {
    const given = this.#env[name] ?? '';
    const value = given.replace(CONTROL_CHARACTERS, '');
    const mistake = `${name} must not have control characters, such as the end of a Windows line`;
    if (value !== given && !this.mistakes.includes(mistake)) this.mistakes.push(mistake);
    return value === '' ? null : value;
  }

  /** What stands between the commas, without what is empty; null where the variable is unset. */
  list(name: string): string[] | null {
    const parts = this.text(name)?.split(',') ?? null;
    return parts?.map((part) => part.trim()).filter((part) => part !== '') ?? null;
  }

  /** A name or an address to listen on: whether there is such a one, whoever listens finds out. */
  host(name: string): string | null {
    const text = this.text(name);
    if (text !== null && /[\s/]/.test(text))
      this.mistakes.push(`${name} must be the name or the address of a host, not "${text}"`);
    return text;
  }

  /** Blanks at an end are a slip: a folder of that name would be a new, empty store. */
  folder(name: string): string | null {
    const text = this.text(name);
    if (text !== null && text !== text.trim())
      this.mistakes.push(`${name} must be a folder's name without blanks at its ends, not "${text}"`);
    return text;
  }

  whole<Default extends number | null>(
    name: string,
    otherwise: Default,
    min: number,
    max: number,
  ): number | Default {
    const text = this.text(name);
    if (text === null) return otherwise;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    this.mistakes.push(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
    return otherwise;
  }

  choice<Choice extends string>(name: string, otherwise: Choice, choices: readonly Choice[]): Choice {
    const text = this.text(name);
    if (text === null) return otherwise;
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    this.mistakes.push(`${name} must be ${choices.join(' or ')}, not "${text}"`);
    return otherwise;
  }

  /** A value that must not be shown, since it is a secret. `parse` gives null for a text that has not the form. */
  secret<Value>(name: string, parse: (text: string) => Value | null, form: string): Value | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = parse(text);
    if (value === null) this.mistakes.push(`${name} must be ${form}`);
    return value;
  }
}

function mongoUri(reader: Reader): string | null {
  const text = reader.text('MONGODB_URI');
  if (text !== null) reader.mistakes.push(...mistakesIn(text).map((mistake) => `MONGODB_URI ${mistake}`));
  return text;
}

function callbackSecret(text: string): string | null {
  return text.startsWith('whsec_') && isWebhookSecret(text) ? text : null;
}

function retryScale(reader: Reader): number {
  const text = reader.text('WEBHOOK_RETRY_SCALE');
  if (text === null) return 1;
  const value = Number(text);
  if (/^\d+(\.\d+)?(e-?\d+)?$/i.test(text) && value > 0 && value <= 1) return value;
  reader.mistakes.push(`WEBHOOK_RETRY_SCALE must be a number above 0 and at most 1, not "${text}"`);
  return 1;
}

/** Whether several sockets of a process may listen on one port: Node's newer versions let them on Linux. */
export function canSharePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isThere = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  return isThere && process.platform === 'linux';
}

/** The language of the locale: of the variables the first one that is set says it, as for other programs. */
function languageOf(reader: Reader): Language {
  const locale = reader.text('LC_ALL') ?? reader.text('LC_MESSAGES') ?? reader.text('LANG') ?? '';
  return /^pt(?![a-z])/i.test(locale) ? 'pt' : 'en';
}

/** Whether only this machine reaches an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** Whether a database runs where this process does, as its connection string tells: by no name but the machine's own. */
function isHere(mongodbUri: string): boolean {
  const hosts = /^mongodb:\/\/(?:[^@/]*@)?([^/?]+)/.exec(mongodbUri)?.[1] ?? '';
  return hosts.split(',').every((host) => {
    const name = host
      .toLowerCase()
      .replace(/:\d+$/, '')
      .replace(/^\[(.*)\]$/, '$1');
    return isLoopback(name) || name.endsWith('.sock');
  });
}

/** One, where it has a core beside the engine's, and beside that of a database on this machine. */
function httpThreads(reader: Reader, mongodbUri: string | null): number {
  const others = mongodbUri !== null && isHere(mongodbUri) ? 2 : 1;
  const count = reader.whole('HTTP_THREADS', availableParallelism() > others ? 1 : 0, 0, 16);
  if (count > 1 && !canSharePort())
    reader.mistakes.push(
      `HTTP_THREADS above 1 needs Node 22.12, 23.1 or later on Linux, not ${process.versions.node} on ${process.platform}`,
    );
  return count;
}

function bankOf(reader: Reader): BankChoice {
  const bank = reader.choice('BANK', 'sandbox', ['sandbox', 'api-pix'] as const);
  const [named] = BANK_VARIABLES.filter((name) => reader.text(name) !== null);
  if (named !== undefined && reader.text('BANK') === null)
    reader.mistakes.push(`BANK must be set with ${named}: api-pix for a real bank, sandbox for play money`);
  return { bank, bankSettings: bank === 'sandbox' ? null : readBankSettings(reader) };
}

/** Two doors at one place: whichever opened second would be told that another process listens there. */
function checkPorts(reader: Reader, config: Config): void {
  const { port, host, adminPort, adminPortIsDefault, adminHost, bankSettings } = config;
  const doors = [
    { name: 'PORT', port, host },
    { name: 'ADMIN_PORT', port: adminPortIsDefault ? null : adminPort, host: adminHost },
    { name: 'BANK_CALLBACK_PORT', port: null, host: '', ...bankSettings?.callback },
  ].filter((door) => door.port !== null && door.port !== 0);
  for (const [index, door] of doors.entries()) {
    const other = doors.slice(0, index).find((each) => each.port === door.port && meet(each.host, door.host));
    if (other !== undefined) reader.mistakes.push(`${door.name} must be another port than ${other.name}`);
  }
}

/** Whether one port of both addresses is one place: they are the same, or one of them is all, IPv4's or both kinds'. */
function meet(one: string, other: string): boolean {
  if (one === other || one === '::' || other === '::') return true;
  return [one, other].includes('0.0.0.0') && !`${one}${other}`.includes(':');
}

/** What says how the console and the metrics are served says nothing where no port does. */
function checkAdmin(reader: Reader, { adminPort, console: hasConsole }: Config): void {
  if (adminPort !== null || reader.text('ADMIN_PORT') !== null) return;
  for (const name of ['ADMIN_HOST', ...(hasConsole ? ['CONSOLE_ORIGIN', 'CONSOLE_PROXY'] : [])])
    if (reader.text(name) !== null)
      reader.mistakes.push(`${name} needs ADMIN_PORT: without it nothing is served there`);
}

/**
 * Reads the configuration.
 * @throws ConfigError with every mistake.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const reader = new Reader(env);
  const { bank, bankSettings } = bankOf(reader);
  const privateWebhooks = reader.choice('ALLOW_PRIVATE_WEBHOOKS', bank === 'sandbox' ? 'true' : 'false', [
    'true',
    'false',
  ] as const);
  const mongodbUri = mongoUri(reader);
  const secretsKey = reader.secret('SECRETS_KEY', parseKey, '32 bytes in base64');
  if (mongodbUri !== null && reader.text('SECRETS_KEY') === null)
    reader.mistakes.push(
      'SECRETS_KEY must be set with MONGODB_URI: all processes share it (32 bytes in base64, as openssl rand -base64 32 makes them)',
    );
  const hasConsole = reader.choice('CONSOLE', 'on', ['on', 'off'] as const) === 'on';
  const adminPort = reader.whole('ADMIN_PORT', null, 0, 65_535);
  const adminHost = reader.host('ADMIN_HOST');
  const callbackForm = 'a Standard Webhooks secret: whsec_ and 24 to 64 bytes in base64';
  const config: Config = {
    port: reader.whole('PORT', 3000, 0, 65_535),
    host: reader.host('HOST') ?? (bank === 'sandbox' ? '127.0.0.1' : '0.0.0.0'),
    httpThreads: httpThreads(reader, mongodbUri),
    dataDir: reader.folder('DATA_DIR') ?? './data',
    mongodbUri,
    logLevel: reader.choice('LOG_LEVEL', 'info', LOG_LEVELS),
    bank,
    bankSettings,
    sandboxDelayMs: reader.whole('SANDBOX_DELAY_MS', 500, 0, 86_400_000),
    allowPrivateWebhooks: privateWebhooks === 'true',
    trustedProxyHops: reader.whole('TRUSTED_PROXY_HOPS', 0, 0, 32),
    chargeExpiryS: reader.whole('CHARGE_EXPIRY_S', 86_400, 1, 2_592_000),
    stuckAfterS: reader.whole('STUCK_AFTER_S', 300, 1, 31_536_000),
    bankCallbackSecret:
      bank === 'sandbox' ? reader.secret('BANK_CALLBACK_SECRET', callbackSecret, callbackForm) : null,
    secretsKey,
    adminPort: adminPort ?? (bank === 'sandbox' && hasConsole ? CONSOLE_PORT : null),
    adminPortIsDefault: adminPort === null && adminHost === null,
    adminHost: adminHost ?? '127.0.0.1',
    console: hasConsole,
    consoleSettings: readConsoleSettings(reader),
    webhookRetryScale: retryScale(reader),
    language: languageOf(reader),
  };
  checkPorts(reader, config);
  checkAdmin(reader, config);
  if (reader.mistakes.length > 0) throw new ConfigError(reader.mistakes);
  return config;
}

/**
 * Reads what the commands about the bank need; null with the sandbox bank.
 * @throws ConfigError with every mistake.
 */
export function readBankConfig(env: NodeJS.ProcessEnv = process.env): BankSettings | null {
  const reader = new Reader(env);
  const { bankSettings } = bankOf(reader);
  if (reader.mistakes.length > 0) throw new ConfigError(reader.mistakes);
  return bankSettings;
}
