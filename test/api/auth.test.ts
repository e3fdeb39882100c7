import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { basic, clientOf, type Merchant, merchant, type Reply } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { type Json, text } from '../support/json.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const missing = 'Missing Authorization header. Use Basic Auth (client_id:client_secret).';
const malformed = 'Invalid Authorization header format. Use Basic Auth (client_id:client_secret).';
const wrong = 'Invalid credentials.';
const userInactive = 'User is inactive or suspended.';
const ipNotAllowed = 'Request from unauthorized IP address.';
const accountInactive = 'Account is inactive or suspended.';

/** What a command changes, a running server honours within a second. */
const honouredMs = 1_000;

const { test, run } = fixtureSuite('auth', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const proxied = await startServer({ env: { TRUSTED_PROXY_HOPS: '1' } });
  defer(() => proxied.stop());
  const [one, two] = await Promise.all([merchant(server), merchant(server)]);
  return { server, proxied, one, two };
});

function expectRefused(reply: Reply, status: number, code: string, message: string): void {
  const body = expectError(reply, status, code);
  assert.equal(body, { error: code, message });
}

async function balanceWith(server: Server, authorization: string): Promise<Reply> {
  return clientOf(server, { authorization }).get('/balance');
}

test('1. a missing or empty header', async ({ server }) => {
  expectRefused(await clientOf(server).get('/balance'), 401, 'INVALID_CREDENTIALS', missing);
  expectRefused(await balanceWith(server, ''), 401, 'INVALID_CREDENTIALS', missing);
});

test('2. a header that is no Basic one', async ({ server, one }) => {
  const credentials = basic(one.clientId, one.clientSecret).slice('Basic '.length);
  for (const header of [
    ...[
      'Basic',
      'Bearer abc',
      `Bearer ${credentials}`,
      credentials,
      'Basic !!!',
      'Basic a:b',
      `Basic${credentials}`,
    ],
    ...[`Basic ${Buffer.from('no colon').toString('base64')}`, `Digest username="${one.clientId}"`],
  ]) {
    expectRefused(await balanceWith(server, header), 401, 'INVALID_CREDENTIALS', malformed);
  }
});

test('3. credentials that are wrong, with or without a known client', async ({ server, one, two }) => {
  for (const [clientId, clientSecret] of [
    ['nobody', 'secret'],
    ['nobody', one.clientSecret],
    [one.clientId, 'secret'],
    [one.clientId, two.clientSecret],
    [one.clientId, `${one.clientSecret}x`],
    [one.clientId, one.clientSecret.slice(0, -1)],
    [one.clientId, `${one.clientSecret}:more`],
    [one.clientId, `a:b:c`],
    [
      one.clientId,
      one.clientSecret.toUpperCase() === one.clientSecret ? 'x' : one.clientSecret.toUpperCase(),
    ],
    [`${one.clientId}x`, one.clientSecret],
  ] as const) {
    const reply = await balanceWith(server, basic(clientId, clientSecret));
    expectRefused(reply, 401, 'INVALID_CREDENTIALS', wrong);
  }
});

test("the scheme's name is case-insensitive", async ({ server, one }) => {
  const credentials = basic(one.clientId, one.clientSecret).slice('Basic '.length);
  for (const scheme of ['Basic', 'basic', 'BASIC', 'bAsIc']) {
    expectStatus(await balanceWith(server, `${scheme} ${credentials}`), 200);
  }
});

test('below the base address authentication comes before path, method and body', async ({ server }) => {
  const nobody = clientOf(server);
  const json = { 'content-type': 'application/json' };
  const replies = [
    await nobody.get('/nowhere'),
    await nobody.request('DELETE', '/pix-in'),
    await nobody.request('PUT', '/cashout', {}),
    await nobody.send('POST', '/pix-in', 'x'.repeat(70_000), json),
    await nobody.send('POST', '/pix-in', '{', json),
    await nobody.send('POST', '/pix-in', '{}', { 'content-type': 'text/plain' }),
    await nobody.post('/cashout', { amount: 0 }),
    await nobody.get('/pix-in'),
    await nobody.get('/webhooks'),
    await nobody.post('/sandbox/pix-in/nowhere/pay'),
    await nobody.post('/sandbox/transactions/nowhere/messages', {}),
  ];
  for (const reply of replies) expectRefused(reply, 401, 'INVALID_CREDENTIALS', missing);
});

/** `account set`, and then the reply that the running server gives within a second. */
async function afterSet(server: Server, client: Merchant, change: string[], expected: string): Promise<void> {
  await cliJson(server, ['account', 'set', client.accountId, ...change]);
  await until(
    async () => {
      const reply = await client.get('/balance');
      return (reply.status === 200 ? 'ok' : text(reply.body, 'message')) === expected;
    },
    honouredMs,
    `after ${change.join(' ')}: ${expected}`,
  );
}

