import { rm } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { cli, cliJson } from '../support/cli.ts';
import { merchant, merchants } from '../support/client.ts';
import { expectError, timestamp, unknownId } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, shown, tell, told, transfer } from '../support/flows.ts';
import {
  at,
  isObject,
  type Json,
  type JsonObject,
  keys,
  list,
  object,
  text,
  whole,
} from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { eachOf, until } from '../support/wait.ts';

const { test, run } = fixtureSuite('cli', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const server = await startServer({ env: { STUCK_AFTER_S: '1' } });
  defer(() => server.stop());
  const client = await merchant(server, [
    '--name',
    'Loja',
    '--balance',
    '100000',
    '--webhook-url',
    receiver.url(),
  ]);
  return { server, receiver, client };
});

/** A command that must fail with an exit code; its document on stdout is the error object. */
async function expectFails(server: Server, code: number, args: string[]): Promise<Json> {
  const result = await cli(server, [...args, '--json']);
  const told = `pixstate ${args.join(' ')}: ${result.code} ${result.stdout}${result.stderr}`;
  assert.is(result.code, code, told);
  assert.ok(isObject(result.json), told);
  assert.ok(text(result.json, 'error').length > 0, told);
  assert.ok(text(result.json, 'message').length > 0, told);
  return result.json;
}

async function accountOf(server: Server, accountId: string): Promise<Json> {
  const accounts = list(await cliJson(server, ['account', 'list']), 'accounts');
  const found = accounts.find((account) => text(account, 'accountId') === accountId);
  assert.ok(found !== undefined, `no account ${accountId}`);
  return found ?? null;
}

async function attention(server: Server): Promise<Json[]> {
  const document = await cliJson(server, ['attention', '--limit', '10000']);
  assert.equal(keys(document), ['items', 'more']);
  return list(document, 'items');
}

const accountKeys = [
  'accountId',
  'allowedIps',
  'balance',
  'clientId',
  'name',
  'status',
  'userStatus',
  'webhooks',
];

test('account create prints the credentials and the webhooks with their secrets', async ({
  server,
  receiver,
}) => {
  const [plain, filtered] = [receiver.url('/a'), receiver.url('/b')];
  const created = await cliJson(server, [
    ...[
      'account',
      'create',
      '--webhook-url',
      plain,
      '--webhook-url',
      `${filtered},pix-in.*,cashout.completed`,
    ],
  ]);
  assert.equal(keys(created), ['accountId', 'clientId', 'clientSecret', 'webhooks']);
  const webhooks = list(created, 'webhooks');
  assert.equal(webhooks.map((webhook) => text(webhook, 'url')).sort(), [plain, filtered].sort());
  for (const webhook of webhooks) {
    assert.equal(keys(webhook), ['secret', 'url']);
    assert.match(text(webhook, 'secret'), /^whsec_/);
  }
  // 256 random bits.
  assert.ok(text(created, 'clientSecret').length >= 43);
  const listed = await accountOf(server, text(created, 'accountId'));
  const events = new Map(
    list(listed, 'webhooks').map((webhook) => [text(webhook, 'url'), at(webhook, 'events')]),
  );
  assert.is(events.get(plain), null);
  assert.equal(events.get(filtered), ['pix-in.*', 'cashout.completed']);
});

test('account create --count makes accounts alike', async ({ server }) => {
  const made = await merchants(server, 3, ['--balance', '700']);
  assert.is(new Set(made.map(({ accountId }) => accountId)).size, 3);
  assert.is(new Set(made.map(({ clientId }) => clientId)).size, 3);
  for (const one of made) assert.is(await one.balance(), 700);
});

