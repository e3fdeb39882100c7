/** Whichever door of ops gives an account's settings, the command line or the console: the rules are the same. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Failure } from '../../src/cli/failure.ts';
import { Values } from '../../src/cli/options.ts';
import { readConfig } from '../../src/config.ts';
import type { FieldError } from '../../src/domain/message-data.ts';
import { checkChanges } from '../../src/ops/changes.ts';

const test = suite('rules of settings');
const CONFIG = readConfig({});
const URL = 'https://shop.example/hook';

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, nth) => `10.0.0.${nth}`);
}

/** What a command makes of options, or what it says is wrong. */
function byCommand(read: (values: Values) => unknown): unknown {
  const values = new Values();
  const value = read(values);
  try {
    values.check();
    return value;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return (error.extra.details as FieldError[]).map(({ message }) => message);
  }
}

/** What the console makes of one change, or what it says is wrong. */
function byConsole(name: 'allowedIps' | 'webhooks' | 'pixKey', value: unknown): unknown {
  const checked = checkChanges({ [name]: value }, { allowPrivate: CONFIG.allowPrivateWebhooks });
  return checked.ok ? checked.changes[name] : checked.details.map(({ message }) => message);
}

test('addresses', () => {
  for (const given of [['*'], ['10.0.0.1', '10.0.0.1'], ['::1', 'x'], [], addresses(100), addresses(101)])
    assert.equal(
      byCommand((values) => values.addresses('--allow-ip', given)),
      byConsole('allowedIps', given),
      given.join(),
    );
  assert.equal(byConsole('allowedIps', addresses(100)), addresses(100));
  assert.equal(byConsole('allowedIps', addresses(101)), ['must be 1 to 100 IPv4 addresses or *, not 101']);
});

test('webhook URLs', () => {
  const many = Array.from({ length: 11 }, (_, nth) => `${URL}/${nth}`);
  for (const given of [
    [URL],
    [`${URL},pix-in.paid,pix-in.paid,cashout.*`],
    [`${URL},nothing,pix-in.paid`],
    [URL, URL.toUpperCase().replace('/HOOK', '/hook')],
    ['ftp://x'],
    ['http://127.0.0.1/x'],
    many,
  ]) {
    const targets = given.map((text) => {
      const [url, ...events] = text.split(',');
      return events.length === 0 ? { url } : { url, events };
    });
    assert.equal(
      byCommand((values) => values.webhooks('--webhook-url', given, CONFIG)),
      byConsole('webhooks', targets),
      given.join(),
    );
  }
});

test('a Pix key', () => {
  for (const given of ['52998224725', 'shop@example.com', '123', ''])
    assert.equal(
      byCommand((values) => values.pixKey('--pix-key', given)),
      byConsole('pixKey', given),
      given,
    );
});

test.run();
