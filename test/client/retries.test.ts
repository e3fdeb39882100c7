/** What the client sends again, and what it never does: a front before a real server loses answers. */
import * as assert from 'uvu/assert';
import { Pixstate } from '../../src/client/pixstate.ts';
import type { CashoutRequest } from '../../src/client/types.ts';
import { merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { startServer } from '../support/server.ts';
import { failure } from './failure.ts';
import { type Front, startFront } from './front.ts';

const { test, run } = fixtureSuite('client/retries', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const front = await startFront(server.port);
  defer(() => front.close());
  const { clientId, clientSecret } = await merchant(server, ['--balance', '1000000']);
  const options = { baseUrl: front.url, clientId, clientSecret };
  return { front, options, pixstate: new Pixstate(options) };
});

const pix = { pixKeyType: 'EMAIL', pixKey: 'Maria@Example.com' } as const;
const unavailable = {
  status: 503,
  headers: { 'retry-after': '1' },
  body: JSON.stringify({ error: 'SERVICE_UNAVAILABLE', message: 'Not now.' }),
};

/** How often the front was asked for a path. */
function asked(front: Front, method: string, path: string): number {
  return front.seen.filter((seen) => seen.method === method && seen.path.startsWith(path)).length;
}

test('a read is sent again until an answer comes', async ({ front, pixstate }) => {
  front.next('loseRequest', 'loseAnswer', { status: 502, body: '<html>a proxy</html>' });
  assert.is((await pixstate.balance()).currency, 'BRL');
  assert.is(front.seen.length, 4);
});

test('a proxy’s page is no statement', async ({ front, pixstate }) => {
  const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>a proxy</html>' };
  for (const call of [() => pixstate.statement.csv(), () => pixstate.statement.page()]) {
    front.next(page);
    assert.is((await failure(call())).code, 'UNEXPECTED_ANSWER');
  }
  assert.match((await pixstate.statement.csv()).csv, /^at,/);
});

test('a transfer with a key whose answer is lost is made once, and is the result', async ({
  front,
  pixstate,
}) => {
  const before = (await pixstate.balance()).balance;
  const request = { amount: 1_000, pix, idempotencyKey: 'lost', externalRef: 'payout' };
  front.next('loseAnswer');
  const transfer = await pixstate.cashout.create(request);
  assert.is(transfer.idempotencyKey, 'lost');
  assert.is(transfer.pix.pixKey, 'maria@example.com');
  assert.is(asked(front, 'POST', '/v1/cashout'), 2);
  assert.is((await pixstate.balance()).balance, before - 1_050);
  // Nothing was lost this time: somebody used the key before.
  const again = await failure(pixstate.cashout.create(request));
  assert.is(again.code, 'DUPLICATE_REQUEST');
  assert.is(again.outcomeUnknown, false);
  assert.is(again.code === 'DUPLICATE_REQUEST' && again.transactionId, transfer.id);
});

test('so is a charge, and a refund', async ({ front, pixstate }) => {
  front.next('loseAnswer');
  const charge = await pixstate.pixIn.create({ amount: 10_000, idempotencyKey: 'charge' });
  assert.is(charge.status, 'waiting_payment');
  await pixstate.sandbox.pay(charge.id);
  front.next('loseAnswer');
  const refund = await pixstate.refunds.create(charge.id.toUpperCase(), {
    amount: 1_000,
    idempotencyKey: 'refund',
  });
  assert.is(asked(front, 'POST', '/v1/pix-in'), 2);
  assert.is(refund.amount, 1_000);
  assert.equal(
    (await pixstate.refunds.list(charge.id)).data.map(({ id }) => id),
    [refund.id],
  );
});

test("a key's transaction that was asked for otherwise is not taken for the lost one", async ({
  front,
  pixstate,
}) => {
  const first = await pixstate.pixIn.create({ amount: 5_000, idempotencyKey: 'other' });
  front.next('loseAnswer');
  const error = await failure(pixstate.pixIn.create({ amount: 6_000, idempotencyKey: 'other' }));
  assert.is(error.code === 'DUPLICATE_REQUEST' && error.transactionId, first.id);
  assert.is(error.outcomeUnknown, true);
  assert.is(error.attempts, 2);
});

