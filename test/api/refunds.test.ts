/** Refunds, cancelling, keys of charges and what the bank says later, over HTTP (additions). */
import * as assert from 'uvu/assert';
import { cli, cliJson } from '../support/cli.ts';
import { type Client, merchant, type Reply } from '../support/client.ts';
import {
  expectError,
  expectInvalidFields,
  expectStatus,
  timestamp,
  unknownId,
  uuidV4,
} from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, events, newEndToEndId, shown, tell, told, transfer } from '../support/flows.ts';
import { at, type Json, type JsonObject, keys, list, text, whole } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const { test, run } = fixtureSuite('refunds', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const server = await startServer({ env: { STUCK_AFTER_S: '1', SANDBOX_DELAY_MS: '50' } });
  defer(() => server.stop());
  const hook = [
    '--webhook-url',
    `${receiver.url()},pix-in.*,cashout.*,refund.*,chargeback.booked,return.booked`,
  ];
  const [client, other, plain] = await Promise.all([
    merchant(server, [...hook, '--balance', '1000000']),
    merchant(server),
    merchant(server, ['--webhook-url', receiver.url('/plain')]),
  ]);
  return { server, receiver, client, other, plain };
});

async function paid(client: Client, amount = 10_000, data: JsonObject = {}): Promise<string> {
  const id = text(await charge(client, amount), 'id');
  await told(client, id, 'PAY', data);
  return id;
}

function refund(client: Client, id: string, body: JsonObject = {}): Promise<Reply> {
  return client.post(`/pix-in/${id}/refunds`, body);
}

async function refunded(client: Client, id: string, body: JsonObject = {}): Promise<Json> {
  return expectStatus(await refund(client, id, body), 201);
}

function ended(client: Client, refundId: string, status: string): Promise<Json> {
  return until(
    async () => {
      const found = expectStatus(await client.get(`/refunds?id=${refundId}`), 200);
      return text(found, 'status') === status && found;
    },
    10_000,
    `the refund is ${status}`,
  );
}

async function amounts(client: Client, id: string): Promise<[number, number, number]> {
  const one = await shown(client, 'pix-in', id);
  return [whole(one, 'refundedAmount'), whole(one, 'chargedbackAmount'), whole(one, 'refundableAmount')];
}

test('a part goes back to the payer, then the rest, and the charge is refunded', async ({ client }) => {
  const id = await paid(client);
  assert.equal(await amounts(client, id), [0, 0, 10_000]);
  const before = await client.balance();
  const part = await refunded(client, id, { amount: 5_050, reason: 'one of two', idempotencyKey: 'part-1' });
  assert.equal(keys(part), [
    ...['amount', 'completedAt', 'createdAt', 'currency', 'fee', 'id', 'idempotencyKey', 'reason'],
    ...['returnId', 'status', 'transactionId', 'type', 'updatedAt'],
  ]);
  assert.match(text(part, 'id'), uuidV4);
  assert.equal(
    ['type', 'transactionId', 'status', 'amount', 'currency', 'fee', 'reason', 'idempotencyKey'].map((name) =>
      at(part, name),
    ),
    ['refund', id, 'pending', 5_050, 'BRL', { returned: 51 }, 'one of two', 'part-1'],
  );
  assert.is(await client.balance(), before - 4_999);
  const done = await ended(client, text(part, 'id'), 'completed');
  assert.match(text(done, 'completedAt'), timestamp);
  assert.match(text(done, 'returnId'), /^D[0-9A-Za-z]{31}$/);
  assert.equal(await amounts(client, id), [5_050, 0, 4_950]);
  const rest = await refunded(client, id);
  assert.equal([at(rest, 'amount'), at(rest, 'fee.returned')], [4_950, 49]);
  await ended(client, text(rest, 'id'), 'completed');
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'refunded');
  assert.is(await client.balance(), before - 9_900);
  const all = expectStatus(await client.get(`/pix-in/${id}/refunds`), 200);
  assert.is(at(all, 'transactionId'), id);
  assert.equal(
    list(all, 'data').map((one) => text(one, 'id')),
    [text(rest, 'id'), text(part, 'id')],
  );
  assert.equal((await events(client, id)).slice(2), [
    ...['refund.pending', 'refund.completed', 'refund.pending', 'refund.completed'],
    'pix-in.refunded',
  ]);
});

