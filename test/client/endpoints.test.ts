/** `pixstate/client`, by that name, on a real server: every endpoint, what errors tell, and webhooks. */
import {
  type ErrorCode,
  Pixstate,
  PixstateError,
  type StatementRow,
  verifyWebhook,
  type WebhookEvent,
  WebhookRejected,
} from 'pixstate/client';
import * as assert from 'uvu/assert';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import { WebhookEvent as WebhookSchema } from '../../src/api/openapi/events.ts';
import { Applied, Delivery, ErrorObject } from '../../src/api/openapi/results.ts';
import { EVENT_NAMES, PART_EVENT_NAMES } from '../../src/domain/events.ts';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { rejectionOf, unknownId } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const { test, run } = fixtureSuite('client/endpoints', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const server = await startServer({ env: { SANDBOX_DELAY_MS: '20' } });
  defer(() => server.stop());
  const filter = 'pix-in.*,cashout.*,refund.*,chargeback.booked,return.booked';
  const account = await merchant(server, [
    '--balance',
    '1000000',
    '--webhook-url',
    `${receiver.url('/hooks')},${filter}`,
  ]);
  const { clientId, clientSecret } = account;
  const asked = new Set<string>();
  const options = {
    baseUrl: `${server.url}/`,
    clientId,
    clientSecret,
    fetch: (input: string | URL | Request, init?: RequestInit) => {
      const path = new URL(String(input)).pathname.replace(/[0-9a-f-]{36}/, '{id}');
      asked.add(`${init?.method} ${path.replace('/v1', '')}`);
      return fetch(input, init);
    },
  };
  const secret = account.webhooks[0]?.secret ?? '';
  return { server, receiver, account, asked, options, secret, pixstate: new Pixstate(options) };
});

const pix = { pixKeyType: 'CPF', pixKey: '12345678909' } as const;

function failure(call: Promise<unknown>) {
  return rejectionOf(PixstateError, call);
}

test('a charge: created, found, paid, refunded', async ({ pixstate }) => {
  const charge = await pixstate.pixIn.create({
    amount: 10_000,
    externalRef: 'order 7/ä',
    idempotencyKey: 'order-7',
    customer: { name: 'Maria' },
    metadata: { cart: 7 },
    expiresIn: 900,
  });
  assert.is(charge.status, 'waiting_payment');
  assert.match(charge.pix.qrcode, /^000201/);
  assert.equal(await pixstate.pixIn.get({ externalRef: 'order 7/ä' }), charge);
  const { applied, ...paid } = await pixstate.sandbox.pay(charge.id, { payer: { name: 'João' } });
  assert.is(applied, true);
  assert.is(paid.status, 'paid');
  assert.equal(await pixstate.pixIn.get({ id: charge.id }), paid);
  const refund = await pixstate.refunds.create(charge.id, {
    amount: 500,
    reason: 'one of two',
    idempotencyKey: 'r',
  });
  assert.is(refund.status, 'pending');
  assert.is((await pixstate.refunds.get({ idempotencyKey: 'r' })).id, refund.id);
  await until(async () => (await pixstate.refunds.get({ id: refund.id })).status === 'completed', 5_000);
  const rest = await pixstate.refunds.create(charge.id);
  assert.is(rest.amount, 9_500);
  const { transactionId, data } = await pixstate.refunds.list(charge.id);
  assert.is(transactionId, charge.id);
  assert.equal(
    data.map(({ id }) => id),
    [rest.id, refund.id],
  );
});

test('a charge is canceled, and stays so', async ({ pixstate }) => {
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  assert.is((await pixstate.pixIn.cancel(id)).status, 'canceled');
  assert.is((await pixstate.pixIn.cancel(id, { reason: 'again' })).status, 'canceled');
});

test('a transfer, and the balance', async ({ pixstate }) => {
  const before = await pixstate.balance();
  assert.is(before.currency, 'BRL');
  const transfer = await pixstate.cashout.create({ amount: 2_500, pix, idempotencyKey: 'payout' });
  assert.is(transfer.status, 'pending');
  assert.is((await pixstate.balance()).balance, before.balance - 2_550);
  const completed = await until(async () => {
    const now = await pixstate.cashout.get({ id: transfer.id });
    return now.status === 'completed' && now;
  }, 5_000);
  assert.equal(await pixstate.cashout.get({ reference: completed.reference ?? '' }), completed);
});

