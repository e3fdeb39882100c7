/** Configuration: the only file that reads the environment. All mistakes are listed at once. */
import { parseKey } from './accounts/secrets-key.ts';
import { isWebhookSecret } from './domain/webhook-signature.ts';

export interface Config {
  port: number;
  host: string;
  dataDir: string;
  mongodbUri: string | null;
  logLevel: string;
  bank: 'sandbox';
  sandboxDelayMs: number;
  allowPrivateWebhooks: boolean;
  trustedProxyHops: number;
  /** Seconds. */
  chargeExpiryS: number;
  stuckAfterS: number;
  bankCallbackSecret: string | null;
  /** 32 bytes; null: the data folder's own. */
  secretsKey: Buffer | null;
  adminPort: number | null;
  adminHost: string;
  /** 1 is the contract's schedule. */
  webhookRetryScale: number;
}

/** Every mistake of the environment, one sentence each. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`);
    this.mistakes = mistakes;
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

class Reader {
  readonly mistakes: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** An empty variable counts as unset. */
  text(name: string): string | null {
    const value = this.#env[name];
    return value === undefined || value === '' ? null : value;
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

function mongoUri(text: string): string | null {
  return /^mongodb(\+srv)?:\/\/[^\s/]+/.test(text) ? text : null;
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

/**
 * Reads the configuration.
 * @throws ConfigError with every mistake.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const reader = new Reader(env);
  const bank = reader.choice('BANK', 'sandbox', ['sandbox'] as const);
  const privateWebhooks = reader.choice('ALLOW_PRIVATE_WEBHOOKS', bank === 'sandbox' ? 'true' : 'false', [
    'true',
    'false',
  ] as const);
  const mongodbUri = reader.secret('MONGODB_URI', mongoUri, 'a MongoDB connection string (mongodb://...)');
  const secretsKey = reader.secret('SECRETS_KEY', parseKey, '32 bytes in base64');
  if (mongodbUri !== null && reader.text('SECRETS_KEY') === null)
    reader.mistakes.push(
      'SECRETS_KEY must be set with MONGODB_URI: all processes share it (32 bytes in base64, as openssl rand -base64 32 makes them)',
    );
  const callbackForm = 'a Standard Webhooks secret: whsec_ and 24 to 64 bytes in base64';
  const config: Config = {
    port: reader.whole('PORT', 3000, 0, 65_535),
    host: reader.text('HOST') ?? (bank === 'sandbox' ? '127.0.0.1' : '0.0.0.0'),
    dataDir: reader.text('DATA_DIR') ?? './data',
    mongodbUri,
    logLevel: reader.choice('LOG_LEVEL', 'info', LOG_LEVELS),
    bank,
    sandboxDelayMs: reader.whole('SANDBOX_DELAY_MS', 500, 0, 86_400_000),
    allowPrivateWebhooks: privateWebhooks === 'true',
    trustedProxyHops: reader.whole('TRUSTED_PROXY_HOPS', 0, 0, 32),
    chargeExpiryS: reader.whole('CHARGE_EXPIRY_S', 86_400, 1, 2_592_000),
    stuckAfterS: reader.whole('STUCK_AFTER_S', 300, 1, 31_536_000),
    bankCallbackSecret: reader.secret('BANK_CALLBACK_SECRET', callbackSecret, callbackForm),
    secretsKey,
    adminPort: reader.whole('ADMIN_PORT', null, 0, 65_535),
    adminHost: reader.text('ADMIN_HOST') ?? '127.0.0.1',
    webhookRetryScale: retryScale(reader),
  };
  if (reader.mistakes.length > 0) throw new ConfigError(reader.mistakes);
  return config;
}