test('a refund that fails gives its part back, and one that stays pending holds it', async ({
  server,
  client,
}) => {
  const id = await paid(client);
  const before = await client.balance();
  const failing = await refunded(client, id, { amount: 1_003, idempotencyKey: 'fails' });
  const failed = await ended(client, text(failing, 'id'), 'failed');
  assert.equal([at(failed, 'completedAt'), at(failed, 'fee.returned')], [null, 10]);
  assert.is(await client.balance(), before);
  const silent = await refunded(client, id, { amount: 9_906 });
  expectInvalidFields(await refund(client, id, { amount: 95 }), ['amount']);
  assert.match((await refund(client, id, { amount: 95 })).text, /at most 94 cents/);
  await refunded(client, id);
  const none = await refund(client, id);
  assert.match(none.text, /at most 0 cents/);
  expectInvalidFields(none, ['amount']);
  const again = expectError(await refund(client, id, { idempotencyKey: 'fails' }), 409, 'DUPLICATE_REQUEST');
  assert.equal([at(again, 'transactionId'), at(again, 'refundId')], [id, text(failing, 'id')]);
  await until(
    async () => {
      const items = list(await cliJson(server, ['attention', '--kind', 'stuck']), 'items');
      return items.some((item) => text(item, 'id') === text(silent, 'id'));
    },
    10_000,
    'the refund is stuck',
  );
  const refundId = text(silent, 'id');
  await told(client, id, 'REFUND_DONE', { refundId });
  assert.is(at(expectStatus(await tell(client, id, 'REFUND_DONE', { refundId }), 200), 'applied'), false);
  const twice = expectError(
    await tell(client, id, 'REFUND_FAILED', { refundId }),
    409,
    'MESSAGE_NOT_ACCEPTED',
  );
  assert.is(at(twice, 'status'), 'refunded');
  assert.is(await client.balance(), before - 9_900);
});

test('the checks come in their order', async ({ client, other }) => {
  const id = await paid(client);
  const waiting = text(await charge(client), 'id');
  const bad = { amount: 0, reason: '', idempotencyKey: 'x'.repeat(256), other: 1 };
  expectInvalidFields(await refund(client, 'nothing', bad), Object.keys(bad));
  for (const path of ['nothing', unknownId])
    expectError(await refund(client, path), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await refund(other, id), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await client.get(`/pix-in/${unknownId}/refunds`), 404, 'TRANSACTION_NOT_FOUND');
  await refunded(client, id, { amount: 1, idempotencyKey: 'order' });
  const key = { amount: 99_999, idempotencyKey: 'order' };
  assert.is(
    at(expectError(await refund(client, waiting, key), 409, 'DUPLICATE_REQUEST'), 'transactionId'),
    id,
  );
  const state = expectError(await refund(client, waiting, { amount: 99_999 }), 409, 'REFUND_NOT_POSSIBLE');
  assert.is(at(state, 'status'), 'waiting_payment');
  await told(client, id, 'PROTEST');
  assert.match(text(expectError(await refund(client, id), 409, 'REFUND_NOT_POSSIBLE'), 'message'), /protest/);
  const old = new Date(Date.now() - 91 * 24 * 3_600_000).toISOString();
  const late = await paid(client, 10_000, { paidAt: old });
  assert.match(
    text(expectError(await refund(client, late), 409, 'REFUND_NOT_POSSIBLE'), 'message'),
    /90 days/,
  );
  assert.equal(await amounts(client, late), [0, 0, 0]);
  for (const query of ['', `?id=${id}&idempotencyKey=a`])
    expectError(await client.get(`/refunds${query}`), 400, 'INVALID_REQUEST');
  expectInvalidFields(await client.get('/refunds?id=1'), ['id']);
  expectError(await client.get(`/refunds?id=${unknownId}`), 404, 'TRANSACTION_NOT_FOUND');
  assert.is(at(expectStatus(await client.get('/refunds?idempotencyKey=order'), 200), 'amount'), 1);
  expectError(await other.get('/refunds?idempotencyKey=order'), 404, 'TRANSACTION_NOT_FOUND');
});

test('the balance must cover what is debited', async ({ other }) => {
  const id = await paid(other);
  const amount = await other.balance();
  const fee = { pix: { pixKeyType: 'CPF', pixKey: '12345678909' } };
  expectStatus(await other.post('/cashout', { amount: amount - 100, ...fee }), 201);
  expectError(await refund(other, id, { amount: 5_000 }), 400, 'INSUFFICIENT_BALANCE');
});

test('racing refunds never exceed the amount, and a key makes one', async ({ client }) => {
  const id = await paid(client);
  const replies = await Promise.all(Array.from({ length: 40 }, () => refund(client, id, { amount: 3_000 })));
  assert.is(replies.filter(({ status }) => status === 201).length, 3);
  const keyed = await paid(client);
  const racers = await Promise.all(
    Array.from({ length: 20 }, () => refund(client, keyed, { amount: 100, idempotencyKey: 'racing' })),
  );
  assert.equal(racers.map(({ status }) => status).sort(), [201, ...Array.from({ length: 19 }, () => 409)]);
});