test('the statement: pages, rows and CSV', async ({ pixstate }) => {
  const from = new Date(Date.now() - 3_600_000);
  const rows: StatementRow[] = [];
  for await (const row of pixstate.statement.rows({ from, limit: 2 })) rows.push(row);
  assert.ok(rows.length >= 5, `${rows.length} rows`);
  const whole = await pixstate.statement.page({ from, limit: 1_000 });
  assert.equal(rows, whole.data);
  assert.is(whole.nextCursor, null);
  assert.is(whole.closingBalance, (await pixstate.balance()).balance);
  const lines: string[] = [];
  let page = await pixstate.statement.csv({ from, to: new Date(), limit: 3 });
  assert.is(page.openingBalance, whole.openingBalance);
  for (;;) {
    assert.match(page.csv, /^at,type,transactionId,refundId,what,externalRef,amount,balance\r\n/);
    lines.push(...page.csv.trimEnd().split('\r\n').slice(1));
    if (page.nextCursor === null) break;
    page = await pixstate.statement.csv({ cursor: page.nextCursor, limit: 3 });
  }
  assert.is(page.closingBalance, whole.closingBalance);
  assert.equal(
    lines.map((line) => line.split(',')[0]),
    rows.map(({ at }) => at),
  );
  assert.is((await failure(pixstate.statement.page({ from: 'yesterday' }))).code, 'VALIDATION_ERROR');
});

test('every error comes with its code and with what it alone tells', async ({
  pixstate,
  options,
  server,
  account,
}) => {
  const charge = await pixstate.pixIn.create({ amount: 10_000, idempotencyKey: 'taken' });
  const seen: ErrorCode[] = [];
  const fail = async (call: Promise<unknown>, code: ErrorCode, httpStatus: number) => {
    const error = await failure(call);
    assert.is(error.code, code);
    assert.is(error.httpStatus, httpStatus);
    assert.match(error.requestId ?? '', /./);
    assert.is(error.attempts, 1);
    assert.is(error.outcomeUnknown, false);
    seen.push(code);
    return error;
  };
  const invalid = await fail(pixstate.pixIn.create({ amount: 0.5 }), 'VALIDATION_ERROR', 400);
  assert.equal(invalid.code === 'VALIDATION_ERROR' && invalid.details.map(({ field }) => field), ['amount']);
  const taken = await fail(
    pixstate.pixIn.create({ amount: 10_000, idempotencyKey: 'taken' }),
    'DUPLICATE_REQUEST',
    409,
  );
  assert.is(taken.code === 'DUPLICATE_REQUEST' && taken.transactionId, charge.id);
  const early = await fail(pixstate.refunds.create(charge.id), 'REFUND_NOT_POSSIBLE', 409);
  assert.is(early.code === 'REFUND_NOT_POSSIBLE' && early.status, 'waiting_payment');
  await pixstate.sandbox.pay(charge.id);
  const late = await fail(pixstate.pixIn.cancel(charge.id), 'MESSAGE_NOT_ACCEPTED', 409);
  assert.is(late.code === 'MESSAGE_NOT_ACCEPTED' && late.status, 'paid');
  assert.ok(late.code === 'MESSAGE_NOT_ACCEPTED' && late.allowed.includes('REFUND'));
  await fail(pixstate.cashout.create({ amount: 100_000_000, pix }), 'INSUFFICIENT_BALANCE', 400);
  await fail(pixstate.cashout.create({ amount: 1_010, pix }), 'PROCESSING_ERROR', 502);
  for (const call of [
    () => pixstate.pixIn.get({ id: unknownId }),
    () => pixstate.pixIn.get({ externalRef: 'none' }),
    () => pixstate.cashout.get({ reference: 'none' }),
    () => pixstate.refunds.get({ id: unknownId }),
    () => pixstate.refunds.list('nothing'),
    () => pixstate.webhooks(unknownId),
  ])
    await fail(call(), 'TRANSACTION_NOT_FOUND', 404);
  await fail(pixstate.pixIn.get({} as { id: string }), 'INVALID_REQUEST', 400);
  await fail(new Pixstate({ ...options, clientSecret: 'wrong' }).balance(), 'INVALID_CREDENTIALS', 401);
  await fail(new Pixstate({ ...options, baseUrl: `${server.url}/deeper` }).balance(), 'NOT_FOUND', 404);
  await cliJson(server, ['account', 'set', account.accountId, '--status', 'inactive']);
  await until(
    async () => (await failure(pixstate.balance()).catch(() => null))?.code === 'ACCOUNT_INACTIVE',
    5_000,
  );
  await fail(pixstate.balance(), 'ACCOUNT_INACTIVE', 403);
  await cliJson(server, ['account', 'set', account.accountId, '--status', 'active']);
  await until(() => pixstate.balance().then(Boolean, () => false), 5_000);
  assert.ok(new Set(seen).size >= 10);
});

