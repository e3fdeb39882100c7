/** The configuration of a bank with an API Pix: every variable that begins with BANK_, and its mistakes. */
import { readFileSync } from 'node:fs';
import { anyPixKey } from '../../domain/people/pix-key.ts';
import { codeOf } from '../../errors.ts';
import type { Credentials, ProfileName } from './profile.ts';
import {
  areCertificates,
  type ClientIdentity,
  type FoundIdentity,
  identityOfP12,
  identityOfPem,
} from './wire/identity.ts';

/** What reads the environment, and keeps the mistakes. */
export interface EnvironmentReader {
  readonly mistakes: string[];
  /** Null where the variable is unset or empty. */
  text(name: string): string | null;
  /** What stands between the commas of its text, without what is empty. */
  list(name: string): string[] | null;
  /** As `text`, of a name or an address to listen on. */
  host(name: string): string | null;
  whole<Default extends number | null>(
    name: string,
    otherwise: Default,
    min: number,
    max: number,
  ): number | Default;
  choice<Choice extends string>(name: string, otherwise: Choice, choices: readonly Choice[]): Choice;
}

/** Where callbacks come in. */
export interface CallbackDoor {
  port: number;
  host: string;
  path: string;
  /** Null: plain, behind a proxy that checks client certificates. */
  tls: { cert: string; key: string; ca: string } | null;
  /** Names of client certificates that are let in; null: all of that authority. */
  names: string[] | null;
}

export interface BankSettings {
  profile: ProfileName;
  /** The bank's base, without a slash at its end. */
  url: string;
  /** The whole URL of the token; null: where the profile says. */
  tokenUrl: string | null;
  credentials: Credentials;
  identity: ClientIdentity;
  /** A private authority's certificates, PEM. */
  ca: string | null;
  /** The key of accounts without one of their own. */
  pixKey: string | null;
  callback: CallbackDoor | null;
  /** What is registered at the bank for each key. */
  webhookUrl: string | null;
  reconcileS: number;
  expiryGraceS: number;
  /** Of the waits between tries, questions and probes. */
  retryScale: number;
}

const CALLBACK_VARIABLES = ['CERT_FILE', 'KEY_FILE', 'CA_FILE', 'NAMES', 'HOST', 'PATH'];

/** Whoever sets one of these means a real bank: all that are read here, but BANK_CALLBACK_SECRET, the sandbox's. */
export const BANK_VARIABLES = [
  'BANK_PROFILE',
  'BANK_URL',
  'BANK_TOKEN_URL',
  'BANK_CLIENT_ID',
  'BANK_CLIENT_SECRET',
  'BANK_CERT_FILE',
  'BANK_KEY_FILE',
  'BANK_P12_FILE',
  'BANK_P12_PASSPHRASE',
  'BANK_CA_FILE',
  'BANK_PIX_KEY',
  'BANK_CALLBACK_PORT',
  ...CALLBACK_VARIABLES.map((name) => `BANK_CALLBACK_${name}`),
  'BANK_WEBHOOK_URL',
  'BANK_RECONCILE_S',
  'BANK_EXPIRY_GRACE_S',
  'BANK_RETRY_SCALE',
];

const PROFILES: readonly ProfileName[] = ['standard', 'efi', 'inter'];
const SMALLEST_SCALE = 0.001;
const DAY_S = 86_400;

class BankReader {
  readonly #reader: EnvironmentReader;

  constructor(reader: EnvironmentReader) {
    this.#reader = reader;
  }

  wrong(name: string, what: string): void {
    this.#reader.mistakes.push(`${name} ${what}`);
  }

  required(name: string, what: string): string {
    const text = this.#reader.text(name);
    if (text === null) this.wrong(name, `must be set: ${what}`);
    return text ?? '';
  }