test('4. to 6. user, address and account are checked in this order, and changes count at once', async ({
  server,
}) => {
  const client = await merchant(server);
  const all = ['--status', 'inactive', '--user-status', 'inactive', '--allow-ip', '203.0.113.7'];
  await afterSet(server, client, all, userInactive);
  expectRefused(await client.get('/balance'), 403, 'USER_INACTIVE', userInactive);
  expectRefused(await client.get('/nowhere'), 403, 'USER_INACTIVE', userInactive);
  const wrongSecret = await balanceWith(server, basic(client.clientId, 'wrong'));
  expectRefused(wrongSecret, 401, 'INVALID_CREDENTIALS', wrong);

  await afterSet(server, client, ['--user-status', 'active'], ipNotAllowed);
  expectRefused(await client.get('/balance'), 403, 'IP_NOT_ALLOWED', ipNotAllowed);
  expectRefused(await client.request('DELETE', '/balance'), 403, 'IP_NOT_ALLOWED', ipNotAllowed);

  await afterSet(server, client, ['--allow-ip', '127.0.0.1'], accountInactive);
  expectRefused(await client.get('/balance'), 403, 'ACCOUNT_INACTIVE', accountInactive);
  expectRefused(await client.post('/pix-in', { amount: 0 }), 403, 'ACCOUNT_INACTIVE', accountInactive);

  await afterSet(server, client, ['--status', 'active'], 'ok');
});

test('the list of addresses: several, and * for any', async ({ server }) => {
  const several = await merchant(server, ['--allow-ip', '10.0.0.1', '--allow-ip', '127.0.0.1']);
  expectStatus(await several.get('/balance'), 200);
  const any = await merchant(server, ['--allow-ip', '*']);
  expectStatus(await any.get('/balance'), 200);
  const elsewhere = await merchant(server, ['--allow-ip', '127.0.0.2', '--allow-ip', '10.0.0.1']);
  expectRefused(await elsewhere.get('/balance'), 403, 'IP_NOT_ALLOWED', ipNotAllowed);
});

test('without a trusted proxy X-Forwarded-For counts for nothing', async ({ server, one }) => {
  const forged = { 'x-forwarded-for': '203.0.113.7' };
  expectStatus(await one.get('/balance', forged), 200);
  const elsewhere = await merchant(server, ['--allow-ip', '203.0.113.7']);
  expectRefused(await elsewhere.get('/balance', forged), 403, 'IP_NOT_ALLOWED', ipNotAllowed);
});

async function forwarded(client: Merchant, addresses: string | null): Promise<string> {
  const reply = await client.get('/balance', addresses === null ? {} : { 'x-forwarded-for': addresses });
  const body: Json = reply.body;
  return reply.status === 200 ? 'ok' : text(body, 'error');
}

test('behind one proxy the last entry of X-Forwarded-For counts', async ({ proxied }) => {
  const [client, loopback, any] = await Promise.all([
    merchant(proxied, ['--allow-ip', '203.0.113.7']),
    merchant(proxied, ['--allow-ip', '127.0.0.1']),
    merchant(proxied, ['--allow-ip', '*']),
  ]);
  assert.is(await forwarded(client, '203.0.113.7'), 'ok');
  assert.is(await forwarded(client, '10.0.0.1, 203.0.113.7'), 'ok');
  assert.is(await forwarded(client, '10.0.0.1,203.0.113.7'), 'ok');
  // An IPv4-mapped IPv6 address counts as its IPv4 address.
  for (const mapped of [
    '::ffff:203.0.113.7',
    '::FFFF:cb00:7107',
    '0:0:0:0:0:ffff:203.0.113.7',
    '0:0::ffff:cb00:7107',
  ])
    assert.is(await forwarded(client, mapped), 'ok', mapped);
  for (const other of ['::203.0.113.7', '::ffff:0:cb00:7107', '64:ff9b::203.0.113.7', '::ffff:cb00:7108'])
    assert.is(await forwarded(client, other), 'IP_NOT_ALLOWED', other);
  assert.is(await forwarded(client, '203.0.113.7, 10.0.0.1'), 'IP_NOT_ALLOWED');
  assert.is(await forwarded(client, '203.0.113.8'), 'IP_NOT_ALLOWED');
  // An unknown address: only * lets it in.
  for (const unknown of [null, '', 'garbage', '2001:db8::1']) {
    assert.is(await forwarded(client, unknown), 'IP_NOT_ALLOWED', `${unknown}`);
    assert.is(await forwarded(loopback, unknown), 'IP_NOT_ALLOWED', `${unknown}`);
    assert.is(await forwarded(any, unknown), 'ok', `${unknown}`);
  }
});

test('behind two proxies a list that is too short means an unknown address', async ({ proxied }) => {
  const [client, any] = await Promise.all([
    merchant(proxied, ['--allow-ip', '203.0.113.7']),
    merchant(proxied, ['--allow-ip', '*']),
  ]);
  await proxied.restart({ TRUSTED_PROXY_HOPS: '2' });
  assert.is(await forwarded(client, '203.0.113.7, 10.0.0.1'), 'ok');
  assert.is(await forwarded(client, '203.0.113.7, 10.0.0.2, 10.0.0.1'), 'IP_NOT_ALLOWED');
  assert.is(await forwarded(client, '203.0.113.7'), 'IP_NOT_ALLOWED');
  assert.is(await forwarded(client, null), 'IP_NOT_ALLOWED');
  assert.is(await forwarded(any, '203.0.113.7'), 'ok');
});

test('rotate-secret gives a new pair, and the old one stops within a second', async ({ server }) => {
  const client = await merchant(server);
  const pair = await cliJson(server, ['account', 'rotate-secret', client.accountId]);
  await until(async () => (await client.get('/balance')).status === 401, honouredMs, 'the old pair stops');
  expectRefused(await client.get('/balance'), 401, 'INVALID_CREDENTIALS', wrong);
  const renewed = basic(text(pair, 'clientId'), text(pair, 'clientSecret'));
  expectStatus(await balanceWith(server, renewed), 200);
  assert.is.not(text(pair, 'clientSecret'), client.clientSecret);
});

run();