test('parts of a chargeback and of a refund of the bank are booked and listed', async ({ client }) => {
  const id = await paid(client);
  const before = await client.balance();
  await told(client, id, 'CHARGEBACK', { amount: 2_500, reason: 'MED' });
  assert.equal(await amounts(client, id), [0, 2_500, 7_500]);
  assert.is(await client.balance(), before - 2_475);
  await told(client, id, 'REFUND', { amount: 2_500, reason: 'theirs' });
  const [own] = list(expectStatus(await client.get(`/pix-in/${id}/refunds`), 200), 'data');
  assert.equal(
    [at(own ?? null, 'status'), at(own ?? null, 'reason'), at(own ?? null, 'idempotencyKey')],
    ['completed', 'theirs', null],
  );
  assert.match(text(own ?? null, 'id'), uuidV4);
  await told(client, id, 'CHARGEBACK');
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'chargedback');
  assert.equal(await amounts(client, id), [2_500, 7_500, 0]);
  assert.is(await client.balance(), before - 9_900);
  assert.equal((await events(client, id)).slice(2), [
    ...['chargeback.booked', 'refund.completed', 'chargeback.booked', 'pix-in.chargedback'],
  ]);
});

test('a return that a refund is done by is debited once, whatever else it is told as', async ({ client }) => {
  const id = await paid(client);
  const before = await client.balance();
  const refundId = text(await refunded(client, id, { amount: 3_006 }), 'id');
  const returnId = 'D12345678202601021530abcdefghij2';
  await told(client, id, 'REFUND_DONE', { refundId, returnId });
  for (const type of ['REFUND', 'CHARGEBACK']) {
    const again = await tell(client, id, type, { amount: 3_006, returnId });
    assert.is(at(expectStatus(again, 200), 'applied'), false);
  }
  const other = text(await refunded(client, id, { amount: 1_006 }), 'id');
  const counted = await tell(client, id, 'REFUND_DONE', { refundId: other, returnId });
  assert.match(text(expectError(counted, 409, 'MESSAGE_NOT_ACCEPTED'), 'message'), `return ${returnId} is`);
  await told(client, id, 'REFUND_FAILED', { refundId: other });
  assert.equal(await amounts(client, id), [3_006, 0, 6_994]);
  assert.is(await client.balance(), before - 3_006 + 30);
});

test('a refund’s outcome is a repeat without the id of its return, too, at each door', async ({
  server,
  client,
}) => {
  const id = await paid(client);
  for (const [type, other, returnId] of [
    ['REFUND_DONE', 'REFUND_FAILED', 'D12345678202601021530abcdefghij3'],
    ['REFUND_FAILED', 'REFUND_DONE', 'D12345678202601021530abcdefghij4'],
  ] as const) {
    const refundId = text(await refunded(client, id, { amount: 1_006 }), 'id');
    await told(client, id, type, { refundId, returnId });
    const balance = await client.balance();
    for (const data of [{ refundId }, { refundId: refundId.toUpperCase(), returnId: null }]) {
      const again = expectStatus(await tell(client, id, type, data), 200);
      assert.is(at(again, 'applied'), false);
      const sent = await cliJson(server, ['send', id, type, '--data', JSON.stringify(data)]);
      assert.is(at(sent, 'applied'), false);
    }
    const { body } = await client.get(`/refunds?id=${refundId}`);
    assert.is(at(body, 'returnId'), returnId);
    assert.is(await client.balance(), balance);
    const items = list(await cliJson(server, ['attention', '--account', client.accountId]), 'items');
    assert.is(items.filter((item) => text(item, 'what').includes(refundId)).length, 0);
    // Another return's id, or another outcome, is no repeat.
    const strange = { refundId, returnId: 'D12345678202601021530abcdefghij5' };
    expectError(await tell(client, id, type, strange), 409, 'MESSAGE_NOT_ACCEPTED');
    expectError(await tell(client, id, other, { refundId }), 409, 'MESSAGE_NOT_ACCEPTED');
  }
});