test('account create says what is wrong, with exit 2, and makes nothing', async ({ server, receiver }) => {
  const before = list(await cliJson(server, ['account', 'list']), 'accounts').length;
  const url = receiver.url();
  const eleven = Array.from({ length: 11 }, (_, n) => ['--webhook-url', receiver.url(`/${n}`)]).flat();
  const wrong = [
    ['--webhook-url', `${url},pix-in.nonsense`],
    ['--webhook-url', `${url},nonsense`],
    ['--webhook-url', 'not a url'],
    ['--webhook-url', 'ftp://example.com/x'],
    ['--webhook-url', url, '--webhook-url', url],
    eleven,
    ['--allow-ip', '999.1.1.1'],
    ['--allow-ip', 'localhost'],
    ['--balance', '10.5'],
    ['--balance', 'much'],
    ['--expires-in', '0'],
    ['--max-amount', 'x'],
    ['--fees', '{'],
    ['--fees', '{"pixIn":{"fixed":"x"}}'],
    ['--count', 'x'],
    ['--nonsense'],
  ];
  await eachOf(wrong, 3, async (args) => {
    await expectFails(server, 2, ['account', 'create', ...args]);
  });
  assert.is(list(await cliJson(server, ['account', 'list']), 'accounts').length, before);
});

test('account list shows every account', async ({ server, receiver, client }) => {
  const document = await cliJson(server, ['account', 'list']);
  assert.equal(keys(document), ['accounts']);
  for (const account of list(document, 'accounts')) assert.equal(keys(account), accountKeys);
  assert.equal(await accountOf(server, client.accountId), {
    accountId: client.accountId,
    clientId: client.clientId,
    name: 'Loja',
    status: 'active',
    userStatus: 'active',
    allowedIps: ['127.0.0.1'],
    balance: await client.balance(),
    webhooks: [{ url: receiver.url(), events: null }],
  });
});

test('account set changes what it names and shows the account', async ({ server, receiver }) => {
  const client = await merchant(server, ['--webhook-url', receiver.url('/kept')]);
  const set = (...change: string[]) => cliJson(server, ['account', 'set', client.accountId, ...change]);
  const inactive = await set('--status', 'inactive', '--user-status', 'inactive');
  assert.equal(keys(inactive), accountKeys);
  assert.is(text(inactive, 'status'), 'inactive');
  assert.is(text(inactive, 'userStatus'), 'inactive');
  assert.equal(at(inactive, 'allowedIps'), ['127.0.0.1']);
  const active = await set('--status', 'active', '--user-status', 'active', '--allow-ip', '*');
  assert.is(text(active, 'status'), 'active');
  assert.equal(at(active, 'allowedIps'), ['*']);
  await set('--max-amount', '5000', '--allow-ip', '127.0.0.1', '--allow-ip', '10.0.0.1');
  await until(
    async () => (await client.post('/pix-in', { amount: 5_001 })).status === 400,
    1_000,
    'the maximum',
  );
  assert.equal(at(await accountOf(server, client.accountId), 'allowedIps'), ['127.0.0.1', '10.0.0.1']);

  const replaced = await set('--webhook-url', receiver.url('/new'), '--webhook-url', receiver.url('/kept'));
  for (const webhook of list(replaced, 'webhooks')) {
    const fresh = text(webhook, 'url') === receiver.url('/new');
    assert.equal(keys(webhook), fresh ? ['events', 'secret', 'url'] : ['events', 'url']);
  }
  const twice = ['--webhook-url', receiver.url('/x'), '--webhook-url', receiver.url('/x')];
  await Promise.all([
    expectFails(server, 2, ['account', 'set', client.accountId, ...twice]),
    expectFails(server, 2, ['account', 'set', client.accountId, ...twice.slice(2), '--no-webhook-url']),
    expectFails(server, 2, ['account', 'set', client.accountId, '--no-max-amount', '--max-amount', '5']),
    expectFails(server, 2, ['account', 'set', client.accountId, '--status', 'asleep']),
    expectFails(server, 2, ['account', 'set', client.accountId, '--allow-ip', '1.2.3']),
    expectFails(server, 1, ['account', 'set', unknownId, '--status', 'active']),
  ]);
});

