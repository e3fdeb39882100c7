import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { cli, cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import {
  endToEndId,
  expectError,
  expectInvalidFields,
  expectNoLeak,
  expectStatus,
  timestamp,
  unknownId,
} from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, deliveries, shown, told, transfer, validCpf } from '../support/flows.ts';
import { at, isObject, type Json, type JsonObject, keys, list, text, whole } from '../support/json.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { isSignedWith } from '../support/signature.ts';
import { eachOf, sleep, until } from '../support/wait.ts';

/** The contract's delays of a minute to an hour become 18 ms to 1.1 s. */
const retryScale = 0.0003;
const delaysMs = [60_000, 300_000, 900_000, 3_600_000].map((delay) => delay * retryScale);

const { test, run } = fixtureSuite('webhooks', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const slow = await startReceiver();
  defer(() => slow.close());
  const server = await startServer({ env: { WEBHOOK_RETRY_SCALE: String(retryScale) } });
  defer(() => server.stop());
  const refused = `http://127.0.0.1:${await freePort()}/refused`;
  const urls = (...all: string[]) => all.flatMap((url) => ['--webhook-url', url]);
  const paths = ['/ok', '/no-content', '/failing', '/flaky', '/busy', '/gone', '/moved', '/headers-only'];
  receiver.answer('/no-content', () => ({ status: 204 }));
  receiver.answer('/failing', () => ({ status: 500 }));
  receiver.answer('/flaky', (nth) => ({ status: nth === 1 ? 503 : 200 }));
  receiver.answer('/busy', (nth) => (nth === 1 ? { status: 429, headers: { 'retry-after': '2' } } : {}));
  receiver.answer('/gone', () => ({ status: 410 }));
  receiver.answer('/moved', () => ({ status: 302, headers: { location: receiver.url('/moved-to') } }));
  receiver.answer('/headers-only', () => ({ hangBody: true }));
  slow.answer('/hang', () => ({ hang: true }));
  receiver.answer('/slow-first', (nth) => (nth === 1 ? { delayMs: 400 } : {}));

  const [trial, client, filtered, many, ordered] = await Promise.all([
    merchant(server, urls(...paths.map((path) => receiver.url(path)), refused, slow.url('/hang'))),
    merchant(server, [...urls(receiver.url('/all')), '--balance', '100000']),
    merchant(server, [
      ...urls(
        receiver.url('/every'),
        `${receiver.url('/pix')},pix-in.*`,
        `${receiver.url('/some')},cashout.completed,pix-in.paid`,
      ),
      ...['--balance', '100000'],
    ]),
    merchant(server, urls(...Array.from({ length: 10 }, (_, n) => receiver.url(`/many-${n}`)))),
    merchant(server, urls(receiver.url('/slow-first'))),
  ]);
  // One charge and ten receivers, each with its own way of answering. The slowest takes more than 10 s.
  const tried = text(await charge(trial, 10_000), 'id');
  return { server, receiver, slow, refused, trial, tried, client, filtered, many, ordered };
});

async function deliveryTo(client: Merchant, id: string, url: string): Promise<Json> {
  const found = (await deliveries(client, id)).filter((delivery) => text(delivery, 'url') === url);
  assert.is(found.length, 1, `${found.length} deliveries to ${url}`);
  return found[0] ?? null;
}

async function deliveryBecomes(client: Merchant, id: string, url: string, status: string): Promise<Json> {
  return until(
    async () => {
      const delivery = await deliveryTo(client, id, url);
      return text(delivery, 'status') === status && delivery;
    },
    20_000,
    `delivery to ${url} ${status}`,
  );
}

function secretOf(client: Merchant, url: string): string {
  const found = client.webhooks.find((webhook) => webhook.url === url);
  assert.ok(found !== undefined, `no webhook ${url}`);
  assert.match(found?.secret ?? '', /^whsec_[A-Za-z0-9+/=]+$/);
  return found?.secret ?? '';
}