test('options and ids that can not be right are told at once', async ({ options, pixstate, asked }) => {
  for (const wrong of [
    { baseUrl: 'pix.example' },
    { baseUrl: 'ftp://pix.example/v1' },
    { baseUrl: 'https://a:b@pix.example/v1' },
    { baseUrl: 'https://pix.example/v1?a=b' },
    { clientId: '' },
    { clientId: 'a:b' },
    { clientSecret: '' },
    { clientSecret: 5 as unknown as string },
    { fetch: 'fetch' as unknown as typeof fetch },
    { baseUrl: 'https://:b@pix.example/v1' },
    { retries: -1 },
    { retries: 1.5 },
    { retries: '3' as unknown as number },
    { timeoutMs: Number.NaN },
    { timeoutMs: '5000' as unknown as number },
    { timeoutMs: 0 },
    { timeoutMs: -1 },
    { retry: 3 },
    { toString: () => 'misspelt' },
  ])
    assert.throws(
      () => new Pixstate({ ...options, ...wrong }),
      (error: unknown) => error instanceof TypeError,
    );
  asked.clear();
  for (const id of ['', '..', '.', 'a/b', '?id=1'])
    for (const call of [() => pixstate.refunds.create(id), () => pixstate.pixIn.cancel(id)])
      assert.instance(await call().catch((error: unknown) => error), TypeError);
  assert.is(asked.size, 0);
  assert.not.match(JSON.stringify(pixstate), options.clientSecret);
});

test('every event is verified, and is as its type says', async ({ pixstate, receiver, secret }) => {
  const charge = await pixstate.pixIn.create({ amount: 10_008 });
  await until(async () => (await pixstate.pixIn.get({ id: charge.id })).status === 'chargedback', 5_000);
  const part = await pixstate.pixIn.create({ amount: 10_000 });
  await pixstate.sandbox.pay(part.id);
  await pixstate.sandbox.send(part.id, { type: 'CHARGEBACK', data: { amount: 100 } });
  const failing = await pixstate.refunds.create(part.id, { amount: 103 });
  await until(async () => (await pixstate.refunds.get({ id: failing.id })).status === 'failed', 5_000);
  for (const amount of [10_002, 10_003, 10_004, 10_005]) await pixstate.pixIn.create({ amount });
  const expiring = await pixstate.pixIn.create({ amount: 10_000 });
  await pixstate.sandbox.send(expiring.id, { type: 'EXPIRE' });
  for (const amount of [1_001, 1_002, 1_003, 1_004]) await pixstate.cashout.create({ amount, pix });
  const back = await pixstate.cashout.create({ amount: 2_000, pix });
  await until(async () => (await pixstate.cashout.get({ id: back.id })).status === 'completed', 5_000);
  await pixstate.sandbox.send(back.id, { type: 'RETURN', data: { amount: 50 } });
  const wanted = [...EVENT_NAMES, ...PART_EVENT_NAMES];
  const names = () => new Set(receiver.at('/hooks').map(({ headers }) => String(headers['x-event'])));
  await until(() => wanted.every((name) => names().has(name)), 10_000, 'every event');
  for (const { rawBody, headers, json } of receiver.at('/hooks')) {
    const event: WebhookEvent = verifyWebhook(rawBody, headers, secret);
    assert.equal(event as unknown, json);
    WebhookSchema.parse(event);
  }
  const { transactionId, data } = await pixstate.webhooks(part.id);
  assert.is(transactionId, part.id);
  assert.ok(data.some(({ event }) => event === 'chargeback.booked'));
  for (const delivery of data) Delivery.parse(delivery);
});