test('account rotate-secret and rotate-webhook-secret', async ({ server, receiver }) => {
  const url = receiver.url('/rotated');
  const client = await merchant(server, ['--webhook-url', url]);
  const pair = await cliJson(server, ['account', 'rotate-secret', client.accountId]);
  assert.equal(keys(pair), ['clientId', 'clientSecret']);
  const webhook = await cliJson(server, ['account', 'rotate-webhook-secret', client.accountId, url]);
  assert.equal(keys(webhook), ['secret', 'url']);
  await Promise.all([
    expectFails(server, 1, ['account', 'rotate-secret', unknownId]),
    expectFails(server, 1, ['account', 'rotate-webhook-secret', client.accountId, receiver.url('/other')]),
  ]);
});

test('account adjust moves the balance, once for an id', async ({ server }) => {
  const client = await merchant(server);
  const adjust = (cents: number, ...more: string[]) => [
    ...['account', 'adjust', client.accountId, String(cents), '--reason', 'a correction', ...more],
  ];
  const { accountId } = client;
  assert.equal(await cliJson(server, adjust(5_000, '--id', 'a-1')), {
    accountId,
    balance: 5_000,
    applied: true,
  });
  assert.equal(await cliJson(server, adjust(5_000, '--id', 'a-1')), {
    accountId,
    balance: 5_000,
    applied: false,
  });
  await expectFails(server, 1, adjust(6_000, '--id', 'a-1'));
  assert.equal(await cliJson(server, adjust(-2_000)), { accountId, balance: 3_000, applied: true });
  assert.equal(await cliJson(server, adjust(-2_000)), { accountId, balance: 1_000, applied: true });
  await until(async () => (await client.balance()) === 1_000, 1_000, 'the running server shows the balance');
  await expectFails(server, 1, adjust(-1_001));
  assert.is(await client.balance(), 1_000);
  const below = await cliJson(server, adjust(-1_001, '--allow-negative'));
  assert.equal(below, { accountId, balance: -1, applied: true });
  await until(async () => (await client.balance()) === -1, 1_000, 'the running server shows the balance');
  await Promise.all([
    expectFails(server, 2, ['account', 'adjust', accountId, '10.5', '--reason', 'x']),
    expectFails(server, 2, ['account', 'adjust', accountId, '10']),
    expectFails(server, 1, ['account', 'adjust', unknownId, '10', '--reason', 'x']),
  ]);
});

test('the server and an adjustment beside it do not lose each other', async ({ server }) => {
  const client = await merchant(server, ['--balance', '100000000']);
  const adjustments = Array.from({ length: 4 }, () =>
    cliJson(server, ['account', 'adjust', client.accountId, '1000', '--reason', 'beside']),
  );
  let sent = 0;
  let done = false;
  const all = Promise.all(adjustments).finally(() => {
    done = true;
  });
  while (!done) {
    await transfer(client);
    sent += 1;
  }
  await all;
  assert.ok(sent > 0);
  await until(
    async () => (await client.balance()) === 100_000_000 + 4_000 - sent * 1_057,
    1_000,
    'the balance',
  );
});