const deliveryKeys = [
  ...[
    'attempts',
    'createdAt',
    'deliveredAt',
    'event',
    'eventId',
    'id',
    'nextAttemptAt',
    'payload',
    'status',
    'url',
  ],
];

function expectDelivery(delivery: Json, status: string): Json[] {
  assert.equal(keys(delivery), deliveryKeys);
  assert.match(text(delivery, 'id'), /^dlv_/);
  assert.match(text(delivery, 'eventId'), /^evt_/);
  assert.match(text(delivery, 'createdAt'), timestamp);
  assert.is(text(delivery, 'status'), status);
  assert.is(text(delivery, 'payload.id'), text(delivery, 'eventId'));
  assert.is(text(delivery, 'payload.event'), text(delivery, 'event'));
  const waits = status === 'retrying';
  if (waits) assert.match(text(delivery, 'nextAttemptAt'), timestamp);
  else assert.is(at(delivery, 'nextAttemptAt'), null);
  if (status === 'delivered') assert.match(text(delivery, 'deliveredAt'), timestamp);
  else assert.is(at(delivery, 'deliveredAt'), null);
  const attempts = list(delivery, 'attempts');
  for (const attempt of attempts) {
    assert.equal(keys(attempt), ['at', 'durationMs', 'error', 'statusCode']);
    assert.match(text(attempt, 'at'), timestamp);
    assert.ok(Number(at(attempt, 'durationMs')) >= 0);
  }
  return attempts;
}

/** Sends every kind of event to `/all`, and returns what arrived by `event` and transaction. */
async function driveAll(client: Merchant) {
  const full = await charge(client, 10_000, {
    externalRef: 'pedido 1',
    metadata: { a: 'x', b: 1, c: true },
    customer: { name: 'Na criação', email: 'criada@example.com' },
    description: 'not in webhooks',
  });
  const payer = { name: 'Quem pagou', document: { type: 'CPF', number: validCpf } };
  const ids: Record<string, string> = { full: text(full, 'id') };
  await told(client, text(full, 'id'), 'PAY', { payer, paidAt: '2026-01-02T03:04:05.678Z' });
  for (const step of ['PROTEST', 'DISMISS', 'REFUND']) await told(client, text(full, 'id'), step);
  for (const [name, steps] of [
    ['analysed', ['HOLD', 'REFUSE']],
    ['cancelledCharge', ['CANCEL']],
    ['failedCharge', ['FAIL']],
    ['expired', ['EXPIRE']],
    ['chargedback', ['PAY', 'CHARGEBACK']],
  ] as const) {
    const id = text(await charge(client, 10_000), 'id');
    ids[name] = id;
    for (const step of steps) await told(client, id, step);
  }
  for (const [name, steps] of [
    ['completed', ['START', 'SETTLE']],
    ['failed', ['START', 'FAIL']],
    ['rejected', ['REJECT']],
    ['cancelled', ['CANCEL']],
  ] as const) {
    const more: JsonObject = name === 'completed' ? { externalRef: 'repasse 1', metadata: { k: 'v' } } : {};
    const id = text(await transfer(client, 1_007, more), 'id');
    ids[name] = id;
    for (const step of steps) await told(client, id, step);
  }
  return ids;
}

const chargeEvents: Record<string, string[]> = {
  full: ['waiting_payment', 'paid', 'in_protest', 'paid', 'refunded'],
  analysed: ['waiting_payment', 'in_analysis', 'refused'],
  cancelledCharge: ['waiting_payment', 'canceled'],
  failedCharge: ['waiting_payment', 'failed'],
  expired: ['waiting_payment', 'expired'],
  chargedback: ['waiting_payment', 'paid', 'chargedback'],
};
const transferEvents: Record<string, string[]> = {
  completed: ['pending', 'processing', 'completed'],
  failed: ['pending', 'processing', 'failed'],
  rejected: ['pending', 'rejected'],
  cancelled: ['pending', 'cancelled'],
};