test('a webhook that is not ours is rejected', async ({ receiver, secret }) => {
  const { rawBody, headers } = await receiver.waitFor(({ path }) => path === '/hooks', 5_000);
  const text = rawBody.toString();
  const seen = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  assert.is(verifyWebhook(text, seen, secret).id, headers['webhook-id']);
  assert.is(verifyWebhook(new Uint8Array(rawBody), { ...headers }, secret).id, headers['webhook-id']);
  assert.is(verifyWebhook(new Uint8Array(rawBody).buffer, seen, secret).id, headers['webhook-id']);
  const other = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  for (const [body, given, key] of [
    [text.replace('"amount":', '"amount":1'), headers, secret],
    [`\ufeff${text}`, headers, secret],
    [Buffer.from(`\ufeff${text}`), headers, secret],
    [new Uint8Array(Buffer.from(`\ufeff${text}`)).buffer, headers, secret],
    [text, headers, other],
    [text, {}, secret],
    [text, { ...headers, 'webhook-timestamp': '1' }, secret],
    [text, { ...headers, 'webhook-timestamp': '99999999999' }, secret],
    [text, { ...headers, 'webhook-signature': 'v1' }, secret],
    [text, { ...headers, 'webhook-signature': ['v1,a', String(headers['webhook-signature'])] }, secret],
    [text, { ...headers, 'webhook-id': 'evt_1' }, secret],
  ] as const)
    assert.throws(
      () => verifyWebhook(body, given, key),
      (error: unknown) => error instanceof WebhookRejected,
    );
  const parsed = JSON.parse(text) as string;
  for (const call of [
    () => verifyWebhook(parsed, headers, secret),
    ...['whsec_', 'undefined', 'null', 'whsec_undefined', 'whsec_AA==', secret.slice('whsec_'.length)].map(
      (none) => () => verifyWebhook(text, headers, none),
    ),
    () => verifyWebhook(text, headers, undefined as unknown as string),
  ])
    assert.throws(call, (error: unknown) => error instanceof TypeError);
});

test('answers are as the document says', async ({ server, account }) => {
  const { body: paid } = await account.post('/pix-in', { amount: 10_000 });
  const { id } = paid as { id: string };
  Applied.parse((await account.post(`/sandbox/pix-in/${id}/pay`)).body);
  for (const reply of [
    await account.post('/pix-in', { amount: 1 }),
    await account.post(`/pix-in/${id}/cancel`),
    await account.get('/nothing'),
    await account.post(`/pix-in/${id}/refunds`, { amount: 99_999 }),
    await account.get(`/pix-in?id=${server.port}`),
  ])
    ErrorObject.parse(reply.body);
});

test('there is a method for every endpoint of the document', async ({ asked, pixstate }) => {
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  await Promise.all(
    [
      ...[
        pixstate.pixIn.get({ id }),
        pixstate.pixIn.cancel(id),
        pixstate.refunds.list(id),
        pixstate.webhooks(id),
      ],
      ...[pixstate.cashout.create({ amount: 1_000, pix }), pixstate.cashout.get({ reference: 'none' })],
      ...[
        pixstate.refunds.create(id),
        pixstate.refunds.get({ id }),
        pixstate.balance(),
        pixstate.statement.page(),
      ],
      ...[pixstate.sandbox.pay(id), pixstate.sandbox.send(id, { type: 'PAY' })],
    ].map((call: Promise<unknown>) => call.catch(() => undefined)),
  );
  const { paths } = openApiDocument(true, false) as { paths: Record<string, object> };
  const there = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal(
    [...asked].filter((one) => !there.includes(one)),
    [],
  );
  assert.equal(
    there.filter((one) => !asked.has(one)),
    [],
  );
});

run();