test('a completed cashout comes back in parts, each once', async ({ client }) => {
  const id = text(await transfer(client, 1_007), 'id');
  const early = await tell(client, id, 'RETURN', { amount: 1 });
  expectError(early, 409, 'MESSAGE_NOT_ACCEPTED');
  await told(client, id, 'SETTLE', { endToEndId: newEndToEndId() });
  const before = await client.balance();
  const returnId = 'D12345678202601021530abcdefghij1';
  await told(client, id, 'RETURN', { returnId, amount: 400 });
  assert.is(
    at(expectStatus(await tell(client, id, 'RETURN', { returnId, amount: 400 }), 200), 'applied'),
    false,
  );
  expectError(await tell(client, id, 'RETURN', { returnId, amount: 401 }), 409, 'MESSAGE_NOT_ACCEPTED');
  expectError(await tell(client, id, 'RETURN', { amount: 608 }), 409, 'MESSAGE_NOT_ACCEPTED');
  await told(client, id, 'RETURN');
  const one = await shown(client, 'cashout', id);
  assert.equal([at(one, 'status'), at(one, 'returnedAmount')], ['completed', 1_007]);
  assert.is(await client.balance(), before + 1_007);
  const none = expectError(await tell(client, id, 'FAIL'), 409, 'MESSAGE_NOT_ACCEPTED');
  assert.equal(at(none, 'allowed'), []);
});

test('a URL without a filter gets no events of parts', async ({ plain, receiver }) => {
  const id = await paid(plain);
  const part = await refunded(plain, id, { amount: 100 });
  await ended(plain, text(part, 'id'), 'completed');
  await told(plain, id, 'REFUND');
  assert.equal(await events(plain, id), ['pix-in.waiting_payment', 'pix-in.paid', 'pix-in.refunded']);
  assert.ok(receiver.url().length > 0);
});

test('the events of a refund tell of it', async ({ client }) => {
  const id = await paid(client);
  const part = await refunded(client, id, { amount: 100, reason: 'why' });
  await ended(client, text(part, 'id'), 'completed');
  const all = list(expectStatus(await client.get(`/webhooks?transactionId=${id}`), 200), 'data');
  const payload = at(all.find((one) => text(one, 'event') === 'refund.completed') ?? null, 'payload');
  assert.is(at(payload, 'type'), 'refund');
  assert.equal(keys(at(payload, 'data')), [
    ...['amount', 'completed_at', 'created_at', 'currency', 'external_ref', 'fee', 'id', 'metadata'],
    ...['reason', 'return_id', 'status', 'transaction_id'],
  ]);
  assert.equal(
    [
      at(payload, 'data.id'),
      at(payload, 'data.transaction_id'),
      at(payload, 'data.fee'),
      at(payload, 'data.reason'),
    ],
    [text(part, 'id'), id, { returned: 1 }, 'why'],
  );
});

