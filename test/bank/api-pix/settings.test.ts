/** The variables of a real bank: what they give, and every mistake in them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { validity } from '../../../src/bank/api-pix/wire/identity.ts';
import { ConfigError, readBankConfig, readConfig } from '../../../src/config.ts';
import { Certificates, type Pair } from '../../support/bank/certificates.ts';
import { packageRoot } from '../../support/process.ts';

const test = suite('settings of a bank');
const certificates = new Certificates();
let authority: Pair;
let customer: Pair;
let other: Pair;
let sound: Record<string, string>;

test.before(() => {
  authority = certificates.authority('authority');
  customer = certificates.certificate('customer', { authority });
  other = certificates.certificate('other', { authority });
  sound = {
    ...{ BANK: 'api-pix', BANK_URL: 'https://api.bank.example/pix/v2/', BANK_CLIENT_ID: 'me' },
    ...{ BANK_TOKEN_URL: 'https://auth.bank.example/token', BANK_CLIENT_SECRET: 'hush-hush' },
    ...{ BANK_CERT_FILE: customer.certFile, BANK_KEY_FILE: customer.keyFile },
  };
});
test.after(() => certificates.remove());

type Env = Record<string, string>;

/** The mistakes, which never show a secret. */
function mistakesOf(env: Env): readonly string[] {
  try {
    readBankConfig({ ...sound, ...env });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    assert.not.match(error.mistakes.join(), /hush-hush|passphrase-1/);
    return error.mistakes;
  }
}

/** The variables that the server's configuration tells of, each with a mistake. */
function wrongIn(env: Env): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map((mistake) => mistake.split(' ')[0] ?? '');
  }
}

function only(env: Env, expected: RegExp): void {
  const mistakes = mistakesOf(env);
  assert.is(mistakes.length, 1, mistakes.join('\n'));
  assert.match(mistakes[0] ?? '', expected);
}

test('the console waits for a port of its own', () => {
  const portOf = (env: Env): [port: number | null, isDefault: boolean] => {
    const { adminPort, adminPortIsDefault } = readConfig(env);
    return [adminPort, adminPortIsDefault];
  };
  assert.equal(portOf(sound), [null, true]);
  assert.equal(portOf({ ...sound, ADMIN_PORT: '4000' }), [4000, false]);
  assert.equal(portOf({}), [3001, true], 'the sandbox has one');
  assert.equal(portOf({ CONSOLE: 'off' }), [null, true]);
  assert.equal(portOf({ CONSOLE: 'off', ADMIN_PORT: '0' }), [0, false]);
});

test('what is told of a place that nothing is served at is a mistake', () => {
  const proxy = { CONSOLE_ORIGIN: 'https://ops.example', CONSOLE_PROXY: '10.0.0.5' };
  const env = { ...sound, ...proxy, ADMIN_HOST: '10.0.0.7', CONSOLE_USER_HEADER: 'x-user' };
  const needy = (more: Env): string[] => wrongIn({ ...env, ...more });
  assert.equal(needy({}), ['ADMIN_HOST', 'CONSOLE_ORIGIN', 'CONSOLE_PROXY']);
  assert.equal(needy({ CONSOLE: 'off' }), ['ADMIN_HOST'], 'the metrics may be meant');
  assert.equal(needy({ ADMIN_PORT: '3001' }), []);
  assert.equal(needy({ ADMIN_PORT: '70000' }), ['ADMIN_PORT'], 'told once');
});

test('two doors at one place are a mistake', () => {
  assert.equal(wrongIn({ PORT: '4000', ADMIN_PORT: '4000' }), ['ADMIN_PORT']);
  assert.equal(
    wrongIn({ ...sound, PORT: '4000', ADMIN_PORT: '4000' }),
    ['ADMIN_PORT'],
    'PORT is at all addresses',
  );
  const door = { BANK_CALLBACK_HOST: '127.0.0.1', BANK_CALLBACK_PATH: '/pix', BANK_CALLBACK_PORT: '4000' };
  assert.equal(wrongIn({ ...sound, ...door, PORT: '4000' }), ['BANK_CALLBACK_PORT']);
  assert.equal(wrongIn({ ...sound, ...door, ADMIN_PORT: '4000' }), ['BANK_CALLBACK_PORT']);
  assert.equal(wrongIn({ PORT: '4000', ADMIN_PORT: '4000', ADMIN_HOST: '127.0.0.2' }), []);
  assert.equal(wrongIn({ HOST: '0.0.0.0', PORT: '4000', ADMIN_PORT: '4000', ADMIN_HOST: '::1' }), []);
  assert.equal(wrongIn({ PORT: '0', ADMIN_PORT: '0' }), [], 'each is another one');
  assert.equal(wrongIn({ PORT: '3001' }), [], 'the console’s own gives way');
});