test('inspect shows a transaction, its snapshot and its whole history', async ({ server, client }) => {
  const id = text(await charge(client, 10_000, { externalRef: 'inspected' }), 'id');
  const pending = await cliJson(server, ['inspect', id]);
  assert.ok(list(pending, 'timers').length > 0, 'the expiry is no timer');
  await told(client, id, 'PAY', { novelty: 'kept' });
  expectError(await tell(client, id, 'DISMISS', undefined, 'no'), 409, 'MESSAGE_NOT_ACCEPTED');
  await told(client, id, 'REFUND', { reason: 'asked for' });
  const inspected = await cliJson(server, ['inspect', id]);
  assert.equal(keys(inspected), ['deliveries', 'entries', 'snapshot', 'timers', 'transaction']);
  assert.equal(at(inspected, 'transaction'), await shown(client, 'pix-in', id));
  assert.equal(keys(inspected, 'snapshot'), ['context', 'machine', 'value', 'version']);
  assert.is(at(inspected, 'snapshot.value'), 'refunded');
  assert.is(list(inspected, 'timers').length, 0);
  const entries = list(inspected, 'entries');
  for (const entry of entries) {
    assert.equal(keys(entry), [
      'at',
      'by',
      'door',
      'events',
      'from',
      'message',
      'postings',
      'refusal',
      'seq',
      'to',
    ]);
    assert.match(text(entry, 'at'), timestamp);
    const sum = list(entry, 'postings').reduce(
      (total: number, posting) => total + whole(posting, 'amount'),
      0,
    );
    assert.is(sum, 0, 'the postings do not sum to zero');
    for (const posting of list(entry, 'postings')) assert.equal(keys(posting), ['amount', 'leg']);
  }
  assert.equal(
    entries.map((entry) => at(entry, 'to')),
    ['waiting_payment', 'paid', 'paid', 'refunded'],
  );
  const seqs = entries.map((entry) => whole(entry, 'seq'));
  assert.equal(
    seqs,
    [...seqs].sort((a, b) => a - b),
  );
  const [created, paid, refused, refunded] = entries as [Json, Json, Json, Json];
  assert.is(list(created, 'postings').length, 0);
  assert.is(list(created, 'events').length, 1);
  assert.is(text(paid, 'message.type'), 'PAY');
  assert.is(text(paid, 'message.data.novelty'), 'kept');
  const legs = (entry: Json) =>
    Object.fromEntries(
      list(entry, 'postings').map((posting) => [text(posting, 'leg'), whole(posting, 'amount')]),
    );
  assert.equal(legs(paid), { bank: -10_000, available: 9_900, fees: 100 });
  assert.is(text(refused, 'from'), 'paid');
  assert.equal(at(refused, 'postings'), []);
  assert.equal(at(refused, 'events'), []);
  assert.equal(legs(refunded), { bank: 10_000, available: -9_900, fees: -100 });
  assert.is(list(inspected, 'deliveries').length, 3);
});

test('the postings of a cashout', async ({ server, client }) => {
  const id = text(await transfer(client), 'id');
  await told(client, id, 'SETTLE');
  const entries = list(await cliJson(server, ['inspect', id]), 'entries');
  const total: Record<string, number> = {};
  for (const entry of entries) {
    for (const posting of list(entry, 'postings')) {
      const leg = text(posting, 'leg');
      total[leg] = (total[leg] ?? 0) + whole(posting, 'amount');
    }
  }
  assert.is(total.available, -1_057);
  assert.is(total.clearing, 0);
  assert.is(total.bank, 1_007);
  assert.is(total.fees, 50);
});

test('inspect of what is not there exits with 1', async ({ server }) => {
  await Promise.all([expectFails(server, 1, ['inspect', unknownId]), expectFails(server, 2, ['inspect'])]);
});

test('send goes through the same door as the bank', async ({ server, client }) => {
  const id = text(await charge(client, 10_000), 'id');
  const before = await client.balance();
  const data = JSON.stringify({ payer: { name: 'Quem pagou' } });
  const paid = await cliJson(server, ['send', id, 'PAY', '--id', 'm-1', '--data', data]);
  const { applied, ...transaction } = object(paid);
  assert.is(applied, true);
  assert.equal(await shown(client, 'pix-in', id), transaction);
  assert.is(text(paid, 'customer.name'), 'Quem pagou');
  assert.is(await client.balance(), before + 9_900);
  const again = await cliJson(server, ['send', id, 'PAY', '--id', 'm-1', '--data', data]);
  assert.is(at(again, 'applied'), false);
  const refused = await expectFails(server, 1, ['send', id, 'DISMISS']);
  assert.is(text(refused, 'error'), 'MESSAGE_NOT_ACCEPTED');
  assert.is(text(refused, 'status'), 'paid');
  assert.equal(
    list(refused, 'allowed')
      .map((type) => text(type))
      .sort(),
    ['CHARGEBACK', 'PROTEST', 'REFUND'],
  );
  await Promise.all([
    expectFails(server, 2, ['send', id, 'NONSENSE']),
    expectFails(server, 2, ['send', id, 'REFUND', '--data', '{']),
    expectFails(server, 2, ['send', id, 'REFUND', '--data', '[]']),
    expectFails(server, 2, ['send', id]),
    expectFails(server, 1, ['send', unknownId, 'PAY']),
  ]);
  assert.is(await client.balance(), before + 9_900);
});