test('what is sent again is what was sent, though the object is the next request by then', async ({
  front,
  pixstate,
}) => {
  const keys = ['payout-1', 'payout-2'];
  const request: CashoutRequest = { amount: 1_000, pix: { ...pix } };
  front.next('loseRequest');
  const calls = keys.map((key, nth) => {
    request.idempotencyKey = key;
    request.pix.pixKey = `${nth}@example.com`;
    return pixstate.cashout.create(request);
  });
  const made = await Promise.all(calls);
  assert.equal(
    made.map(({ idempotencyKey, pix: { pixKey } }) => [idempotencyKey, pixKey]),
    keys.map((key, nth) => [key, `${nth}@example.com`]),
  );
  assert.is(new Set(made.map(({ id }) => id)).size, 2);
  const message = { type: 'START', id: 'once' } as { type: string; id?: string };
  const { id } = await pixstate.cashout.create({ amount: 1_007, pix });
  front.next('loseAnswer');
  const started = pixstate.sandbox.send(id, message);
  message.type = 'REJECT';
  assert.is((await started).status, 'processing');
});

test('what has another key than was sent is not taken for the lost one', async ({ front, pixstate }) => {
  const other = await pixstate.cashout.create({ amount: 1_000, pix, idempotencyKey: 'of-another' });
  const body = { error: 'DUPLICATE_REQUEST', message: 'It exists.', transactionId: other.id };
  front.next('loseRequest', { status: 409, body: JSON.stringify(body) });
  const error = await failure(pixstate.cashout.create({ amount: 1_000, pix, idempotencyKey: 'of-its-own' }));
  assert.is(error.code === 'DUPLICATE_REQUEST' && error.transactionId, other.id);
  assert.is(error.outcomeUnknown, true);
});

test('where what has the key can’t be read, the outcome stays unknown', async ({ front, options }) => {
  const pixstate = new Pixstate({ ...options, retries: 1 });
  front.next('loseAnswer', 'pass', 'loseRequest', 'loseRequest');
  const error = await failure(pixstate.cashout.create({ amount: 1_000, pix, idempotencyKey: 'unread' }));
  assert.is(error.outcomeUnknown, true);
  assert.is(error.code, 'DUPLICATE_REQUEST');
  const { id } = await pixstate.cashout.get({
    id: error.code === 'DUPLICATE_REQUEST' ? error.transactionId : '',
  });
  assert.is(error.code === 'DUPLICATE_REQUEST' && error.transactionId, id);
});

test('a number that JSON has not is sent to nobody: null would refund all of a charge', async ({
  front,
  pixstate,
}) => {
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  await pixstate.sandbox.pay(id);
  front.next();
  for (const call of [
    () => pixstate.refunds.create(id, { amount: Number('12,50'), idempotencyKey: 'none' }),
    () => pixstate.pixIn.create({ amount: 1_000, expiresIn: Infinity }),
    () => pixstate.pixIn.create({ amount: 1_000, metadata: { weight: Number.NaN } }),
  ]) {
    try {
      await call();
      assert.unreachable('the call was made');
    } catch (error) {
      assert.instance(error, TypeError);
    }
  }
  assert.is(front.seen.length, 0);
  assert.equal((await pixstate.refunds.list(id)).data, []);
});

test('without a key nothing is sent twice', async ({ front, pixstate }) => {
  const charge = await pixstate.pixIn.create({ amount: 10_000 });
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  await pixstate.sandbox.pay(charge.id);
  for (const call of [
    () => pixstate.pixIn.create({ amount: 5_000 }),
    () => pixstate.pixIn.create({ amount: 5_000, idempotencyKey: null }),
    () => pixstate.cashout.create({ amount: 1_000, pix }),
    () => pixstate.refunds.create(charge.id, { amount: 100 }),
    () => pixstate.sandbox.pay(id),
    () => pixstate.sandbox.send(id, { type: 'CANCEL' }),
  ]) {
    for (const fate of ['loseRequest', unavailable] as const) {
      front.next(fate);
      const error = await failure(call());
      assert.is(error.code, fate === 'loseRequest' ? 'NO_ANSWER' : 'SERVICE_UNAVAILABLE');
      assert.is(error.attempts, 1);
      assert.is(error.outcomeUnknown, true);
      assert.is(front.seen.length, 1);
    }
  }
});

test('cancelling, and a message with an id, are sent again', async ({ front, pixstate }) => {
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  front.next('loseAnswer');
  assert.is((await pixstate.pixIn.cancel(id, { reason: 'changed their mind' })).status, 'canceled');
  assert.is(front.seen.length, 2);
  const { id: other } = await pixstate.pixIn.create({ amount: 10_000 });
  front.next('loseAnswer');
  const paid = await pixstate.sandbox.send(other, { type: 'PAY', id: 'once' });
  assert.is(paid.status, 'paid');
  assert.is(paid.applied, false);
});