test('with the sandbox there are none', () => {
  assert.is(readBankConfig({}), null);
  assert.is(readBankConfig({ BANK: 'sandbox' }), null);
});

test('a bank’s variables without BANK are a mistake, and no start with play money', () => {
  const page = readFileSync(join(packageRoot, 'docs', 'bank.md'), 'utf8');
  const told = [...page.matchAll(/^\| (`BANK_\w+`(?:, `BANK_\w+`)*) \|/gm)].flatMap(([, names = '']) =>
    names.replaceAll('`', '').split(', '),
  );
  for (const name of ['BANK_URL', 'BANK_CA_FILE', 'BANK_RECONCILE_S', 'BANK_CALLBACK_PATH'])
    assert.ok(told.includes(name), name);
  for (const name of told) {
    const env = { [name]: sound[name] ?? '9000' };
    assert.throws(
      () => readConfig(env),
      (error: unknown) =>
        error instanceof ConfigError &&
        error.mistakes.join() ===
          `BANK must be set with ${name}: api-pix for a real bank, sandbox for play money`,
    );
    assert.is(readConfig({ ...env, BANK: 'sandbox' }).bank, 'sandbox', 'it may be meant');
  }
});

test('the server’s own configuration has them, and a real bank’s defaults', () => {
  const { bank, bankSettings, host, allowPrivateWebhooks, bankCallbackSecret } = readConfig(sound);
  assert.is(bankSettings?.credentials.clientId, 'me');
  assert.equal([bank, host, allowPrivateWebhooks, bankCallbackSecret], ['api-pix', '0.0.0.0', false, null]);
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
  assert.throws(
    () => readConfig({ ...sound, BANK_CALLBACK_SECRET: secret }),
    (error: unknown) => error instanceof ConfigError && /BANK_CALLBACK_SECRET/.test(error.mistakes.join()),
  );
});

test('what is left out has its default', () => {
  const settings = readBankConfig(sound);
  assert.equal(
    { ...settings, identity: null },
    {
      ...{ profile: 'standard', url: 'https://api.bank.example/pix/v2', identity: null, ca: null },
      tokenUrl: 'https://auth.bank.example/token',
      credentials: { clientId: 'me', clientSecret: 'hush-hush' },
      ...{ pixKey: null, callback: null, webhookUrl: null, reconcileS: 300, expiryGraceS: 60, retryScale: 1 },
    },
  );
  assert.match(settings?.identity.certificate.subject ?? '', /CN=customer/);
});

test('everything that can be set is read', () => {
  const settings = readBankConfig({
    ...sound,
    ...{ BANK_CA_FILE: authority.certFile, BANK_PIX_KEY: 'Shop@Example.com', BANK_CALLBACK_PORT: '8443' },
    ...{ BANK_CALLBACK_CERT_FILE: other.certFile, BANK_CALLBACK_KEY_FILE: other.keyFile },
    ...{ BANK_CALLBACK_CA_FILE: authority.certFile, BANK_CALLBACK_NAMES: 'pix.bank.example, other' },
    ...{ BANK_WEBHOOK_URL: 'https://shop.example/bank/pix', BANK_RECONCILE_S: '60' },
    ...{ BANK_EXPIRY_GRACE_S: '0', BANK_RETRY_SCALE: '0.001' },
  });
  assert.equal(
    [settings?.ca, settings?.pixKey, settings?.webhookUrl],
    [authority.cert, 'shop@example.com', 'https://shop.example/bank/pix'],
  );
  assert.equal([settings?.reconcileS, settings?.expiryGraceS, settings?.retryScale], [60, 0, 0.001]);
  assert.equal(settings?.callback, {
    ...{ port: 8443, path: '/bank/pix', host: '0.0.0.0', names: ['pix.bank.example', 'other'] },
    tls: { cert: other.cert, key: other.key, ca: authority.cert },
  });
});