async function itemOf(server: Server, kind: string, id: string): Promise<JsonObject> {
  const found = await until(
    async () =>
      (await attention(server)).find(
        (item) => text(item, 'kind') === kind && JSON.stringify(item).includes(id),
      ),
    10_000,
    `${kind} of ${id}`,
  );
  return object(found);
}

test('a cashout that the bank stays silent about is stuck, not failed', async ({ server, client }) => {
  const before = await client.balance();
  const id = text(await transfer(client, 1_007), 'id');
  const item = await itemOf(server, 'stuck', id);
  assert.equal(keys(item), [
    'about',
    'account',
    'amount',
    'code',
    'data',
    'id',
    'kind',
    'next',
    'since',
    'what',
  ]);
  assert.match(text(item, 'since'), timestamp);
  for (const name of ['what', 'next', 'id']) assert.ok(text(item, name).length > 0, name);
  assert.is(await client.balance(), before - 1_057);
  assert.is(text(await shown(client, 'cashout', id), 'status'), 'pending');
  await told(client, id, 'SETTLE');
  const items = await attention(server);
  assert.is(
    items.some((other) => text(other, 'kind') === 'stuck' && JSON.stringify(other).includes(id)),
    false,
    'a completed cashout is still stuck',
  );
});

test('attention done takes an item off the list; its entry stays', async ({ server, client }) => {
  const id = text(await charge(client, 10_000), 'id');
  expectError(await tell(client, id, 'REFUND', undefined, 'refused once'), 409, 'MESSAGE_NOT_ACCEPTED');
  const item = await itemOf(server, 'refused', id);
  const itemId = text(item, 'id');
  assert.equal(await cliJson(server, ['attention', 'done', itemId]), { done: itemId });
  assert.is(
    (await attention(server)).some((other) => text(other, 'id') === itemId),
    false,
  );
  assert.is(list(await cliJson(server, ['inspect', id]), 'entries').length, 2);
  await expectFails(server, 1, ['attention', 'done', 'nothing of the kind']);
});

test('verify replays every journal', async ({ server }) => {
  const plain = await cliJson(server, ['verify']);
  assert.equal(keys(plain), ['accounts', 'batches', 'differences', 'entries', 'ok']);
  assert.is(at(plain, 'ok'), true);
  assert.equal(at(plain, 'differences'), []);
  assert.ok(whole(plain, 'accounts') >= 5);
  assert.ok(whole(plain, 'entries') >= whole(plain, 'batches'));
  const full = await cliJson(server, ['verify', '--heads', '--decide']);
  assert.equal(keys(full), ['accounts', 'batches', 'differences', 'entries', 'heads', 'ok']);
  assert.is(at(full, 'ok'), true);
  for (const head of list(full, 'heads')) {
    assert.equal(keys(head), ['account', 'hash', 'seq']);
    assert.match(text(head, 'hash'), /^[0-9a-f]{64}$|^[A-Za-z0-9+/_-]{43}=?$/);
    assert.ok(whole(head, 'seq') >= 0);
  }
  const again = await cliJson(server, ['verify', '--heads']);
  assert.equal(at(again, 'heads'), at(full, 'heads'));
});

