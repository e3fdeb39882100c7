import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { cliJson } from '../support/cli.ts';
import { basic, fetchReply, type Headers, type Merchant, merchant, type Reply } from '../support/client.ts';
import { expectError, expectInvalid, expectStatus, unknownId } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, events, newEndToEndId, shown, told, transfer, validCpf } from '../support/flows.ts';
import { at, isObject, type Json, type JsonObject, keys, list, object, text } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { callbackSecret, sign } from '../support/signature.ts';
import { until } from '../support/wait.ts';

const { test, run } = fixtureSuite('callbacks', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const server = await startServer({ env: { BANK_CALLBACK_SECRET: callbackSecret } });
  defer(() => server.stop());
  const client = await merchant(server, ['--balance', '1000000', '--webhook-url', receiver.url()]);
  return { server, client };
});

const maxBodyBytes = 1_024 * 1_024;

function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}

function signed(body: string, timestampS = nowS(), secret = callbackSecret): Headers {
  const id = `msg_${randomUUID()}`;
  const timestamp = String(timestampS);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': sign(secret, id, timestamp, body),
  };
}

function post(server: Server, body: string, headers: Headers = signed(body)): Promise<Reply> {
  return fetchReply('POST', `${server.url}/bank/callbacks`, body, headers);
}

interface Message {
  id: string;
  transactionId: string;
  type: string;
  data?: Json;
}

/** The results of a callback, which must be in the order of the messages. */
async function callback(server: Server, messages: Message[]): Promise<JsonObject[]> {
  const reply = await post(server, JSON.stringify(messages));
  assert.is(reply.status, 200, reply.text);
  const results = isObject(reply.body) ? list(reply.body, 'results') : list(reply.body);
  assert.equal(
    results.map((result) => text(result, 'id')),
    messages.map((message) => message.id),
  );
  return results.map((result) => object(result));
}

async function outcomes(server: Server, messages: Message[]): Promise<string[]> {
  return (await callback(server, messages)).map((result) => text(result, 'result'));
}

function message(transactionId: string, type: string, data?: Json, id: string = randomUUID()): Message {
  return { id, transactionId, type, ...(data === undefined ? {} : { data }) };
}

function payment(more: JsonObject = {}): JsonObject {
  return { endToEndId: newEndToEndId(), amount: 10_000, paidAt: '2026-01-02T03:04:05.678Z', ...more };
}

function settlement(more: JsonObject = {}): JsonObject {
  return { endToEndId: newEndToEndId(), paidAt: '2026-01-02T03:04:05.678Z', ...more };
}

async function newCharge(client: Merchant, more: JsonObject = {}): Promise<string> {
  return text(await charge(client, 10_000, more), 'id');
}

async function newTransfer(client: Merchant): Promise<string> {
  return text(await transfer(client), 'id');
}