test('Efí and Inter say themselves where tokens are given', () => {
  for (const BANK_PROFILE of ['efi', 'inter']) {
    assert.is(readBankConfig({ ...sound, BANK_PROFILE, BANK_TOKEN_URL: '' })?.tokenUrl, null);
  }
  only({ BANK_TOKEN_URL: '' }, /^BANK_TOKEN_URL must be set with BANK_PROFILE=standard/);
  only({ BANK_PROFILE: 'asaas' }, /^BANK_PROFILE must be standard or efi or inter/);
});

test('mistakes are listed together', () => {
  const nothing = Object.fromEntries(Object.keys(sound).map((name) => [name, '']));
  const names = mistakesOf({ ...nothing, BANK: 'api-pix' }).map((mistake) => mistake.split(' ')[0]);
  assert.equal(names, [
    'BANK_URL',
    'BANK_TOKEN_URL',
    'BANK_CLIENT_ID',
    'BANK_CLIENT_SECRET',
    'BANK_CERT_FILE',
  ]);
});

test('URLs are https, and carry nothing that must not be logged', () => {
  for (const url of [
    'http://bank.example',
    'bank.example',
    'https://me:pw@bank.example',
    'https://b.example?a=1',
    'https://b.example/?',
    'https://b.example/#',
    'https://b.example ',
    'https://b.example/pix v2',
  ])
    only({ BANK_URL: url }, /^BANK_URL must be an https URL/);
  only({ BANK_URL: 'https://b.example/\r' }, /^BANK_URL must not have control characters/);
  only({ BANK_TOKEN_URL: ' https://b.example/token' }, /^BANK_TOKEN_URL must be/);
  only({ BANK_WEBHOOK_URL: 'http://shop.example' }, /^BANK_WEBHOOK_URL must be/);
});

