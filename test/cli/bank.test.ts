/** `bank check`, against a bank over real TLS. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FakeBank, OUR_KEY } from '../support/bank/bank.ts';
import { list, object, text } from '../support/json.ts';
import { Folder } from './support.ts';

const test = suite('bank commands');
let folder: Folder;
let bank: FakeBank;

test.before(async () => {
  folder = await Folder.make();
  bank = await FakeBank.start({ profile: 'efi' });
});
test.after(async () => {
  await bank.stop();
  await folder.remove();
});

/** The names of the checks, those that fail with an exclamation mark. */
async function checked(env: Record<string, string> = {}, args: string[] = []): Promise<string[]> {
  const result = await folder.run(['bank', 'check', ...args, '--json'], { ...bank.env, ...env });
  const document = object(JSON.parse(result.stdout));
  assert.is(result.code, document.ok === true ? 0 : 1);
  assert.not.match(result.stdout, new RegExp(`${bank.clientId}|Secret|${OUR_KEY}`));
  return list(document, 'checks').map((check) => {
    assert.ok(text(check, 'detail').length > 0);
    return `${text(check, 'name')}${object(check).ok === true ? '' : '!'}`;
  });
}

const SOUND = ['token', 'scopes', 'certificate', 'clock', 'key ***0002', 'webhook ***0002'];
const WEBHOOK = { BANK_WEBHOOK_URL: 'https://shop.example.com/bank/pix' };

test('where all is right', async () => {
  assert.equal(await checked(), SOUND);
  const shown = await folder.run(['bank', 'check'], bank.env);
  assert.is(shown.code, 0);
  assert.match(shown.stdout, /^ok {3}token .*\nok {3}scopes/);
});

test('a webhook that isn’t registered fails, and --fix registers it', async () => {
  const missing = [...SOUND.slice(0, 5), 'webhook ***0002!'];
  assert.equal(await checked(WEBHOOK), missing);
  assert.is(bank.state.webhooks.size, 0);
  assert.equal(await checked(WEBHOOK, ['--fix']), SOUND);
  assert.is(bank.state.webhooks.get(OUR_KEY), WEBHOOK.BANK_WEBHOOK_URL);
  bank.seen.length = 0;
  assert.equal(await checked(WEBHOOK, ['--fix']), SOUND);
  assert.is(bank.calls('PUT webhook').length, 0, 'what is right is left alone');
});

test('a key that isn’t ours', async () => {
  const checks = await checked({ BANK_PIX_KEY: 'somebody@example.com' });
  assert.equal(checks, [...SOUND.slice(0, 4), 'key ***.com!']);
});

test('scopes that the contract doesn’t give', async () => {
  const all = bank.scopes;
  bank.scopes = all.replace(' pix.send', '');
  assert.equal(await checked(), ['token', 'scopes!', ...SOUND.slice(2)]);
  bank.scopes = all;
});

test('credentials that the bank refuses', async () => {
  const checks = await checked({ BANK_CLIENT_SECRET: 'wrong' });
  assert.equal(checks, ['token!', 'scopes!', 'certificate', 'clock!', 'key ***0002!']);
});

test('a certificate that has expired', async () => {
  const expired = bank.certificates.certificate('expired', { authority: bank.authority, days: 0 });
  const env = { BANK_CERT_FILE: expired.certFile, BANK_KEY_FILE: expired.keyFile };
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const checks = await checked(env);
  assert.equal(checks, ['token!', 'scopes!', 'certificate!', 'clock!', 'key ***0002!']);
});

test('without a bank there is nothing to check', async () => {
  const sandbox = await folder.run(['bank', 'check', '--json']);
  assert.is(sandbox.code, 2);
  assert.is(text(JSON.parse(sandbox.stdout), 'error'), 'INVALID_REQUEST');
  const wrong = await folder.run(['bank', 'check', '--json'], { ...bank.env, BANK_URL: 'http://x' });
  assert.is(wrong.code, 2);
  assert.is(text(JSON.parse(wrong.stdout), 'error'), 'INVALID_CONFIGURATION');
  assert.is((await folder.run(['bank', 'nonsense'], bank.env)).code, 2);
});

test.run();