async function attention(server: Server): Promise<Record<string, number>> {
  const counts: Record<string, number> = { refused: 0, invalid: 0, unknown: 0, return: 0 };
  for (const item of list(await cliJson(server, ['attention']), 'items')) {
    const kind = text(item, 'kind');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

test('the signature of the tests is the right one', () => {
  const made = sign(
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    '1614265330',
    '{"test": 2432232314}',
  );
  assert.is(made, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('PAY is applied with what the bank tells, and again it is a duplicate', async ({ server, client }) => {
  const id = await newCharge(client, { customer: { email: 'criada@example.com' } });
  const before = await client.balance();
  const payer = { name: 'Quem pagou', document: { type: 'CPF', number: validCpf } };
  const data = payment({ payer });
  const pay = message(id, 'PAY', data);
  assert.equal(await callback(server, [pay]), [{ id: pay.id, result: 'applied' }]);
  const after = await shown(client, 'pix-in', id);
  assert.is(text(after, 'status'), 'paid');
  assert.is(text(after, 'paidAt'), text(data, 'paidAt'));
  assert.is(text(after, 'pix.endToEndId'), text(data, 'endToEndId'));
  assert.equal(at(after, 'customer'), { ...payer, email: 'criada@example.com', phone: null });
  assert.is(await client.balance(), before + 9_900);
  assert.equal(await callback(server, [pay]), [{ id: pay.id, result: 'duplicate' }]);
  // A payment is known by its end-to-end id, under any message id.
  assert.equal(await outcomes(server, [message(id, 'PAY', data)]), ['duplicate']);
  assert.is(await client.balance(), before + 9_900);
});

test('an empty array has no results', async ({ server }) => {
  assert.equal(await callback(server, []), []);
});

test('each message is a fact of its own, in order: a bad one stops no other', async ({ server, client }) => {
  const [first, second] = [await newCharge(client), await newCharge(client)];
  const cashout = await newTransfer(client);
  const before = await attention(server);
  const pay = message(first, 'PAY', payment());
  const batch = [
    message(unknownId, 'PAY', payment()),
    message(first, 'NONSENSE'),
    pay,
    message(first, 'DISMISS'),
    pay,
    message(cashout, 'START', { endToEndId: newEndToEndId() }),
    message(cashout, 'SETTLE', settlement()),
    message(second, 'PAY', { amount: 10_000 }),
    message(second, 'CANCEL', { reason: 'last' }),
  ];
  assert.equal(await outcomes(server, batch), [
    ...['unknown', 'invalid', 'applied', 'refused', 'duplicate', 'applied', 'applied', 'invalid', 'applied'],
  ]);
  assert.is(text(await shown(client, 'pix-in', first), 'status'), 'paid');
  assert.is(text(await shown(client, 'pix-in', second), 'status'), 'canceled');
  assert.is(text(await shown(client, 'cashout', cashout), 'status'), 'completed');
  assert.equal(await events(client, cashout), ['cashout.pending', 'cashout.processing', 'cashout.completed']);
  const after = await attention(server);
  assert.is(after.unknown, (before.unknown ?? 0) + 1);
  assert.is(after.invalid, (before.invalid ?? 0) + 2);
  assert.is(after.refused, (before.refused ?? 0) + 1);
});

test('no such transaction is unknown, whatever else is wrong', async ({ server }) => {
  assert.equal(
    await outcomes(server, [
      message(unknownId, 'PAY', payment()),
      message(randomUUID(), 'NONSENSE'),
      message('not a uuid', 'PAY', { amount: 'x' }),
    ]),
    ['unknown', 'unknown', 'unknown'],
  );
});

test('invalid: no such type, or a required part of data missing or malformed', async ({ server, client }) => {
  const id = await newCharge(client);
  const cashout = await newTransfer(client);
  const { endToEndId, amount, paidAt } = payment();
  const invalid = [
    message(id, 'SETTLE', settlement()),
    message(id, 'pay', payment()),
    message(id, 'PAY'),
    message(id, 'PAY', {}),
    message(id, 'PAY', { amount: amount ?? 0, paidAt: paidAt ?? '' }),
    message(id, 'PAY', { endToEndId: endToEndId ?? '', paidAt: paidAt ?? '' }),
    message(id, 'PAY', { endToEndId: endToEndId ?? '', amount: amount ?? 0 }),
    message(id, 'PAY', payment({ endToEndId: 'E1' })),
    message(id, 'PAY', payment({ amount: '10000' })),
    message(id, 'PAY', payment({ paidAt: 'yesterday' })),
    message(id, 'PAY', payment({ amount: null })),
    message(id, 'HOLD', { endToEndId: endToEndId ?? '' }),
    message(cashout, 'PAY', payment()),
    message(cashout, 'START'),
    message(cashout, 'START', { endToEndId: 'E1' }),
    message(cashout, 'SETTLE', { paidAt: paidAt ?? '' }),
    message(cashout, 'SETTLE', { endToEndId: newEndToEndId(), paidAt: 'yesterday' }),
    message(cashout, 'FAIL', { endToEndId: 'E1' }),
    message(cashout, 'RETURN', { returnId: 'D1' }),
    message(cashout, 'RETURN', { amount: 1 }),
    message(cashout, 'RETURN', { returnId: 'X1', amount: 1 }),
    message(id, 'REFUND_ORDER', { refundId: unknownId, amount: 1, returned: 0 }),
    message(id, 'REFUND_DONE', {}),
    message(id, 'REFUND_FAILED', { refundId: 'r1' }),
  ];
  const results = await callback(server, invalid);
  for (const [n, result] of results.entries()) {
    assert.is(text(result, 'result'), 'invalid', JSON.stringify(invalid[n]));
    assert.ok(text(result, 'message').length > 0);
    assert.equal(keys(result), ['id', 'message', 'result']);
  }
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
  assert.is(text(await shown(client, 'cashout', cashout), 'status'), 'pending');
});

test("a payer's part that is masked or malformed never blocks a payment, nor do unknown parts", async ({
  server,
  client,
}) => {
  const id = await newCharge(client, { customer: { name: 'Na criação' } });
  const payer = { name: '', document: { type: 'CPF', number: '***456789**' }, email: 1, phone: 'x' };
  const data = payment({ payer, novelty: { nested: [1] } });
  assert.equal(await outcomes(server, [message(id, 'PAY', data)]), ['applied']);
  const customer = { name: 'Na criação', document: null, email: null, phone: null };
  assert.equal(at(await shown(client, 'pix-in', id), 'customer'), customer);
  const another = await newCharge(client);
  assert.equal(await outcomes(server, [message(another, 'PAY', payment({ payer: 'x' }))]), ['applied']);
});

test('refused: the chart does not take it, or the id was applied with other content', async ({
  server,
  client,
}) => {
  const id = await newCharge(client);
  assert.equal(await outcomes(server, [message(id, 'REFUND', {}, 'r')]), ['refused']);
  const pay = message(id, 'PAY', payment(), 'm');
  assert.equal(await outcomes(server, [pay]), ['applied']);
  assert.equal(
    await outcomes(server, [
      { ...pay, data: payment() },
      { ...pay, type: 'PROTEST' },
      { ...pay, data: { ...object(pay.data ?? null), more: 1 } },
      pay,
    ]),
    ['refused', 'refused', 'refused', 'duplicate'],
  );
  // A refused message may come again under its id and is judged afresh.
  assert.equal(await outcomes(server, [message(id, 'REFUND', {}, 'r')]), ['applied']);
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'refunded');
});

test('a message id is one, whichever door it comes through', async ({ server, client }) => {
  const id = await newCharge(client);
  const pay = message(id, 'PAY', payment());
  assert.equal(await outcomes(server, [pay]), ['applied']);
  const path = `/sandbox/transactions/${id}/messages`;
  const again = await client.post(path, { id: pay.id, type: 'PAY', data: pay.data ?? null });
  assert.is(at(expectStatus(again, 200), 'applied'), false);
  expectError(await client.post(path, { id: pay.id, type: 'PROTEST' }), 409, 'MESSAGE_NOT_ACCEPTED');
  const protest = expectStatus(await client.post(path, { id: 'from the sandbox', type: 'PROTEST' }), 200);
  assert.is(at(protest, 'applied'), true);
  assert.equal(await outcomes(server, [message(id, 'REFUND', {}, 'from the sandbox')]), ['refused']);
});

test('an implied start without an end-to-end id leaves the reference null until a late START', async ({
  server,
  client,
}) => {
  const id = await newTransfer(client);
  const before = await client.balance();
  assert.equal(await outcomes(server, [message(id, 'FAIL', { reason: 'closed' })]), ['applied']);
  const failed = await shown(client, 'cashout', id);
  assert.is(text(failed, 'status'), 'failed');
  assert.is(at(failed, 'reference'), null);
  assert.is(await client.balance(), before + 1_057);
  const expected = ['cashout.pending', 'cashout.processing', 'cashout.failed'];
  assert.equal(await events(client, id), expected);
  const endToEndId = newEndToEndId();
  assert.equal(
    await outcomes(server, [message(id, 'START', { endToEndId }), message(id, 'START', settlement())]),
    ['duplicate', 'duplicate'],
  );
  const filled = await shown(client, 'cashout', id);
  assert.is(text(filled, 'reference'), endToEndId);
  assert.is(text(filled, 'status'), 'failed');
  assert.equal(await events(client, id), expected);
  assert.equal(expectStatus(await client.get(`/cashout?reference=${endToEndId}`), 200), filled);
});

test('SETTLE before START completes, and the late START is a duplicate', async ({ server, client }) => {
  const id = await newTransfer(client);
  const data = settlement();
  assert.equal(
    await outcomes(server, [
      message(id, 'SETTLE', data),
      message(id, 'START', { endToEndId: newEndToEndId() }),
    ]),
    ['applied', 'duplicate'],
  );
  const after = await shown(client, 'cashout', id);
  assert.is(text(after, 'reference'), text(data, 'endToEndId'));
  assert.is(text(after, 'paidAt'), text(data, 'paidAt'));
  assert.equal(await events(client, id), ['cashout.pending', 'cashout.processing', 'cashout.completed']);
});

test('after a start that was told, another START is refused', async ({ server, client }) => {
  const id = await newTransfer(client);
  const start = message(id, 'START', { endToEndId: newEndToEndId() });
  const other = message(id, 'START', start.data);
  assert.equal(await outcomes(server, [start, start, other]), ['applied', 'duplicate', 'refused']);
});

test('a payment of an ended charge is refused and given back once', async ({ server, client }) => {
  const id = await newCharge(client);
  await told(client, id, 'CANCEL');
  const [before, balance] = [await attention(server), await client.balance()];
  const data = payment();
  const batch = [message(id, 'PAY', data), message(id, 'PAY', data), message(id, 'HOLD', data)];
  assert.equal(await outcomes(server, batch), ['refused', 'refused', 'refused']);
  assert.equal(await outcomes(server, batch), ['refused', 'refused', 'refused']);
  const after = await attention(server);
  assert.is(after.return, (before.return ?? 0) + 1);
  assert.is(await client.balance(), balance);
  const another = await newCharge(client);
  assert.equal(await outcomes(server, [message(another, 'PAY', data)]), ['refused']);
  assert.is((await attention(server)).return, after.return);
});

test('one end-to-end id on two charges: the second is refused, and not given back', async ({
  server,
  client,
}) => {
  const [first, second] = [await newCharge(client), await newCharge(client)];
  const [before, balance] = [await attention(server), await client.balance()];
  const data = payment();
  assert.equal(
    await outcomes(server, [
      message(first, 'PAY', data),
      message(second, 'PAY', data),
      message(second, 'HOLD', data),
    ]),
    ['applied', 'refused', 'refused'],
  );
  const after = await attention(server);
  assert.is(after.return, before.return);
  assert.ok((after.refused ?? 0) > (before.refused ?? 0));
  assert.is(await client.balance(), balance + 9_900);
  // The charge itself waits on, and takes a payment of its own.
  assert.equal(await outcomes(server, [message(second, 'PAY', payment())]), ['applied']);
});

test('a payment of another amount is given back, and the charge waits on', async ({ server, client }) => {
  const id = await newCharge(client);
  const before = await attention(server);
  assert.equal(await outcomes(server, [message(id, 'PAY', payment({ amount: 9_999 }))]), ['refused']);
  assert.is((await attention(server)).return, (before.return ?? 0) + 1);
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
});

test('the same callback from 20 senders at once has one effect', async ({ server, client }) => {
  const id = await newCharge(client);
  const before = await client.balance();
  const pay = message(id, 'PAY', payment());
  const results = await Promise.all(Array.from({ length: 20 }, () => outcomes(server, [pay])));
  assert.equal(results.flat().sort(), ['applied', ...Array(19).fill('duplicate')]);
  assert.is(await client.balance(), before + 9_900);
});

async function expectUnsigned(server: Server, body: string, headers: Headers): Promise<void> {
  const json = { 'content-type': 'application/json' };
  expectError(await post(server, body, { ...json, ...headers }), 401, 'INVALID_CREDENTIALS');
}

test('a missing, wrong or old signature is 401, and nothing is applied', async ({ server, client }) => {
  const id = await newCharge(client);
  const body = JSON.stringify([message(id, 'PAY', payment())]);
  const good = signed(body);
  const foreign = `whsec_${Buffer.from('somebody else, 32 bytes of it...').toString('base64')}`;
  await expectUnsigned(server, body, {});
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    const { [name]: _left, ...rest } = good;
    await expectUnsigned(server, body, rest);
  }
  await expectUnsigned(server, body, signed(body, nowS(), foreign));
  await expectUnsigned(server, `${body} `, good);
  await expectUnsigned(server, body, { ...good, 'webhook-id': 'msg_other' });
  await expectUnsigned(server, body, { ...good, 'webhook-timestamp': String(nowS() + 1) });
  await expectUnsigned(server, body, { ...good, 'webhook-timestamp': 'soon' });
  await expectUnsigned(server, body, { ...good, 'webhook-signature': 'v1,' });
  await expectUnsigned(server, body, { ...good, 'webhook-signature': 'nonsense' });
  const v2 = (good['webhook-signature'] ?? '').replace('v1,', 'v2,');
  await expectUnsigned(server, body, { ...good, 'webhook-signature': v2 });
  await expectUnsigned(server, body, signed(body, nowS() - 310));
  await expectUnsigned(server, body, signed(body, nowS() - 86_400));
  await expectUnsigned(server, body, { authorization: basic(client.clientId, client.clientSecret) });
  await expectUnsigned(server, '{', {});
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
});

test('a signature of less than five minutes ago, or one good among several, is taken', async ({
  server,
  client,
}) => {
  const id = await newCharge(client);
  const body = JSON.stringify([message(id, 'PAY', payment())]);
  const recent = await post(server, body, signed(body, nowS() - 240));
  assert.is(recent.status, 200, recent.text);
  const good = signed(body);
  const several = `v1,${Buffer.alloc(32).toString('base64')} ${good['webhook-signature']} v1a,abc`;
  const reply = await post(server, body, { ...good, 'webhook-signature': several });
  assert.is(reply.status, 200, reply.text);
});

test('what is no array of messages is INVALID_REQUEST, and nothing of it is applied', async ({
  server,
  client,
}) => {
  const id = await newCharge(client);
  const pay = message(id, 'PAY', payment());
  const { id: messageId, transactionId, type } = pay;
  for (const body of [
    ...['', '{', 'null', '7', '"x"', '{}', JSON.stringify(pay), JSON.stringify({ messages: [pay] })],
    ...[
      [pay, null],
      [pay, 7],
      [pay, []],
      [pay, {}],
      [pay, 'x'],
    ].map((batch) => JSON.stringify(batch)),
    JSON.stringify([pay, { id: messageId, type }]),
    JSON.stringify([pay, { transactionId, type }]),
    JSON.stringify([pay, { id: messageId, transactionId }]),
  ]) {
    expectError(await post(server, body), 400, 'INVALID_REQUEST');
  }
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
});

test('500 messages are taken, 501 are a VALIDATION_ERROR', async ({ server, client }) => {
  const id = await newCharge(client);
  const pay = message(id, 'PAY', payment());
  const before = await client.balance();
  expectInvalid(await post(server, JSON.stringify(Array(501).fill(pay))));
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
  const results = await outcomes(server, Array(500).fill(pay));
  assert.is(results[0], 'applied');
  assert.ok(results.slice(1).every((result) => result === 'duplicate'));
  assert.is(await client.balance(), before + 9_900);
});

test('a body of 1 MiB is read, one byte more is 413', async ({ server, client }) => {
  const id = await newCharge(client);
  const batch = JSON.stringify([message(id, 'PAY', payment())]);
  expectError(await post(server, batch.padEnd(maxBodyBytes + 1)), 413, 'PAYLOAD_TOO_LARGE');
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
  const reply = await post(server, batch.padEnd(maxBodyBytes));
  assert.is(reply.status, 200, reply.text);
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'paid');
});

test('an inactive account is closed to the merchant, not to the bank', async ({ server }) => {
  const client = await merchant(server);
  const id = await newCharge(client);
  const set = (...change: string[]) => cliJson(server, ['account', 'set', client.accountId, ...change]);
  await set('--status', 'inactive', '--user-status', 'inactive');
  assert.equal(await outcomes(server, [message(id, 'PAY', payment())]), ['applied']);
  const account = list(await cliJson(server, ['account', 'list']), 'accounts').find(
    (candidate) => text(candidate, 'accountId') === client.accountId,
  );
  assert.is(at(account ?? null, 'balance'), 9_900);
});

test('the books are right in the end', async ({ server }) => {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
});

test('what needs a person is logged and counted, whatever it is: an unknown message, a dead delivery', async () => {
  const env = { LOG_LEVEL: 'warn', BANK_CALLBACK_SECRET: callbackSecret, WEBHOOK_RETRY_SCALE: '0.0001' };
  const server = await startServer({ env });
  try {
    // Nobody listens there: five attempts, and the delivery is dead.
    const client = await merchant(server, ['--webhook-url', `http://127.0.0.1:${await freePort()}/`]);
    const lost = message(unknownId, 'PAY', payment());
    assert.equal(await outcomes(server, [lost]), ['unknown']);
    assert.equal(await outcomes(server, [lost]), ['unknown'], 'the same item');
    await newCharge(client);
    const logged = (): string[] =>
      server
        .stderr()
        .split('\n')
        .filter((line) => line.includes('needs a person'))
        .map((line) => text(JSON.parse(line) as Json, 'kind'));
    await until(() => logged().includes('dead'), 20_000, 'a word on the dead delivery');
    assert.equal(logged().sort(), ['dead', 'unknown']);
    const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    assert.match(metrics, 'pixstate_alarms_total{kind="unknown"} 1');
    assert.match(metrics, 'pixstate_alarms_total{kind="dead"} 1');
    for (const line of [
      'due_oldest_seconds{kind="bank"} 0',
      'mailbox_commands 0',
      'deliveries_waiting{state="behind"} 0',
    ])
      assert.match(metrics, `pixstate_${line}\n`);
    for (const name of ['commit_seconds', 'batch_entries'])
      assert.match(metrics, new RegExp(`^pixstate_${name}_count [1-9]`, 'm'));
  } finally {
    await server.stop();
  }
});

test('a message of which a transaction has refused too many is answered, counted and recorded no more', async () => {
  const server = await startServer({ env: { BANK_CALLBACK_SECRET: callbackSecret } });
  try {
    const id = await newCharge(await merchant(server));
    for (let count = 0; count < 1_100; count += 100) {
      const refused = Array.from({ length: 100 }, () => message(id, 'DISMISS', {}));
      assert.equal(new Set(await outcomes(server, refused)), new Set(['refused']));
    }
    const inspected = await cliJson(server, ['inspect', id]);
    assert.is(list(inspected, 'entries').length, 1_001);
    const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    assert.match(metrics, 'pixstate_refusals_unrecorded_total 100');
    assert.match(metrics, 'pixstate_attention_items{kind="refused"} 1001');
    assert.equal(await outcomes(server, [message(id, 'PAY', payment())]), ['applied']);
    assert.is(at(await cliJson(server, ['verify', '--decide']), 'ok'), true);
  } finally {
    await server.stop();
  }
});

test('a refusal of the bank is no error in the log', async () => {
  const server = await startServer({ env: { LOG_LEVEL: 'info' } });
  try {
    const client = await merchant(server, ['--balance', '1000000']);
    const refused = { amount: 1_010, pix: { pixKeyType: 'EMAIL', pixKey: 'someone@example.com' } };
    expectError(await client.post('/cashout', refused), 502, 'PROCESSING_ERROR');
    const told = (): { level: number; reason?: string }[] =>
      [...server.stderr().matchAll(/^\{.*\}$/gm)].map(([line]) => JSON.parse(line));
    // The log's writer may be another thread than the one that answered.
    const refusals = () => told().filter(({ reason }) => reason === 'the bank refuses the transfer');
    await until(() => refusals().length > 0, 5_000, 'a line about it');
    assert.equal(
      told().filter(({ level }) => level >= 40),
      [],
    );
    assert.is(refusals().length, 1);
  } finally {
    await server.stop();
  }
});

run();