function expectEnvelope(request: Received, type: string, status: string, id: string): Json {
  const body = request.json;
  assert.is(request.method, 'POST');
  assert.equal(keys(body), ['created_at', 'data', 'event', 'id', 'type']);
  assert.match(text(body, 'id'), /^evt_/);
  assert.is(text(body, 'event'), `${type}.${status}`);
  assert.is(text(body, 'type'), type);
  assert.match(text(body, 'created_at'), timestamp);
  assert.is(text(body, 'data.id'), id);
  assert.is(text(body, 'data.status'), status);
  assert.is(text(body, 'data.currency'), 'BRL');
  assert.match(text(body, 'data.created_at'), timestamp);
  return at(body, 'data');
}

function expectHeaders({ headers, json }: Received, id: string): void {
  assert.is(headers['content-type'], 'application/json');
  assert.is(headers['x-webhook-source'], 'payments-api');
  assert.is(headers['x-transaction-id'], id);
  assert.is(headers['x-event'], text(json, 'event'));
  assert.is(headers['idempotency-key'], text(json, 'id'));
  assert.is(headers['webhook-id'], text(json, 'id'));
  assert.match(String(headers['webhook-timestamp']), /^\d{10}$/);
  assert.match(String(headers['webhook-signature']), /^v1,[A-Za-z0-9+/]{43}=$/);
}

function nullOr(value: Json, present: boolean, pattern: RegExp): void {
  if (present) assert.match(text(value), pattern);
  else assert.is(value, null);
}

test('every event arrives once, in order, with its payload to the letter', async ({ receiver, client }) => {
  const secret = secretOf(client, receiver.url('/all'));
  const ids = await driveAll(client);
  const total = [...Object.values(chargeEvents), ...Object.values(transferEvents)].flat().length;
  const arrived = await receiver.waitForCount('/all', total, 20_000);
  assert.is(arrived.length, total);
  assert.is(new Set(arrived.map(({ json }) => text(json, 'id'))).size, total);
  assert.is(new Set(arrived.map(({ json }) => text(json, 'event'))).size, 16);
  const of = (id: string) => arrived.filter(({ headers }) => headers['x-transaction-id'] === id);

  for (const [name, statuses] of Object.entries(chargeEvents)) {
    const id = ids[name] ?? '';
    const transaction = await shown(client, 'pix-in', id);
    const requests = of(id);
    assert.is(requests.length, statuses.length, name);
    for (const [n, status] of statuses.entries()) {
      const request = requests[n] as Received;
      expectHeaders(request, id);
      assert.ok(isSignedWith(secret, request.headers, request.rawBody), 'the signature is wrong');
      const data = expectEnvelope(request, 'pix-in', status, id);
      assert.equal(keys(data), [
        ...[
          'amount',
          'created_at',
          'currency',
          'customer',
          'external_ref',
          'fee',
          'id',
          'metadata',
          'paid_at',
        ],
        ...['pix', 'status'],
      ]);
      assert.is(at(data, 'amount'), 10_000);
      assert.is(text(data, 'created_at'), text(transaction, 'createdAt'));
      assert.equal(at(data, 'fee'), status === 'expired' ? null : { total_fee: 100, net_amount: 9_900 });
      const wasPaid = ['paid', 'in_protest', 'refunded', 'chargedback'].includes(status);
      nullOr(at(data, 'paid_at'), wasPaid, timestamp);
      assert.equal(keys(data, 'pix'), ['end_to_end_id', 'qrcode']);
      nullOr(at(data, 'pix.end_to_end_id'), wasPaid, endToEndId);
      assert.is(at(data, 'pix.qrcode'), status === 'refunded' ? null : text(transaction, 'pix.qrcode'));
      const full = name === 'full';
      assert.is(at(data, 'external_ref'), full ? 'pedido 1' : null);
      assert.equal(at(data, 'metadata'), full ? { a: 'x', b: 1, c: true } : {});
      if (!full) {
        const customer = at(data, 'customer');
        if (!wasPaid) assert.is(customer, null);
        else if (isObject(customer)) assert.equal(keys(customer), ['document', 'email', 'name', 'phone']);
        continue;
      }
      const known = { email: 'criada@example.com', phone: null };
      assert.equal(
        at(data, 'customer'),
        wasPaid
          ? { name: 'Quem pagou', document: { type: 'CPF', number: validCpf }, ...known }
          : { name: 'Na criação', document: null, ...known },
      );
      if (wasPaid) assert.is(at(data, 'paid_at'), '2026-01-02T03:04:05.678Z');
    }
  }
  for (const [name, statuses] of Object.entries(transferEvents)) {
    const id = ids[name] ?? '';
    const transaction = await shown(client, 'cashout', id);
    const requests = of(id);
    assert.is(requests.length, statuses.length, name);
    for (const [n, status] of statuses.entries()) {
      const request = requests[n] as Received;
      expectHeaders(request, id);
      assert.ok(isSignedWith(secret, request.headers, request.rawBody), 'the signature is wrong');
      const data = expectEnvelope(request, 'cashout', status, id);
      assert.equal(keys(data), [
        ...[
          'amount',
          'created_at',
          'currency',
          'external_ref',
          'fee',
          'id',
          'metadata',
          'paid_at',
          'pix',
          'status',
        ],
      ]);
      assert.is(at(data, 'amount'), 1_007);
      assert.is(text(data, 'created_at'), text(transaction, 'createdAt'));
      assert.equal(at(data, 'fee'), { total_fee: 50, net_amount: 957 });
      nullOr(at(data, 'paid_at'), status === 'completed', timestamp);
      assert.equal(keys(data, 'pix'), ['end_to_end_id', 'key', 'key_type']);
      assert.is(at(data, 'pix.key'), validCpf);
      assert.is(at(data, 'pix.key_type'), 'CPF');
      const sent = ['processing', 'completed', 'failed'].includes(status);
      nullOr(at(data, 'pix.end_to_end_id'), sent, endToEndId);
      assert.is(at(data, 'external_ref'), name === 'completed' ? 'repasse 1' : null);
      assert.equal(at(data, 'metadata'), name === 'completed' ? { k: 'v' } : {});
    }
  }
});