test('Retry-After is waited for, in seconds and as a date', async ({ front, pixstate }) => {
  // A date has whole seconds.
  const soon = (): string => new Date(Date.now() + 3_000).toUTCString();
  for (const [retryAfter, leastMs] of [
    [() => '1', 990],
    [soon, 1_500],
  ] as const) {
    front.next({ ...unavailable, headers: { 'retry-after': retryAfter() } });
    await pixstate.balance();
    const [first, second] = front.seen;
    const waited = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    assert.ok(waited >= leastMs && waited < 10_000, `${waited} ms`);
  }
});

test('a wait that goes past the end is not begun', async ({ front, options }) => {
  const hasty = new Pixstate({ ...options, timeoutMs: 5_000 });
  front.next({ ...unavailable, headers: { 'retry-after': '3600' } });
  const began = performance.now();
  const error = await failure(hasty.balance());
  assert.is(error.code, 'SERVICE_UNAVAILABLE');
  assert.ok(performance.now() - began < 2_000);
  assert.is(front.seen.length, 1);
});

test('attempts are counted, and wait longer each time', async ({ front, options }) => {
  const pixstate = new Pixstate({ ...options, retries: 2 });
  front.next('loseRequest', 'loseRequest', 'loseRequest', 'loseRequest');
  const error = await failure(pixstate.balance());
  assert.is(error.code, 'NO_ANSWER');
  assert.is(error.attempts, 3);
  assert.is(error.httpStatus, null);
  assert.is(error.outcomeUnknown, false);
  assert.is(front.seen.length, 3);
  const [a = 0, b = 0, c = 0] = front.seen.map(({ atMs }) => atMs);
  assert.ok(b - a >= 120, `${b - a} ms`);
  assert.ok(c - b >= 240, `${c - b} ms`);
  const once = new Pixstate({ ...options, retries: 0 });
  front.next('loseRequest');
  assert.is((await failure(once.balance())).attempts, 1);
});

test("a bank's refusal and a wrong request are not sent again", async ({ front, pixstate }) => {
  front.next();
  const refused = await failure(pixstate.cashout.create({ amount: 1_010, pix, idempotencyKey: 'refused' }));
  assert.is(refused.code, 'PROCESSING_ERROR');
  assert.is(refused.httpStatus, 502);
  assert.is(refused.outcomeUnknown, false);
  assert.is(front.seen.length, 1);
  const { id } = await pixstate.pixIn.create({ amount: 10_000 });
  front.next({
    status: 502,
    body: JSON.stringify({ error: 'PROCESSING_ERROR', message: 'The bank is away.' }),
  });
  const uncertain = await failure(pixstate.pixIn.cancel(id));
  assert.is(uncertain.outcomeUnknown, true);
  assert.is(front.seen.length, 1);
  front.next();
  await failure(pixstate.cashout.create({ amount: 0, pix, idempotencyKey: 'wrong' }));
  assert.is(front.seen.length, 1);
});

test('a call ends with its time, though nothing comes', async ({ front, options }) => {
  const hasty = new Pixstate({ ...options, timeoutMs: 300 });
  front.next('hang');
  const began = performance.now();
  const error = await failure(hasty.pixIn.create({ amount: 1_000, idempotencyKey: 'hangs' }));
  assert.is(error.code, 'NO_ANSWER');
  assert.is(error.outcomeUnknown, true);
  assert.ok(performance.now() - began < 2_000);
});

test('a signal ends a call with its own reason, while it waits and while it pauses', async ({
  front,
  pixstate,
}) => {
  const fates = ['hang', { ...unavailable, headers: { 'retry-after': '30' } }] as const;
  for (const fate of fates) {
    front.next(fate);
    const began = performance.now();
    try {
      await pixstate.balance({ signal: AbortSignal.timeout(300) });
      assert.unreachable();
    } catch (error) {
      assert.is((error as Error).name, 'TimeoutError');
    }
    assert.ok(performance.now() - began < 2_000);
  }
  front.next();
  const reason = new Error('the customer left');
  try {
    await pixstate.balance({ signal: AbortSignal.abort(reason) });
    assert.unreachable();
  } catch (error) {
    assert.is(error, reason);
  }
  assert.is(front.seen.length, 0);
});

run();