  /** An https URL without a slash at its end; null where it isn't set. Credentials in it would be logged. */
  url(name: string, text = this.#reader.text(name)): string | null {
    if (text === null || text === '') return null;
    const url = URL.canParse(text) ? new URL(text) : null;
    // What a parse drops, an empty query or a space, would stand in the midst of it once a path comes behind.
    const isPlain = url?.username === '' && url.password === '' && !/[\s?#]/.test(text);
    if (url?.protocol === 'https:' && isPlain) return text.replace(/\/+$/, '');
    this.wrong(name, 'must be an https URL, without user, query or fragment');
    return null;
  }

  file(name: string): Buffer | null {
    const path = this.#reader.text(name);
    if (path === null) return null;
    try {
      return readFileSync(path);
    } catch (error) {
      this.wrong(name, `can't be read (${codeOf(error)}): ${path}`);
      return null;
    }
  }

  /** PEM certificates of an authority. */
  authority(name: string): string | null {
    const pem = this.file(name)?.toString('utf8') ?? null;
    if (pem === null) return null;
    if (areCertificates(pem)) return pem;
    this.wrong(name, 'holds no certificate in PEM, or one that is broken');
    return null;
  }

  /** A certificate and its key from files that were read; null with a mistake told. */
  found(
    identity: FoundIdentity,
    names: Record<'certificate' | 'key' | 'p12', string>,
  ): ClientIdentity | null {
    if ('identity' in identity) return identity.identity;
    for (const { of, what } of identity.mistakes) this.wrong(names[of], what);
    return null;
  }

  /** Whether all or none of these are set; the ones that are missing are told. */
  together(names: readonly string[]): boolean {
    const missing = names.filter((name) => this.#reader.text(name) === null);
    if (missing.length > 0 && missing.length < names.length) {
      const set = names.filter((name) => !missing.includes(name));
      for (const name of missing) this.wrong(name, `must be set with ${set.join(' and ')}`);
    }
    return missing.length === 0;
  }
}

const PEM_NAMES = ['BANK_CERT_FILE', 'BANK_KEY_FILE'] as const;
const IDENTITY_NAMES = { certificate: 'BANK_CERT_FILE', key: 'BANK_KEY_FILE', p12: 'BANK_P12_FILE' };

function identityOf(reader: EnvironmentReader, bank: BankReader): ClientIdentity | null {
  const hasPem = PEM_NAMES.some((name) => reader.text(name) !== null);
  const hasP12 = reader.text('BANK_P12_FILE') !== null;
  if (hasPem && hasP12) {
    bank.wrong('BANK_P12_FILE', 'is one way to give the certificate, BANK_CERT_FILE the other: set one');
    return null;
  }
  if (!hasP12 && reader.text('BANK_P12_PASSPHRASE') !== null)
    bank.wrong('BANK_P12_FILE', 'must be set with BANK_P12_PASSPHRASE');
  if (hasP12) {
    const pfx = bank.file('BANK_P12_FILE');
    const passphrase = reader.text('BANK_P12_PASSPHRASE') ?? '';
    return pfx === null ? null : bank.found(identityOfP12(pfx, passphrase), IDENTITY_NAMES);
  }
  if (!hasPem) {
    bank.wrong('BANK_CERT_FILE', 'and BANK_KEY_FILE, or BANK_P12_FILE, must be set: the client certificate');
    return null;
  }
  if (!bank.together(PEM_NAMES)) return null;
  const [cert, key] = PEM_NAMES.map((name) => bank.file(name)?.toString('utf8') ?? null);
  if (cert === null || cert === undefined || key === null || key === undefined) return null;
  return bank.found(identityOfPem(cert, key), IDENTITY_NAMES);
}

function pixKeyOf(reader: EnvironmentReader, bank: BankReader): string | null {
  const text = reader.text('BANK_PIX_KEY');
  if (text === null) return null;
  const key = anyPixKey(text);
  if (key !== null) return key;
  bank.wrong('BANK_PIX_KEY', 'must be a Pix key');
  return null;
}

const CALLBACK_TLS = ['BANK_CALLBACK_CERT_FILE', 'BANK_CALLBACK_KEY_FILE', 'BANK_CALLBACK_CA_FILE'] as const;
const CALLBACK_NAMES = {
  ...{ certificate: 'BANK_CALLBACK_CERT_FILE', key: 'BANK_CALLBACK_KEY_FILE', p12: '' },
};

function doorTls(bank: BankReader): CallbackDoor['tls'] {
  const [certName, keyName, caName] = CALLBACK_TLS;
  if (!bank.together(CALLBACK_TLS)) return null;
  const cert = bank.file(certName)?.toString('utf8');
  const key = bank.file(keyName)?.toString('utf8');
  const ca = bank.authority(caName);
  if (cert === undefined || key === undefined || ca === null) return null;
  return bank.found(identityOfPem(cert, key), CALLBACK_NAMES) === null ? null : { cert, key, ca };
}

/** Who is let in, by the names of a certificate: a plain door sees none, and would let in everybody. */
function namesOf(reader: EnvironmentReader, bank: BankReader, isPlain: boolean): string[] | null {
  const names = reader.list('BANK_CALLBACK_NAMES');
  if (names === null) return null;
  if (names.length === 0) bank.wrong('BANK_CALLBACK_NAMES', 'must name whom to let in, with commas between');
  else if (isPlain)
    bank.wrong(
      'BANK_CALLBACK_NAMES',
      `must be set with ${CALLBACK_TLS.join(', ')}: a plain door sees no names`,
    );
  return names;
}

function callbackOf(reader: EnvironmentReader, bank: BankReader): CallbackDoor | null {
  const port = reader.whole('BANK_CALLBACK_PORT', null, 0, 65_535);
  const given = CALLBACK_VARIABLES.map((name) => `BANK_CALLBACK_${name}`).filter(
    (name) => reader.text(name) !== null,
  );
  if (port === null) {
    if (given.length > 0 && reader.text('BANK_CALLBACK_PORT') === null)
      bank.wrong('BANK_CALLBACK_PORT', `must be set with ${given.join(' and ')}`);
    return null;
  }
  const isPlain = !CALLBACK_TLS.some((name) => reader.text(name) !== null);
  if (isPlain)
    for (const name of ['BANK_CALLBACK_HOST', 'BANK_CALLBACK_PATH'])
      if (reader.text(name) === null)
        bank.wrong(
          name,
          'must be set where the door has no certificate files: a proxy checks the certificates',
        );
  const path = reader.text('BANK_CALLBACK_PATH') ?? '/bank/pix';
  if (!/^(\/[\w.~-]+)+$/.test(path))
    bank.wrong('BANK_CALLBACK_PATH', 'must be a path such as /bank/pix, without a slash at its end');
  return {
    ...{ port, path, host: reader.host('BANK_CALLBACK_HOST') ?? '0.0.0.0' },
    ...{ tls: doorTls(bank), names: namesOf(reader, bank, isPlain) },
  };
}

function scaleOf(reader: EnvironmentReader, bank: BankReader): number {
  const text = reader.text('BANK_RETRY_SCALE');
  if (text === null) return 1;
  const value = Number(text);
  if (/^\d+(\.\d+)?(e-?\d+)?$/i.test(text) && value >= SMALLEST_SCALE && value <= 1) return value;
  bank.wrong('BANK_RETRY_SCALE', `must be a number from ${SMALLEST_SCALE} to 1, not "${text}"`);
  return 1;
}

/** The settings; null where a mistake leaves none. All mistakes are with the reader then, and none shows a secret. */
export function readBankSettings(reader: EnvironmentReader): BankSettings | null {
  const before = reader.mistakes.length;
  const bank = new BankReader(reader);
  const profile = reader.choice('BANK_PROFILE', 'standard', PROFILES);
  const url = bank.url('BANK_URL', bank.required('BANK_URL', "the bank's base, https://..."));
  const tokenUrl = bank.url('BANK_TOKEN_URL');
  if (profile === 'standard' && reader.text('BANK_TOKEN_URL') === null)
    bank.wrong('BANK_TOKEN_URL', 'must be set with BANK_PROFILE=standard: where the bank gives tokens');
  const clientId = bank.required('BANK_CLIENT_ID', 'as the bank gave it');
  const clientSecret = bank.required('BANK_CLIENT_SECRET', 'as the bank gave it');
  const identity = identityOf(reader, bank);
  const rest = {
    ...{ ca: bank.authority('BANK_CA_FILE'), pixKey: pixKeyOf(reader, bank) },
    ...{ callback: callbackOf(reader, bank), webhookUrl: bank.url('BANK_WEBHOOK_URL') },
    reconcileS: reader.whole('BANK_RECONCILE_S', 300, 1, DAY_S),
    expiryGraceS: reader.whole('BANK_EXPIRY_GRACE_S', 60, 0, DAY_S),
    retryScale: scaleOf(reader, bank),
  };
  if (reader.text('BANK_CALLBACK_SECRET') !== null)
    bank.wrong(
      'BANK_CALLBACK_SECRET',
      "is the sandbox's: a real bank's callbacks come in at a door of their own",
    );
  if (url === null || identity === null || reader.mistakes.length > before) return null;
  return { profile, url, tokenUrl, credentials: { clientId, clientSecret }, identity, ...rest };
}
