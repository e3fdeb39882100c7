/** Requests whose headers came before something was taken from the account, and whose bodies come after. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { later } from '../../src/waiting.ts';
import { withServer } from '../faults/scene.ts';
import { askJson } from '../support/cli.ts';
import { type Merchant, merchant, merchantOf, type Reply } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { sleep, until } from '../support/wait.ts';

const test = suite('held bodies');

const TRANSFER = JSON.stringify({ amount: 5_000, pix: { pixKeyType: 'EMAIL', pixKey: 'a@b.co' } });
const JSON_TYPE = { 'content-type': 'application/json' };
/** What a command changes, a running server honours within a second. */
const HONOURED_MS = 1_000;
/** Longer than a body may take without a second look. */
const LATE_MS = 400;

interface Held {
  /** Lets the rest of the body go. */
  end(): Promise<Reply>;
}

/** A request of which all but the body's end has come. */
async function held(client: Merchant, path: string, text: string): Promise<Held> {
  const rest = later<void>();
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text.slice(0, 1));
    await rest.promise;
    yield Buffer.from(text.slice(1));
  }
  const reply = client.send('POST', path, bytes(), JSON_TYPE);
  // Where the test ends before it, its error is nobody's.
  reply.catch(() => {});
  await sleep(LATE_MS);
  return {
    end() {
      rest.resolve();
      return reply;
    },
  };
}

const CHANGES = [
  { name: 'the user is inactive', args: ['--user-status', 'inactive'], status: 403, code: 'USER_INACTIVE' },
  {
    name: 'the address is off the list',
    args: ['--allow-ip', '10.0.0.1'],
    status: 403,
    code: 'IP_NOT_ALLOWED',
  },
  { name: 'the account is inactive', args: ['--status', 'inactive'], status: 403, code: 'ACCOUNT_INACTIVE' },
  {
    name: 'all of it is taken: what comes first is told',
    args: ['--status', 'inactive', '--user-status', 'inactive', '--allow-ip', '10.0.0.1'],
    ...{ status: 403, code: 'USER_INACTIVE' },
  },
];
const BACK = ['--status', 'active', '--user-status', 'active', '--allow-ip', '127.0.0.1'];

for (const HTTP_THREADS of ['1', '0']) {
  test(`with ${HTTP_THREADS} threads: a body that comes after the account lost something moves no money`, async () => {
    await withServer({ env: { HTTP_THREADS } }, async (server) => {
      const client = await merchant(server, ['--balance', '100000']);
      for (const { name, args, status, code } of CHANGES) {
        const [transfer, broken] = await Promise.all([
          held(client, '/cashout', TRANSFER),
          held(client, '/cashout', '{"no JSON'),
        ]);
        await askJson(server, ['account', 'set', client.accountId, ...args]);
        await sleep(HONOURED_MS);
        expectError(await transfer.end(), status, code);
        // Who sends it comes before what it is, late as well.
        expectError(await broken.end(), status, code);
        await askJson(server, ['account', 'set', client.accountId, ...BACK]);
        await until(async () => (await client.get('/balance')).status === 200, HONOURED_MS, 'active again');
        assert.is(await client.balance(), 100_000, name);
      }
    });
  });

  test(`with ${HTTP_THREADS} threads: a body that comes after the secret was rotated moves no money`, async () => {
    await withServer({ env: { HTTP_THREADS } }, async (server) => {
      const client = await merchant(server, ['--balance', '100000']);
      const transfer = await held(client, '/cashout', TRANSFER);
      const pair = await askJson(server, ['account', 'rotate-secret', client.accountId]);
      await sleep(HONOURED_MS);
      expectError(await transfer.end(), 401, 'INVALID_CREDENTIALS');
      const renewed = merchantOf(server, { accountId: client.accountId, webhooks: [], ...Object(pair) });
      assert.is(await renewed.balance(), 100_000);
    });
  });

  test(`with ${HTTP_THREADS} threads: a late body of who may call is taken, by the settings of now`, async () => {
    await withServer({ env: { HTTP_THREADS } }, async (server) => {
      const client = await merchant(server, ['--balance', '100000']);
      const [taken, tooMuch] = await Promise.all([
        held(client, '/cashout', TRANSFER),
        held(client, '/cashout', TRANSFER),
      ]);
      expectStatus(await taken.end(), 201);
      await askJson(server, ['account', 'set', client.accountId, '--max-amount', '4999']);
      await sleep(HONOURED_MS);
      expectError(await tooMuch.end(), 400, 'VALIDATION_ERROR');
    });
  });
}

test.run();