test('verify replays one account alone, and knows no other', async ({ server, client }) => {
  const one = await cliJson(server, ['verify', '--heads', '--account', client.accountId]);
  assert.equal([at(one, 'ok'), at(one, 'accounts')], [true, 1]);
  assert.equal(
    list(one, 'heads').map((head) => text(head, 'account')),
    [client.accountId],
  );
  for (const id of ['acc_nobody', '', 'x'.repeat(5_000)]) {
    const none = await cli(server, ['verify', '--account', id]);
    assert.equal([none.code, none.stdout], [1, ''], id.slice(0, 20));
    assert.match(none.stderr, /^error: no account .*\n$/);
  }
});

test('rebuild makes an account again beside the server, or all, and knows no other', async ({
  server,
  client,
}) => {
  const id = text(await charge(client, 10_000, { externalRef: 'rebuilt' }), 'id');
  const before = (await client.get('/pix-in?externalRef=rebuilt')).body;
  const one = await cliJson(server, ['rebuild', client.accountId]);
  assert.equal(keys(one), ['accounts', 'entries', 'ok']);
  assert.equal([at(one, 'ok'), at(one, 'accounts')], [true, 1]);
  assert.ok(whole(one, 'entries') > 0);
  assert.equal((await client.get(`/pix-in?id=${id}`)).body, before);
  const all = await cliJson(server, ['rebuild']);
  assert.ok(whole(all, 'accounts') > 1);
  assert.is(at(await cliJson(server, ['verify']), 'ok'), true);
  const none = await cli(server, ['rebuild', 'acc_nobody']);
  assert.equal([none.code, none.stderr], [1, 'error: no account acc_nobody\n']);
});

test('a list of an account that is none is no empty list', async ({ server }) => {
  for (const args of [
    ['attention'],
    ['attention', 'done'],
    ['deliveries', 'list'],
    ['deliveries', 'retry'],
    ['inspect', 'nothing'],
  ]) {
    const none = await cli(server, [...args, '--account', 'acc_nobody']);
    assert.equal(
      [none.code, none.stdout, none.stderr],
      [1, '', 'error: no account acc_nobody\n'],
      args.join(' '),
    );
  }
});

test('wrong usage exits with 2', async ({ server, client }) => {
  const wrong = [
    ['nonsense'],
    ['account', 'nonsense'],
    ['account', 'list', '--nonsense'],
    ['verify', '--nonsense'],
    ['deliveries', 'retry'],
    ['attention', 'nonsense'],
    ['account', 'set', client.accountId, '--balance', '1'],
  ];
  await eachOf(wrong, 3, async (args) => {
    const result = await cli(server, [...args, '--json']);
    assert.is(result.code, 2, `${args.join(' ')}: ${result.code} ${result.stdout}${result.stderr}`);
  });
});

test('without --json a person reads the same, and errors go to stderr', async ({ server, client }) => {
  const listed = await cli(server, ['account', 'list']);
  assert.is(listed.code, 0);
  assert.ok(listed.stdout.includes(client.accountId));
  const missing = await cli(server, ['inspect', unknownId]);
  assert.is(missing.code, 1);
  assert.ok(missing.stderr.trim().length > 0);
});

test('with --json stdout is one document, whatever the log level', async ({ server }) => {
  const result = await cli(server, ['verify', '--json'], { LOG_LEVEL: 'trace' });
  assert.is(result.code, 0);
  assert.ok(isObject(result.json), result.stdout);
});

test('commands work without a server, and serve serves', async () => {
  const dataDir = await temporaryFolder();
  try {
    const created = await cliJson(dataDir, ['account', 'create', '--name', 'Antes', '--balance', '123']);
    const server = await startServer({ dataDir, entry: ['dist/src/cli/pixstate.js', 'serve'] });
    try {
      const accounts = list(await cliJson(server, ['account', 'list']), 'accounts');
      // The store was not empty, so there is no demo account.
      assert.equal(
        accounts.map((account) => text(account, 'accountId')),
        [text(created, 'accountId')],
      );
    } finally {
      assert.is(await server.stop(), 0);
    }
    assert.is(at(await cliJson(dataDir, ['verify']), 'ok'), true);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

run();