test('files that are missing, unreadable, or don’t fit', () => {
  const empty = certificates.file('empty');
  writeFileSync(empty, '');
  only({ BANK_KEY_FILE: '' }, /^BANK_KEY_FILE must be set with BANK_CERT_FILE/);
  only({ BANK_CERT_FILE: '' }, /^BANK_CERT_FILE must be set with BANK_KEY_FILE/);
  only({ BANK_CERT_FILE: '/nowhere.crt' }, /^BANK_CERT_FILE can't be read \(ENOENT\): \/nowhere.crt/);
  only({ BANK_CERT_FILE: empty }, /^BANK_CERT_FILE holds no certificate/);
  only({ BANK_KEY_FILE: empty }, /^BANK_KEY_FILE holds no private key/);
  only({ BANK_KEY_FILE: other.keyFile }, /^BANK_KEY_FILE isn't the key of the certificate/);
  only({ BANK_CA_FILE: empty }, /^BANK_CA_FILE holds no certificate/);
  only({ BANK_CA_FILE: '/nowhere.ca' }, /^BANK_CA_FILE can't be read \(ENOENT\): \/nowhere.ca/);
  only({ BANK_CA_FILE: certificates.path }, /^BANK_CA_FILE can't be read \(EISDIR\)/);
});

test('a file whose second certificate is cut off: no call would work, and the start says so', () => {
  const cut = (name: string, first: Pair): string => {
    const file = certificates.file(name);
    writeFileSync(file, `${first.cert}${authority.cert.slice(0, 200)}\n`);
    return file;
  };
  const chain = cut('chain.crt', customer);
  only(
    { BANK_CERT_FILE: chain },
    /^BANK_CERT_FILE can't be used: a certificate in it is broken \(ERR_OSSL_PEM_/,
  );
  only({ BANK_CA_FILE: cut('two.ca', other) }, /^BANK_CA_FILE holds no certificate in PEM, or one that is/);
  const two = certificates.file('both.ca');
  writeFileSync(two, `the first\n${authority.cert}the second\n${other.cert}`);
  assert.ok(readBankConfig({ ...sound, BANK_CA_FILE: two })?.ca?.includes(other.cert));
});

test('a certificate that has expired is read all the same: the server says so, and serves', async () => {
  const expired = certificates.certificate('expired', { authority, days: 0 });
  const settings = readBankConfig({
    ...sound,
    BANK_CERT_FILE: expired.certFile,
    BANK_KEY_FILE: expired.keyFile,
  });
  assert.ok(settings !== null && validity(settings.identity).to <= Date.now() + 1_000);
});

test('a PKCS #12 file instead', () => {
  const p12 = { BANK_CERT_FILE: '', BANK_KEY_FILE: '', BANK_P12_PASSPHRASE: 'passphrase-1' };
  const file = certificates.p12(customer, 'passphrase-1');
  const settings = readBankConfig({ ...sound, ...p12, BANK_P12_FILE: file });
  assert.match(settings?.identity.certificate.subject ?? '', /CN=customer/);
  const empty = certificates.p12(customer, '');
  readBankConfig({ ...sound, ...p12, BANK_P12_PASSPHRASE: '', BANK_P12_FILE: empty });
  only({ ...p12, BANK_P12_FILE: empty }, /^BANK_P12_FILE doesn't open with BANK_P12_PASSPHRASE/);
  const old = certificates.p12(customer, 'passphrase-1', { old: true });
  only({ ...p12, BANK_P12_FILE: old }, /^BANK_P12_FILE is encrypted in an old way: convert it with openssl/);
  only({ ...p12, BANK_P12_FILE: customer.certFile }, /^BANK_P12_FILE is no PKCS #12 file/);
  only({ ...p12, BANK_P12_FILE: '/nowhere.p12' }, /^BANK_P12_FILE can't be read/);
  only({ BANK_P12_FILE: file }, /^BANK_P12_FILE is one way/);
  only({ BANK_P12_PASSPHRASE: 'x' }, /^BANK_P12_FILE must be set with BANK_P12_PASSPHRASE/);
});

test('the door for callbacks: all of its files, or a proxy in front', () => {
  const port = { BANK_CALLBACK_PORT: '8443' };
  const plain = { ...port, BANK_CALLBACK_HOST: '127.0.0.1', BANK_CALLBACK_PATH: '/s3cret/pix' };
  assert.equal(readBankConfig({ ...sound, ...plain })?.callback, {
    ...{ port: 8443, path: '/s3cret/pix', host: '127.0.0.1', tls: null, names: null },
  });
  const names = mistakesOf(port).map((mistake) => mistake.split(' ')[0]);
  assert.equal(names, ['BANK_CALLBACK_HOST', 'BANK_CALLBACK_PATH']);
  const files = { ...port, BANK_CALLBACK_CERT_FILE: other.certFile, BANK_CALLBACK_KEY_FILE: other.keyFile };
  only(files, /^BANK_CALLBACK_CA_FILE must be set with/);
  const unfit = {
    ...files,
    BANK_CALLBACK_CA_FILE: authority.certFile,
    BANK_CALLBACK_KEY_FILE: customer.keyFile,
  };
  only(unfit, /^BANK_CALLBACK_KEY_FILE isn't the key/);
  only({ BANK_CALLBACK_HOST: '0.0.0.0' }, /^BANK_CALLBACK_PORT must be set with BANK_CALLBACK_HOST/);
  only({ ...plain, BANK_CALLBACK_PATH: 'pix/' }, /^BANK_CALLBACK_PATH must be a path/);
  only({ ...plain, BANK_CALLBACK_NAMES: 'pix.bank.example' }, /^BANK_CALLBACK_NAMES must be set with BANK_C/);
  const named = { ...files, BANK_CALLBACK_CA_FILE: authority.certFile, BANK_CALLBACK_NAMES: ' , ' };
  only(named, /^BANK_CALLBACK_NAMES must name whom/);
  only({ BANK_CALLBACK_SECRET: 'whsec_x' }, /^BANK_CALLBACK_SECRET is the sandbox's/);
});

test('numbers and keys keep to their bounds', () => {
  only({ BANK_RETRY_SCALE: '0.0001' }, /^BANK_RETRY_SCALE/);
  only({ BANK_RETRY_SCALE: '2' }, /^BANK_RETRY_SCALE/);
  only({ BANK_RECONCILE_S: '0' }, /^BANK_RECONCILE_S/);
  only({ BANK_PIX_KEY: 'no key' }, /^BANK_PIX_KEY must be a Pix key$/);
});

test.run();