test('the history of a transaction: its deliveries, newest first, with what was sent', async ({
  receiver,
  client,
}) => {
  const id = text(await charge(client, 10_000), 'id');
  await told(client, id, 'PAY');
  const { body } = await until(async () => {
    const reply = await client.get(`/webhooks?transactionId=${id}`);
    return list(reply.body, 'data').every((delivery) => text(delivery, 'status') === 'delivered') && reply;
  }, 10_000);
  assert.equal(keys(body), ['data', 'transactionId']);
  assert.is(text(body, 'transactionId'), id);
  const data = list(body, 'data');
  assert.equal(
    data.map((delivery) => text(delivery, 'event')),
    ['pix-in.paid', 'pix-in.waiting_payment'],
  );
  for (const delivery of data) {
    const attempts = expectDelivery(delivery, 'delivered');
    assert.is(attempts.length, 1);
    assert.is(at(attempts[0] ?? null, 'statusCode'), 200);
    assert.is(at(attempts[0] ?? null, 'error'), null);
    assert.is(text(delivery, 'url'), receiver.url('/all'));
    const eventId = text(delivery, 'eventId');
    const sent = receiver.at('/all').filter(({ headers }) => headers['idempotency-key'] === eventId);
    assert.is(sent.length, 1);
    assert.equal(sent[0]?.json, at(delivery, 'payload'));
  }
});