test('a charge that waits is canceled, once', async ({ client, other }) => {
  const id = text(await charge(client), 'id');
  expectInvalidFields(await client.post(`/pix-in/nothing/cancel`, { reason: 'a\nb' }), ['reason']);
  expectError(await client.post(`/pix-in/nothing/cancel`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await other.post(`/pix-in/${id}/cancel`), 404, 'TRANSACTION_NOT_FOUND');
  const canceled = expectStatus(await client.post(`/pix-in/${id}/cancel`, { reason: 'sold out' }), 200);
  assert.is(at(canceled, 'status'), 'canceled');
  assert.equal(expectStatus(await client.post(`/pix-in/${id}/cancel`), 200), canceled);
  assert.equal(await events(client, id), ['pix-in.waiting_payment', 'pix-in.canceled']);
  const late = await paid(client);
  const refused = expectError(await client.post(`/pix-in/${late}/cancel`), 409, 'MESSAGE_NOT_ACCEPTED');
  assert.equal(
    [at(refused, 'status'), at(refused, 'allowed')],
    ['paid', ['REFUND', 'CHARGEBACK', 'PROTEST']],
  );
});

test('the texts of refunds and charges keep to their lengths, and a request that failed leaves its key free', async ({
  client,
}) => {
  const id = await paid(client);
  const long = 'x'.repeat(255);
  for (const key of ['', `${long}x`, 'a\nb'])
    for (const path of ['/pix-in', `/pix-in/${id}/refunds`])
      expectInvalidFields(await client.post(path, { amount: 100, idempotencyKey: key }), ['idempotencyKey']);
  for (const reason of ['', 'x'.repeat(141), 'a\nb'])
    expectInvalidFields(await refund(client, id, { reason }), ['reason']);
  for (const amount of [0, 1.5, '1']) expectInvalidFields(await refund(client, id, { amount }), ['amount']);
  const key = { idempotencyKey: long };
  expectInvalidFields(await refund(client, id, { ...key, amount: 99_999 }), ['amount']);
  const waiting = text(await charge(client), 'id');
  expectError(await refund(client, waiting, key), 409, 'REFUND_NOT_POSSIBLE');
  expectInvalidFields(await client.post('/pix-in', { ...key, amount: 1 }), ['amount']);
  await refunded(client, id, { ...key, amount: 100, reason: 'x'.repeat(140) });
  expectStatus(await client.post('/pix-in', { ...key, amount: 100 }), 201);
});

test('no door takes the API’s own order of a refund, and outcomes name their refund at each', async ({
  server,
  client,
}) => {
  const id = await paid(client);
  const before = await client.balance();
  const order = { refundId: unknownId, amount: 100, returned: 0, idempotencyKey: null, reason: null };
  expectInvalidFields(await tell(client, id, 'REFUND_ORDER', order), ['type']);
  const sent = await cli(server, ['send', id, 'REFUND_ORDER', '--data', JSON.stringify(order), '--json']);
  assert.is(sent.code, 2, sent.stdout);
  for (const type of ['REFUND_DONE', 'REFUND_FAILED']) {
    expectInvalidFields(await tell(client, id, type, {}), ['data.refundId']);
    assert.is((await cli(server, ['send', id, type, '--json'])).code, 2);
    expectError(await tell(client, id, type, { refundId: unknownId }), 409, 'MESSAGE_NOT_ACCEPTED');
  }
  assert.is(await client.balance(), before);
});

test('what goes out of a refund belongs to its charge: its header, its ids, its deliveries again', async ({
  server,
}) => {
  const receiver = await startReceiver();
  try {
    receiver.answer('/hook', () => ({ status: 404 }));
    const own = await merchant(server, ['--webhook-url', `${receiver.url()},pix-in.*,refund.*`]);
    const id = await paid(own);
    const part = await refunded(own, id, { amount: 100 });
    await ended(own, text(part, 'id'), 'completed');
    const events = await receiver.waitForCount('/hook', 4, 10_000);
    assert.equal(new Set(events.map(({ headers }) => headers['x-transaction-id'])), new Set([id]));
    const ids = events.map(({ json }) => text(json, 'id')).sort();
    const counted = ['00', '01', '02', '03'].map((count) => `evt_${id.replaceAll('-', '')}${count}`);
    assert.equal(ids, counted);
    await until(async () => {
      const { data = [] } = (await own.get(`/webhooks?transactionId=${id}`)).body as { data?: Json[] };
      return data.length === 4 && data.every((one) => text(one, 'status') === 'rejected');
    }, 10_000);
    const again = await cliJson(server, ['deliveries', 'retry', id]);
    assert.is(list(again, 'retried').length, 4);
  } finally {
    await receiver.close();
  }
});

test('a refund that the sandbox was to end is ended after a crash, once', async () => {
  const server = await startServer({ env: { SANDBOX_DELAY_MS: '1000' } });
  try {
    const client = await merchant(server, ['--balance', '1000']);
    const id = await paid(client);
    const part = text(await refunded(client, id, { amount: 100 }), 'id');
    await server.kill();
    await server.restart();
    await ended(client, part, 'completed');
    const entries = list(await cliJson(server, ['inspect', id]), 'entries');
    const told = entries.filter((entry) => at(entry, 'message.type') === 'REFUND_DONE');
    assert.equal(
      told.map((entry) => at(entry, 'message.id')),
      [`sandbox:${part}`],
    );
  } finally {
    await server.stop();
  }
});

test('a key makes one charge', async ({ client, other }) => {
  const body = { amount: 10_000, idempotencyKey: 'order-1' };
  const made = expectStatus(await client.post('/pix-in', body), 201);
  assert.is(at(made, 'idempotencyKey'), 'order-1');
  const again = expectError(await client.post('/pix-in', body), 409, 'DUPLICATE_REQUEST');
  assert.is(at(again, 'transactionId'), at(made, 'id'));
  assert.is(at(await charge(client), 'idempotencyKey'), null);
  expectStatus(await other.post('/pix-in', body), 201);
  const pix = { pixKeyType: 'CPF', pixKey: '12345678909' };
  expectStatus(await client.post('/cashout', { amount: 1_007, pix, idempotencyKey: 'order-1' }), 201);
  const racers = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/pix-in', { amount: 500, idempotencyKey: 'race' })),
  );
  assert.equal(racers.map(({ status }) => status).sort(), [201, ...Array.from({ length: 19 }, () => 409)]);
});

test('what happened is decided again as it was', async ({ server }) => {
  assert.is(at(await cliJson(server, ['verify', '--decide']), 'ok'), true);
});

run();