test('the history of what is not asked for rightly', async ({ client, filtered }) => {
  const id = text(await charge(filtered, 10_000), 'id');
  expectError(await client.get('/webhooks'), 400, 'INVALID_REQUEST');
  expectError(await client.get('/webhooks?transactionId='), 400, 'INVALID_REQUEST');
  expectError(await client.get('/webhooks?id=x'), 400, 'INVALID_REQUEST');
  const twice = `transactionId=${unknownId}&transactionId=${unknownId}`;
  expectError(await client.get(`/webhooks?${twice}`), 400, 'INVALID_REQUEST');
  expectInvalidFields(await client.get('/webhooks?transactionId=abc'), ['transactionId']);
  expectError(await client.get(`/webhooks?transactionId=${unknownId}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await client.get(`/webhooks?transactionId=${id}`), 404, 'TRANSACTION_NOT_FOUND');
  expectStatus(await filtered.get(`/webhooks?transactionId=${id}&limit=1&limit=2`), 200);
});

test('a filter lets its events through, and there is one delivery for each URL that wants the event', async (fixture) => {
  const { receiver, filtered } = fixture;
  const charged = text(await charge(filtered, 10_000), 'id');
  await told(filtered, charged, 'PAY');
  const sent = text(await transfer(filtered), 'id');
  for (const step of ['START', 'SETTLE']) await told(filtered, sent, step);
  const expected: [string, string[]][] = [
    [
      '/every',
      [
        ...['pix-in.waiting_payment', 'pix-in.paid'],
        ...['cashout.pending', 'cashout.processing', 'cashout.completed'],
      ],
    ],
    ['/pix', ['pix-in.waiting_payment', 'pix-in.paid']],
    ['/some', ['pix-in.paid', 'cashout.completed']],
  ];
  const mine = (path: string) =>
    receiver.at(path).filter(({ headers }) => [charged, sent].includes(String(headers['x-transaction-id'])));
  await until(
    () => expected.every(([path, names]) => mine(path).length >= names.length),
    10_000,
    'the webhooks',
  );
  await sleep(200);
  for (const [path, names] of expected) {
    assert.equal(
      mine(path)
        .map(({ headers }) => String(headers['x-event']))
        .sort(),
      [...names].sort(),
      path,
    );
    const secret = secretOf(filtered, receiver.url(path));
    for (const { headers, rawBody } of mine(path)) assert.ok(isSignedWith(secret, headers, rawBody), path);
  }
  const history = [...(await deliveries(filtered, charged)), ...(await deliveries(filtered, sent))];
  assert.is(history.length, 9);
  assert.is(new Set(history.map((delivery) => text(delivery, 'id'))).size, 9);
  // One event has one id, whichever URL it goes to.
  assert.is(new Set(history.map((delivery) => text(delivery, 'eventId'))).size, 5);
  assert.is(new Set(filtered.webhooks.map(({ secret }) => secret)).size, 3);
});

test('any 2xx confirms, as soon as the headers are there', async ({ receiver, trial, tried }) => {
  for (const [path, statusCode] of [
    ['/ok', 200],
    ['/no-content', 204],
    ['/headers-only', 200],
  ] as const) {
    const delivery = await deliveryBecomes(trial, tried, receiver.url(path), 'delivered');
    const attempts = expectDelivery(delivery, 'delivered');
    assert.is(attempts.length, 1, path);
    assert.is(at(attempts[0] ?? null, 'statusCode'), statusCode);
    assert.is(receiver.at(path).length, 1, path);
  }
});

test('a 4xx and a redirect are not retried: rejected', async ({ receiver, trial, tried }) => {
  for (const [path, statusCode] of [
    ['/gone', 410],
    ['/moved', 302],
  ] as const) {
    const delivery = await deliveryBecomes(trial, tried, receiver.url(path), 'rejected');
    const attempts = expectDelivery(delivery, 'rejected');
    assert.is(attempts.length, 1, path);
    assert.is(at(attempts[0] ?? null, 'statusCode'), statusCode);
  }
  assert.is(receiver.at('/moved-to').length, 0);
});

test('a 5xx is retried', async ({ receiver, trial, tried }) => {
  const delivery = await deliveryBecomes(trial, tried, receiver.url('/flaky'), 'delivered');
  const attempts = expectDelivery(delivery, 'delivered');
  assert.equal(
    attempts.map((attempt) => at(attempt, 'statusCode')),
    [503, 200],
  );
});

test('a 429 is retried when its Retry-After has passed', async ({ receiver, trial, tried }) => {
  const delivery = await deliveryBecomes(trial, tried, receiver.url('/busy'), 'delivered');
  const attempts = expectDelivery(delivery, 'delivered');
  assert.equal(
    attempts.map((attempt) => at(attempt, 'statusCode')),
    [429, 200],
  );
  const [first, second] = receiver.at('/busy');
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 1_950, 'Retry-After is not honoured');
});

test('after five failed attempts a delivery is dead; retries carry the same bytes', async (fixture) => {
  const { server, receiver, trial, tried } = fixture;
  const url = receiver.url('/failing');
  const delivery = await deliveryBecomes(trial, tried, url, 'dead');
  const attempts = expectDelivery(delivery, 'dead');
  assert.equal(
    attempts.map((attempt) => at(attempt, 'statusCode')),
    [500, 500, 500, 500, 500],
  );
  const requests = receiver.at('/failing');
  assert.is(requests.length, 5);
  const [first] = requests as [Received];
  for (const request of requests) {
    assert.ok(request.rawBody.equals(first.rawBody), 'the body is another one');
    assert.is(request.headers['idempotency-key'], first.headers['idempotency-key']);
    assert.is(request.headers['webhook-id'], first.headers['webhook-id']);
    assert.ok(isSignedWith(secretOf(trial, url), request.headers, request.rawBody), 'the signature is wrong');
  }
  // The last attempt comes more than a second after the first one, with a timestamp of its own.
  const stamps = requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  assert.ok((stamps[4] ?? 0) > (stamps[0] ?? 0), stamps.join());
  for (const [n, delayMs] of delaysMs.entries()) {
    const gap = (requests[n + 1]?.at ?? 0) - (requests[n]?.at ?? 0);
    assert.ok(gap >= delayMs * 0.8, `attempt ${n + 2} came after ${gap} ms instead of ${delayMs}`);
  }
  const items = list(await cliJson(server, ['attention']), 'items').filter(
    (item) => text(item, 'kind') === 'dead',
  );
  assert.ok(JSON.stringify(items).includes(text(delivery, 'id')), 'the dead delivery needs no attention');
});

test('a refused connection is retried like a 5xx', async ({ trial, tried, refused }) => {
  const delivery = await deliveryBecomes(trial, tried, refused, 'dead');
  const attempts = expectDelivery(delivery, 'dead');
  assert.is(attempts.length, 5);
  for (const attempt of attempts) {
    assert.is(at(attempt, 'statusCode'), null);
    assert.ok(text(attempt, 'error').length > 0);
    expectNoLeak(text(attempt, 'error'));
  }
});

test('the second webhook of a transaction waits for the first attempt of the first', async ({
  receiver,
  ordered,
}) => {
  const id = text(await charge(ordered, 10_000), 'id');
  await told(ordered, id, 'PAY');
  const [first, second] = await receiver.waitForCount('/slow-first', 2, 10_000);
  assert.is(first?.headers['x-event'], 'pix-in.waiting_payment');
  assert.is(second?.headers['x-event'], 'pix-in.paid');
  assert.ok((second?.at ?? 0) >= (first?.answeredAt ?? Number.POSITIVE_INFINITY), 'it did not wait');
});

test('at most 100 deliveries are shown, the newest', async ({ many }) => {
  const id = text(await charge(many, 10_000), 'id');
  await told(many, id, 'PAY');
  for (let n = 0; n < 5; n += 1) {
    await told(many, id, 'PROTEST');
    await told(many, id, 'DISMISS');
  }
  await told(many, id, 'REFUND');
  const shownDeliveries = await deliveries(many, id);
  assert.is(shownDeliveries.length, 100);
  const times = shownDeliveries.map((delivery) => text(delivery, 'createdAt'));
  assert.equal(times, [...times].sort().reverse());
  const names = shownDeliveries.map((delivery) => text(delivery, 'event'));
  assert.ok(
    names.slice(0, 10).every((name) => name === 'pix-in.refunded'),
    names.join(),
  );
  assert.is(names.includes('pix-in.waiting_payment'), false);
});

async function retried(server: Server, id: string): Promise<string[]> {
  const result = await cliJson(server, ['deliveries', 'retry', id]);
  assert.equal(keys(result), ['retried']);
  return list(result, 'retried').map((delivery) => text(delivery));
}

test('deliveries retry: one delivery, an event, a transaction', async ({
  server,
  receiver,
  refused,
  trial,
  tried,
}) => {
  const to = async (url: string) => deliveryTo(trial, tried, url);
  const failing = await to(receiver.url('/failing'));
  const [gone, moved, unreachable] = [
    text(await to(receiver.url('/gone')), 'id'),
    text(await to(receiver.url('/moved')), 'id'),
    text(await to(refused), 'id'),
  ];
  const failingId = text(failing, 'id');
  assert.equal(await retried(server, failingId), [failingId]);
  const requests = await receiver.waitForCount('/failing', 10, 15_000);
  const again = await deliveryBecomes(trial, tried, receiver.url('/failing'), 'dead');
  assert.is(list(again, 'attempts').length, 10);
  assert.is(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size, 1);

  receiver.answer('/failing', () => ({ status: 200 }));
  const ofEvent = await retried(server, text(failing, 'eventId'));
  assert.equal(ofEvent.sort(), [failingId, gone, moved, unreachable].sort());
  await deliveryBecomes(trial, tried, receiver.url('/failing'), 'delivered');
  await receiver.waitForCount('/gone', 2, 5_000);
  await deliveryBecomes(trial, tried, receiver.url('/gone'), 'rejected');
  await deliveryBecomes(trial, tried, refused, 'dead');

  receiver.answer('/gone', () => ({ status: 200 }));
  const ofTransaction = await retried(server, tried);
  assert.equal(ofTransaction.sort(), [gone, moved, unreachable].sort());
  await deliveryBecomes(trial, tried, receiver.url('/gone'), 'delivered');
  assert.is((await cli(server, ['deliveries', 'retry', 'dlv_nothing', '--json'])).code, 1);
  assert.is((await cli(server, ['deliveries', 'retry', unknownId, '--json'])).code, 1);
});

test('a rotated secret signs beside the old one', async ({ server, receiver, client }) => {
  const url = receiver.url('/all');
  const rotated = await cliJson(server, ['account', 'rotate-webhook-secret', client.accountId, url]);
  assert.equal(keys(rotated), ['secret', 'url']);
  assert.is(text(rotated, 'url'), url);
  const [old, renewed] = [secretOf(client, url), text(rotated, 'secret')];
  assert.is.not(renewed, old);
  await sleep(1_000);
  const id = text(await charge(client, 10_000), 'id');
  const { headers, rawBody } = await receiver.waitFor(
    (request) => request.path === '/all' && request.headers['x-transaction-id'] === id,
    10_000,
  );
  assert.is(String(headers['webhook-signature']).split(' ').length, 2);
  assert.ok(isSignedWith(old, headers, rawBody), 'the old secret does not sign');
  assert.ok(isSignedWith(renewed, headers, rawBody), 'the new secret does not sign');
});

test('a URL that stays keeps its secret, a new one shows its own', async ({ server, receiver, ordered }) => {
  const [kept, added] = [receiver.url('/slow-first'), receiver.url('/added')];
  const account = await cliJson(server, [
    ...['account', 'set', ordered.accountId, '--webhook-url', kept, '--webhook-url', `${added},pix-in.paid`],
  ]);
  const webhooks = list(account, 'webhooks');
  assert.equal(webhooks.map((webhook) => text(webhook, 'url')).sort(), [added, kept].sort());
  const fresh = webhooks.find((webhook) => text(webhook, 'url') === added) ?? null;
  assert.match(text(fresh, 'secret'), /^whsec_/);
  assert.equal(at(fresh, 'events'), ['pix-in.paid']);
  await sleep(1_000);
  const id = text(await charge(ordered, 10_000), 'id');
  await told(ordered, id, 'PAY');
  const mine = (path: string) => (request: Received) =>
    request.path === path &&
    request.headers['x-event'] === 'pix-in.paid' &&
    request.headers['x-transaction-id'] === id;
  const old = await receiver.waitFor(mine('/slow-first'), 10_000);
  assert.ok(isSignedWith(secretOf(ordered, kept), old.headers, old.rawBody), 'the secret changed');
  const first = await receiver.waitFor(mine('/added'), 10_000);
  assert.ok(
    isSignedWith(text(fresh, 'secret'), first.headers, first.rawBody),
    'the shown secret does not sign',
  );
  assert.is(receiver.at('/added').length, 1);
});

test('a delivery keeps its URL, and is dead once that is taken off the account', async ({
  server,
  receiver,
}) => {
  const url = receiver.url('/taken-off');
  receiver.answer('/taken-off', () => ({ status: 429, headers: { 'retry-after': '3' } }));
  const client = await merchant(server, ['--webhook-url', url]);
  const id = text(await charge(client, 10_000), 'id');
  const waits = await deliveryBecomes(client, id, url, 'retrying');
  expectDelivery(waits, 'retrying');
  const kept = ['--webhook-url', receiver.url('/kept')];
  await cliJson(server, ['account', 'set', client.accountId, ...kept]);
  const dead = await deliveryBecomes(client, id, url, 'dead');
  expectDelivery(dead, 'dead');
  const items = list(await cliJson(server, ['attention', '--kind', 'dead']), 'items');
  const item = items.find((each) => at(each, 'id') === at(dead, 'id')) ?? null;
  assert.match(text(item, 'what'), 'is dead: the URL is off the account');
  assert.match(text(item, 'next'), '--webhook-url puts the URL back');
  assert.is(receiver.at('/taken-off').length, 1);
  assert.is(receiver.at('/kept').length, 0);
});

test('a receiver that does not answer within 10 seconds is tried again', async ({ slow, trial, tried }) => {
  const url = slow.url('/hang');
  const delivery = await until(
    async () => {
      const current = await deliveryTo(trial, tried, url);
      return list(current, 'attempts').length > 0 && current;
    },
    20_000,
    'the first attempt ends',
  );
  assert.ok(['retrying', 'dead'].includes(text(delivery, 'status')), text(delivery, 'status'));
  const [attempt] = list(delivery, 'attempts');
  assert.is(at(attempt ?? null, 'statusCode'), null);
  assert.ok(text(attempt ?? null, 'error').length > 0);
  const took = Number(at(attempt ?? null, 'durationMs'));
  assert.ok(took >= 9_900 && took < 15_000, `${took} ms`);
  await slow.waitForCount('/hang', 2, 10_000);
  await slow.close();
});

test('addresses that are not public are refused unless the configuration allows them', async (fixture) => {
  const { server, receiver, client } = fixture;
  await server.restart({ ALLOW_PRIVATE_WEBHOOKS: 'false' });
  const literals = [
    receiver.url('/never'),
    'http://10.0.0.1/x',
    'http://[::ffff:127.0.0.1]/x',
    'http://0x7f.1/x',
  ];
  await eachOf(literals, 2, async (url) => {
    const result = await cli(server, ['account', 'create', '--webhook-url', url, '--json']);
    assert.ok(result.code === 1 || result.code === 2, `${url} is taken`);
  });
  const named = `http://localhost:${receiver.port}/named`;
  const byName = await merchant(server, ['--webhook-url', named]);
  for (const [who, url] of [
    [byName, named],
    [client, receiver.url('/all')],
  ] as const) {
    const id = text(await charge(who, 10_000), 'id');
    const dead = await deliveryBecomes(who, id, url, 'dead');
    const attempts = expectDelivery(dead, 'dead');
    assert.is(attempts.length, 5);
    for (const attempt of attempts) {
      assert.is(text(attempt, 'error'), 'ADDRESS_NOT_ALLOWED');
      assert.is(at(attempt, 'statusCode'), null);
    }
    assert.is(receiver.requests.filter(({ headers }) => headers['x-transaction-id'] === id).length, 0);
  }
});

test('the books are right in the end', async ({ server }) => {
  const verified = await cliJson(server, ['verify']);
  assert.is(at(verified, 'ok'), true);
  assert.ok(whole(verified, 'entries') > 0);
});

run();
