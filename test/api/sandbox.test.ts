import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { clientOf, type Merchant, merchant, merchants, type Reply } from '../support/client.ts';
import {
  endToEndId,
  expectError,
  expectInvalid,
  expectInvalidFields,
  expectStatus,
  timestamp,
  unknownId,
} from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import {
  askTransfer,
  charge,
  events,
  newEndToEndId,
  reaches,
  shown,
  tell,
  told,
  transfer,
  validCpf,
} from '../support/flows.ts';
import { at, type Json, type JsonObject, keys, list, text, whole } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';

const opening = 100_000;

/** By the last two digits of the amount: the states passed through, and whether the money stays moved. */
const chargeScenarios: [cents: number, states: string[], credited: boolean][] = [
  [1, ['waiting_payment', 'paid'], true],
  [2, ['waiting_payment', 'refused'], false],
  [3, ['waiting_payment', 'failed'], false],
  [4, ['waiting_payment', 'canceled'], false],
  [5, ['waiting_payment', 'in_analysis', 'paid'], true],
  [6, ['waiting_payment', 'in_analysis', 'refused'], false],
  [7, ['waiting_payment', 'paid', 'refunded'], false],
  [8, ['waiting_payment', 'paid', 'in_protest', 'chargedback'], false],
  [9, ['waiting_payment', 'paid', 'in_protest', 'paid'], true],
  [10, ['waiting_payment', 'paid'], true],
  [11, ['waiting_payment'], false],
];

const transferScenarios: [cents: number, states: string[], debited: boolean][] = [
  [1, ['pending', 'processing', 'completed'], true],
  [2, ['pending', 'rejected'], false],
  [3, ['pending', 'processing', 'failed'], false],
  [4, ['pending', 'cancelled'], false],
  [5, ['pending', 'processing', 'completed'], true],
  [6, ['pending', 'processing'], true],
  [7, ['pending'], true],
  [8, ['pending', 'processing', 'completed'], true],
  [9, ['pending', 'processing', 'completed'], true],
  [11, ['pending', 'processing', 'completed'], true],
];

const waiting = ['CANCEL', 'EXPIRE', 'FAIL', 'HOLD', 'PAY', 'REFUSE'];
const inAnalysis = ['APPROVE', 'FAIL', 'REFUSE'];
const paid = ['CHARGEBACK', 'PROTEST', 'REFUND'];
const inProtest = ['CHARGEBACK', 'DISMISS', 'REFUND'];
const pending = ['CANCEL', 'FAIL', 'REJECT', 'SETTLE', 'START'];
const processing = ['FAIL', 'SETTLE'];

const { test, run } = fixtureSuite('sandbox', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const server = await startServer();
  defer(() => server.stop());
  const hook = ['--webhook-url', receiver.url()];
  const [chargers, senders, expiring, client, other] = await Promise.all([
    merchants(server, chargeScenarios.length, hook),
    merchants(server, transferScenarios.length, [...hook, '--balance', String(opening)]),
    merchant(server, [...hook, '--expires-in', '1']),
    merchant(server, [...hook, '--balance', String(10 * opening)]),
    merchant(server),
  ]);
  return { server, receiver, chargers, senders, expiring, client, other };
});

function expectNotAccepted(reply: Reply, status: string, allowed: string[]): void {
  const body = expectError(reply, 409, 'MESSAGE_NOT_ACCEPTED');
  assert.is(text(body, 'status'), status);
  assert.equal(
    list(body, 'allowed')
      .map((type) => text(type))
      .sort(),
    allowed,
  );
}

function expectApplied(reply: Reply, applied: boolean, status: string): Json {
  const body = expectStatus(reply, 200);
  assert.is(at(body, 'applied'), applied, reply.text);
  assert.is(text(body, 'status'), status, reply.text);
  return body;
}

async function newCharge(client: Merchant, more: JsonObject = {}): Promise<string> {
  return text(await charge(client, 10_000, more), 'id');
}

async function newTransfer(client: Merchant): Promise<string> {
  return text(await transfer(client), 'id');
}

async function attention(server: Server, kind: string): Promise<number> {
  const items = list(await cliJson(server, ['attention']), 'items');
  return items.filter((item) => text(item, 'kind') === kind).length;
}

test('every PIX IN scenario passes through its states, with its events and its effect', async ({
  server,
  chargers,
}) => {
  const given = await attention(server, 'return');
  await Promise.all(
    chargeScenarios.map(async ([cents, states, credited], n) => {
      const client = chargers[n] as Merchant;
      const amount = 10_000 + cents;
      const created = await charge(client, amount, { externalRef: `scenario ${cents}` });
      const id = text(created, 'id');
      const expected = states.map((state) => `pix-in.${state}`);
      await until(
        async () => (await events(client, id)).length >= expected.length,
        15_000,
        `scenario ${cents}`,
      );
      await sleep(400);
      assert.equal(await events(client, id), expected, `scenario ${cents}`);
      const after = await shown(client, 'pix-in', id);
      assert.is(text(after, 'status'), states.at(-1));
      assert.is(
        await client.balance(),
        credited ? amount - whole(created, 'fee.totalFee') : 0,
        `scenario ${cents}`,
      );
      const wasPaid = states.includes('paid');
      assert.is(at(after, 'paidAt') !== null, wasPaid, `scenario ${cents}`);
      if (wasPaid) assert.match(text(after, 'pix.endToEndId'), endToEndId);
      else if (!states.includes('in_analysis')) assert.is(at(after, 'pix.endToEndId'), null);
    }),
  );
  // Scenario 10 pays twice: the second payment is one item, a return.
  assert.is(await attention(server, 'return'), given + 1);
});

test('every cashout scenario passes through its states, with its events and its effect', async ({
  senders,
}) => {
  await Promise.all(
    transferScenarios.map(async ([cents, states, debited], n) => {
      const client = senders[n] as Merchant;
      const amount = 1_000 + cents;
      const id = text(await transfer(client, amount), 'id');
      const expected = states.map((state) => `cashout.${state}`);
      await until(
        async () => (await events(client, id)).length >= expected.length,
        15_000,
        `scenario ${cents}`,
      );
      await sleep(400);
      assert.equal(await events(client, id), expected, `scenario ${cents}`);
      const after = await shown(client, 'cashout', id);
      assert.is(text(after, 'status'), states.at(-1));
      assert.is(await client.balance(), debited ? opening - amount - 50 : opening, `scenario ${cents}`);
      assert.is(at(after, 'paidAt') !== null, states.includes('completed'));
      if (states.includes('processing')) assert.match(text(after, 'reference'), endToEndId);
      else assert.is(at(after, 'reference'), null);
    }),
  );
});

test('a cashout that ends in 10 is refused at once, and nothing is created', async ({ client }) => {
  const before = await client.balance();
  for (const amount of [10, 1_010]) expectError(await askTransfer(client, amount), 502, 'PROCESSING_ERROR');
  assert.is(await client.balance(), before);
});

test('the webhooks arrive in the order of the states', async ({ receiver }) => {
  const scenarios = [...chargeScenarios, ...transferScenarios];
  const total = scenarios.reduce((sum, [, states]) => sum + states.length, 0);
  await until(() => receiver.requests.length >= total, 10_000, `${total} webhooks`);
  const arrived = new Map<string, string[]>();
  for (const { headers } of receiver.requests) {
    const id = String(headers['x-transaction-id']);
    arrived.set(id, [...(arrived.get(id) ?? []), String(headers['x-event'])]);
  }
  assert.is(arrived.size, scenarios.length);
  const known = [
    ...chargeScenarios.map(([, states]) => states.map((state) => `pix-in.${state}`).join()),
    ...transferScenarios.map(([, states]) => states.map((state) => `cashout.${state}`).join()),
  ];
  for (const names of arrived.values()) assert.ok(known.includes(names.join()), names.join());
});

test('pay with an empty body makes up what the bank would tell', async ({ client }) => {
  const id = await newCharge(client);
  const before = await client.balance();
  const body = expectApplied(await client.post(`/sandbox/pix-in/${id}/pay`), true, 'paid');
  assert.match(text(body, 'pix.endToEndId'), endToEndId);
  assert.match(text(body, 'paidAt'), timestamp);
  assert.is(await client.balance(), before + 9_900);
  const { applied, ...transaction } = body as JsonObject;
  assert.is(applied, true);
  assert.equal(await shown(client, 'pix-in', id), transaction);
});

test('pay with payer and endToEndId, and again', async ({ client }) => {
  const id = await newCharge(client, { customer: { name: 'Na criação', phone: '+5511987654321' } });
  const before = await client.balance();
  const payer = { name: 'Quem pagou', document: { type: 'CPF', number: validCpf }, email: 'p@example.com' };
  const payment = { payer, endToEndId: newEndToEndId() };
  const body = expectApplied(await client.post(`/sandbox/pix-in/${id}/pay`, payment), true, 'paid');
  assert.equal(at(body, 'customer'), { ...payer, phone: '+5511987654321' });
  assert.is(text(body, 'pix.endToEndId'), payment.endToEndId);
  // A payment is known by its end-to-end id: the same one again has one effect.
  expectApplied(await client.post(`/sandbox/pix-in/${id}/pay`, payment), false, 'paid');
  expectApplied(
    await tell(client, id, 'PAY', { endToEndId: payment.endToEndId }, 'another id'),
    false,
    'paid',
  );
  // Another one is a second payment.
  expectNotAccepted(await client.post(`/sandbox/pix-in/${id}/pay`, {}), 'paid', paid);
  assert.is(await client.balance(), before + 9_900);
});

test('all that is wrong with a payment is told at once', async ({ client }) => {
  const id = await newCharge(client);
  const wrong = { document: 'Maria', endToEndId: 'E1', amount: 5 };
  const reply = await client.post(`/sandbox/pix-in/${id}/pay`, wrong);
  assert.equal(expectInvalid(reply).sort(), ['amount', 'document', 'endToEndId']);
  for (const payment of [{ document: 'Maria' }, { document: 'Maria', endToEndId: null }])
    assert.equal(expectInvalid(await client.post(`/sandbox/pix-in/${id}/pay`, payment)), ['document']);
  const ofAll = await client.post(`/sandbox/pix-in/${id}/pay`, { payer: 'Maria', endToEndId: 'E1' });
  assert.equal(expectInvalid(ofAll), ['endToEndId']);
});

test('the doors of the sandbox are behind the same authentication', async ({ server, client }) => {
  const id = await newCharge(client);
  const nobody = clientOf(server);
  expectError(await nobody.post(`/sandbox/pix-in/${id}/pay`), 401, 'INVALID_CREDENTIALS');
  expectError(await tell(nobody, id, 'PAY'), 401, 'INVALID_CREDENTIALS');
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
});

test('what is no transaction of the account is 404, well-formed or not', async ({ client, other }) => {
  const id = await newCharge(client);
  const cashout = await newTransfer(client);
  for (const path of [unknownId, 'abc', '1', `${id}0`]) {
    expectError(await client.post(`/sandbox/pix-in/${path}/pay`), 404, 'TRANSACTION_NOT_FOUND');
    expectError(await tell(client, path, 'PAY'), 404, 'TRANSACTION_NOT_FOUND');
  }
  expectError(await client.post(`/sandbox/pix-in/${cashout}/pay`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await other.post(`/sandbox/pix-in/${id}/pay`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await tell(other, id, 'PAY'), 404, 'TRANSACTION_NOT_FOUND');
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
});

test("a type that is not among its kind's is a VALIDATION_ERROR with the known ones", async ({ client }) => {
  const id = await newCharge(client);
  for (const type of ['SETTLE', 'START', 'REJECT', 'pay', 'NONSENSE', '', 'xstate.init']) {
    const reply = await tell(client, id, type);
    assert.equal(expectInvalid(reply), ['type']);
    for (const known of ['PAY', 'HOLD', 'REFUND', 'PROTEST'])
      assert.ok(reply.text.includes(known), reply.text);
  }
  const cashout = await newTransfer(client);
  for (const type of ['PAY', 'REFUND', 'EXPIRE']) {
    const reply = await tell(client, cashout, type);
    assert.equal(expectInvalid(reply), ['type']);
    for (const known of pending) assert.ok(reply.text.includes(known), reply.text);
  }
});

test('a message must be well-formed', async ({ client }) => {
  const id = await newCharge(client);
  const path = `/sandbox/transactions/${id}/messages`;
  expectError(await client.post(path), 400, 'INVALID_REQUEST');
  expectError(await client.post(path, []), 400, 'INVALID_REQUEST');
  expectInvalidFields(await client.post(path, {}), ['type']);
  expectInvalidFields(await client.post(path, { type: 1 }), ['type']);
  for (const messageId of ['', 'x'.repeat(256), 'a\nb', '\ud800', 7]) {
    expectInvalidFields(await client.post(path, { type: 'PAY', id: messageId }), ['id']);
  }
  expectInvalidFields(await client.post(path, { type: 'PAY', unknown: 1 }), ['unknown']);
  for (const data of ['x', [], 1])
    expectInvalidFields(await client.post(path, { type: 'PAY', data }), ['data']);
  const wrong = { type: 'PAY', id: '', unknown: 1, data: { amount: 1.5, endToEndId: null, other: 2 } };
  expectInvalidFields(await client.post(path, wrong), ['data.amount', 'id', 'unknown']);
  expectInvalidFields(await client.post(path, { ...wrong, type: 'X' }), ['id', 'type', 'unknown']);
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
  expectApplied(await tell(client, id, 'PAY', undefined, 'é'.repeat(255)), true, 'paid');
});

test('malformed known parts of data are named, unknown ones are kept', async ({ server, client }) => {
  const id = await newCharge(client);
  for (const [part, values] of [
    ['amount', ['10000', 10_000.5, {}]],
    ['endToEndId', ['', 'E123', newEndToEndId().toLowerCase(), 7]],
    ['paidAt', ['yesterday', '2026-13-01T00:00:00.000Z', '', 7]],
  ] as const) {
    for (const value of values) {
      const reply = await tell(client, id, 'PAY', { [part]: value });
      assert.equal(expectInvalid(reply), [`data.${part}`], `${part} ${JSON.stringify(value)}`);
    }
  }
  assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
  const extra = { amount: 10_000, novelty: { a: [1] }, another: 'x' };
  expectApplied(await tell(client, id, 'PAY', extra), true, 'paid');
  const entry = list(await cliJson(server, ['inspect', id]), 'entries').find(
    (candidate) => text(candidate, 'to') === 'paid',
  );
  assert.equal(at(entry ?? null, 'message.data.novelty'), { a: [1] });
});

test("a payer's part that is masked or malformed never blocks a payment", async ({ client }) => {
  const customer = { name: 'Na criação', email: 'criada@example.com' };
  const id = await newCharge(client, { customer });
  const payer = {
    ...{ name: '', document: { type: 'CPF', number: '***456789**' }, email: 'masked', phone: '11 9' },
    ...{ bank: 'x' },
  };
  const body = expectApplied(await tell(client, id, 'PAY', { payer }), true, 'paid');
  assert.equal(at(body, 'customer'), { ...customer, document: null, phone: null });
  const another = await newCharge(client);
  const odd = expectApplied(await tell(client, another, 'PAY', { payer: { name: 7 } }), true, 'paid');
  assert.is(at(odd, 'customer'), null);
});

test('a payer that is none blocks no payment either, whichever door it comes through', async ({ client }) => {
  const customer = { name: 'Na criação', document: null, email: null, phone: null };
  for (const payer of ['x', [], 5, true, null, {}]) {
    const [paidId, toldId] = [await newCharge(client, { customer }), await newCharge(client, { customer })];
    const body = expectApplied(await client.post(`/sandbox/pix-in/${paidId}/pay`, { payer }), true, 'paid');
    assert.equal(at(body, 'customer'), customer);
    const same = expectApplied(await tell(client, toldId, 'PAY', { payer }), true, 'paid');
    assert.equal(keys(body), keys(same));
    assert.equal(at(same, 'customer'), customer);
  }
});

test('each state takes its own messages and no other', async ({ client }) => {
  const states: [string, string[], string, string[]][] = [
    ['waiting_payment', [], 'REFUND', waiting],
    ['in_analysis', ['HOLD'], 'CANCEL', inAnalysis],
    ['in_analysis', ['HOLD'], 'EXPIRE', inAnalysis],
    ['paid', ['PAY'], 'DISMISS', paid],
    ['paid', ['PAY'], 'EXPIRE', paid],
    ['in_protest', ['PAY', 'PROTEST'], 'PROTEST', inProtest],
    ['refused', ['REFUSE'], 'REFUND', []],
    ['refused', ['HOLD', 'REFUSE'], 'APPROVE', []],
    ['failed', ['FAIL'], 'CANCEL', []],
    ['failed', ['HOLD', 'FAIL'], 'APPROVE', []],
    ['canceled', ['CANCEL'], 'EXPIRE', []],
    ['expired', ['EXPIRE'], 'CANCEL', []],
    ['refunded', ['PAY', 'REFUND'], 'CHARGEBACK', []],
    ['chargedback', ['PAY', 'CHARGEBACK'], 'REFUND', []],
    ['refunded', ['PAY', 'PROTEST', 'REFUND'], 'DISMISS', []],
    ['chargedback', ['PAY', 'PROTEST', 'CHARGEBACK'], 'PROTEST', []],
    ['paid', ['PAY', 'PROTEST', 'DISMISS'], 'APPROVE', paid],
    ['paid', ['HOLD', 'APPROVE'], 'HOLD', paid],
  ];
  await Promise.all(
    states.map(async ([status, path, type, allowed]) => {
      const id = await newCharge(client);
      for (const step of path) await told(client, id, step);
      const before = await shown(client, 'pix-in', id);
      assert.is(text(before, 'status'), status);
      expectNotAccepted(await tell(client, id, type), status, allowed);
      assert.equal(await shown(client, 'pix-in', id), before);
    }),
  );
});

test('each state of a cashout takes its own messages and no other', async ({ client }) => {
  const states: [string, string[], string, string[]][] = [
    ['processing', ['START'], 'CANCEL', processing],
    ['processing', ['START'], 'REJECT', processing],
    ['processing', ['START'], 'START', processing],
    ['completed', ['START', 'SETTLE'], 'FAIL', ['RETURN']],
    ['completed', ['START', 'SETTLE'], 'START', ['RETURN']],
    ['failed', ['START', 'FAIL'], 'SETTLE', []],
    ['rejected', ['REJECT'], 'START', []],
    ['cancelled', ['CANCEL'], 'SETTLE', []],
    ['completed', ['SETTLE'], 'FAIL', ['RETURN']],
    ['failed', ['FAIL'], 'SETTLE', []],
  ];
  for (const [status, path, type, allowed] of states) {
    const id = await newTransfer(client);
    for (const step of path) await told(client, id, step);
    const before = await shown(client, 'cashout', id);
    assert.is(text(before, 'status'), status);
    const balance = await client.balance();
    expectNotAccepted(await tell(client, id, type), status, allowed);
    assert.equal(await shown(client, 'cashout', id), before);
    assert.is(await client.balance(), balance);
  }
});

test('a held payment is shown from its approval on, with the time that the bank gave', async ({ client }) => {
  const id = await newCharge(client);
  const before = await client.balance();
  const payment = { endToEndId: newEndToEndId(), paidAt: '2026-01-02T03:04:05.678Z', amount: 10_000 };
  const held = expectApplied(await tell(client, id, 'HOLD', payment), true, 'in_analysis');
  assert.is(at(held, 'pix.endToEndId'), null);
  assert.is(at(held, 'paidAt'), null);
  assert.is(await client.balance(), before);
  const approved = expectApplied(await tell(client, id, 'APPROVE'), true, 'paid');
  assert.is(text(approved, 'pix.endToEndId'), payment.endToEndId);
  assert.is(text(approved, 'paidAt'), payment.paidAt);
  assert.is(await client.balance(), before + 9_900);
});

test('a protest dismissed is paid again with the first paidAt and no second credit', async ({ client }) => {
  const id = await newCharge(client);
  const first = await told(client, id, 'PAY', { paidAt: '2026-01-02T03:04:05.678Z' });
  const balance = await client.balance();
  const protest = await told(client, id, 'PROTEST', { reason: 'MED' });
  assert.is(text(protest, 'paidAt'), text(first, 'paidAt'));
  assert.is(await client.balance(), balance);
  const again = await told(client, id, 'DISMISS');
  assert.is(text(again, 'paidAt'), text(first, 'paidAt'));
  assert.is(await client.balance(), balance);
  assert.equal(await events(client, id), [
    ...['pix-in.waiting_payment', 'pix-in.paid', 'pix-in.in_protest', 'pix-in.paid'],
  ]);
  const refunded = await told(client, id, 'REFUND');
  assert.is(text(refunded, 'paidAt'), text(first, 'paidAt'));
  assert.match(text(refunded, 'pix.endToEndId'), endToEndId);
  assert.is(await client.balance(), balance - 9_900);
});

test('the same message id has one effect, and with other content is refused before anything else', async ({
  client,
}) => {
  const id = await newCharge(client);
  const data = { endToEndId: newEndToEndId() };
  const before = await client.balance();
  expectApplied(await tell(client, id, 'PAY', data, 'm-1'), true, 'paid');
  expectApplied(await tell(client, id, 'PAY', data, 'm-1'), false, 'paid');
  expectNotAccepted(await tell(client, id, 'PAY', { ...data, amount: 10_000 }, 'm-1'), 'paid', paid);
  expectNotAccepted(await tell(client, id, 'PAY', { endToEndId: newEndToEndId() }, 'm-1'), 'paid', paid);
  // PROTEST would be taken, but not under an id that was applied with other content.
  expectNotAccepted(await tell(client, id, 'PROTEST', undefined, 'm-1'), 'paid', paid);
  assert.is(await client.balance(), before + 9_900);
  await told(client, id, 'REFUND');
  expectApplied(await tell(client, id, 'PAY', data, 'm-1'), false, 'refunded');
  assert.is(await client.balance(), before);
  // An id is unique within its transaction only.
  const another = await newCharge(client);
  expectApplied(await tell(client, another, 'PAY', undefined, 'm-1'), true, 'paid');
});

test('a refused message may come again under its id and is judged afresh', async ({ server, client }) => {
  const id = await newCharge(client);
  const recorded = await attention(server, 'refused');
  for (let n = 0; n < 3; n += 1) {
    expectNotAccepted(await tell(client, id, 'REFUND', undefined, 'r-1'), 'waiting_payment', waiting);
  }
  // The same refusal is recorded for ops once.
  assert.is(await attention(server, 'refused'), recorded + 1);
  expectNotAccepted(await tell(client, id, 'CHARGEBACK', undefined, 'r-1'), 'waiting_payment', waiting);
  assert.is(await attention(server, 'refused'), recorded + 2);
  await told(client, id, 'PAY');
  expectApplied(await tell(client, id, 'REFUND', undefined, 'r-1'), true, 'refunded');
});

test('100 racers with one message have one effect', async ({ client }) => {
  const id = await newCharge(client);
  const before = await client.balance();
  const data = { endToEndId: newEndToEndId() };
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => tell(client, id, 'PAY', data, 'raced')),
  );
  for (const reply of replies) expectStatus(reply, 200);
  assert.is(replies.filter((reply) => at(reply.body, 'applied') === true).length, 1);
  assert.is(await client.balance(), before + 9_900);
  assert.equal(await events(client, id), ['pix-in.waiting_payment', 'pix-in.paid']);
});

test('a payment that cannot be credited is given back once, as one item', async ({ server, client }) => {
  for (const [step, status] of [
    ['CANCEL', 'canceled'],
    ['REFUSE', 'refused'],
    ['FAIL', 'failed'],
    ['EXPIRE', 'expired'],
  ] as const) {
    const id = await newCharge(client);
    await told(client, id, step);
    const before = await client.balance();
    const data = { endToEndId: newEndToEndId() };
    expectNotAccepted(await tell(client, id, 'PAY', data, 'p-1'), status, []);
    expectNotAccepted(await tell(client, id, 'PAY', data, 'p-2'), status, []);
    expectNotAccepted(await tell(client, id, 'HOLD', data, 'p-3'), status, []);
    assert.is(await client.balance(), before);
  }
  const returned = await attention(server, 'return');
  const refused = await attention(server, 'refused');
  const id = await newCharge(client);
  const wrong = { endToEndId: newEndToEndId(), amount: 9_999 };
  expectNotAccepted(await tell(client, id, 'PAY', wrong), 'waiting_payment', waiting);
  assert.is(await attention(server, 'return'), returned + 1);
  assert.is(await attention(server, 'refused'), refused);
  // What was given back is never credited, and never given back again.
  const right = { endToEndId: wrong.endToEndId, amount: 10_000 };
  expectError(await tell(client, id, 'PAY', right), 409, 'MESSAGE_NOT_ACCEPTED');
  const another = await newCharge(client);
  expectError(await tell(client, another, 'PAY', right), 409, 'MESSAGE_NOT_ACCEPTED');
  assert.is(text(await shown(client, 'pix-in', another), 'status'), 'waiting_payment');
  assert.is(await attention(server, 'return'), returned + 1);
  expectApplied(await tell(client, id, 'PAY'), true, 'paid');
});

test('a second payment of a paid charge is given back once', async ({ server, client }) => {
  const before = await attention(server, 'return');
  const id = await newCharge(client);
  await told(client, id, 'PAY');
  const second = { endToEndId: newEndToEndId() };
  expectNotAccepted(await tell(client, id, 'PAY', second, 's-1'), 'paid', paid);
  expectNotAccepted(await tell(client, id, 'PAY', second, 's-2'), 'paid', paid);
  assert.is(await attention(server, 'return'), before + 1);
});

test('PAY with the id of a held payment: refused without a return, later a duplicate', async ({
  server,
  client,
}) => {
  const id = await newCharge(client);
  const held = { endToEndId: newEndToEndId() };
  expectApplied(await tell(client, id, 'HOLD', held), true, 'in_analysis');
  const before = [await attention(server, 'return'), await attention(server, 'refused')];
  expectNotAccepted(await tell(client, id, 'PAY', held), 'in_analysis', inAnalysis);
  expectNotAccepted(await tell(client, id, 'PAY', { ...held, amount: 9_999 }), 'in_analysis', inAnalysis);
  assert.is(await attention(server, 'return'), before[0]);
  assert.ok((await attention(server, 'refused')) > (before[1] ?? 0));
  // Another payment of a held charge is given back.
  expectNotAccepted(
    await tell(client, id, 'PAY', { endToEndId: newEndToEndId() }),
    'in_analysis',
    inAnalysis,
  );
  assert.is(await attention(server, 'return'), (before[0] ?? 0) + 1);
  const balance = await client.balance();
  await told(client, id, 'APPROVE');
  expectApplied(await tell(client, id, 'PAY', held), false, 'paid');
  assert.is(await client.balance(), balance + 9_900);
});

test('an end-to-end id credits one charge of an account, and is not given back for another', async ({
  server,
  client,
}) => {
  const [first, second] = [await newCharge(client), await newCharge(client)];
  const data = { endToEndId: newEndToEndId() };
  expectApplied(await tell(client, first, 'PAY', data), true, 'paid');
  const before = [await attention(server, 'return'), await attention(server, 'refused')];
  const balance = await client.balance();
  expectNotAccepted(await tell(client, second, 'PAY', data), 'waiting_payment', waiting);
  expectNotAccepted(await tell(client, second, 'HOLD', data), 'waiting_payment', waiting);
  assert.is(await client.balance(), balance);
  assert.is(await attention(server, 'return'), before[0]);
  assert.ok((await attention(server, 'refused')) > (before[1] ?? 0));
});

test('more than stands is refused and recorded, a part is booked, and what takes the last cent names the state', async ({
  server,
  client,
}) => {
  for (const [type, status] of [
    ['REFUND', 'refunded'],
    ['CHARGEBACK', 'chargedback'],
  ] as const) {
    const id = await newCharge(client);
    await told(client, id, 'PAY');
    const [balance, recorded] = [await client.balance(), await attention(server, 'refused')];
    expectNotAccepted(await tell(client, id, type, { amount: 10_001 }), 'paid', paid);
    assert.is(await client.balance(), balance);
    assert.ok((await attention(server, 'refused')) > recorded);
    expectApplied(await tell(client, id, type, { amount: 5_000 }), true, 'paid');
    assert.is(await client.balance(), balance - 4_950);
    expectNotAccepted(await tell(client, id, type, { amount: 5_001 }), 'paid', paid);
    expectApplied(await tell(client, id, type), true, status);
    assert.is(await client.balance(), balance - 9_900);
  }
});

test('a refund takes the balance below zero, and cashouts are refused then', async ({ server }) => {
  const client = await merchant(server);
  const id = await newCharge(client);
  await told(client, id, 'PAY');
  await told(client, await newTransfer(client), 'SETTLE');
  assert.is(await client.balance(), 9_900 - 1_057);
  await told(client, id, 'REFUND');
  assert.is(await client.balance(), -1_057);
  expectError(await askTransfer(client, 107), 400, 'INSUFFICIENT_BALANCE');
});

test('SETTLE or FAIL of a pending cashout implies the start, and both events go out', async ({ client }) => {
  for (const [type, status] of [
    ['SETTLE', 'completed'],
    ['FAIL', 'failed'],
  ] as const) {
    const before = await client.balance();
    const id = await newTransfer(client);
    const body = expectApplied(await tell(client, id, type), true, status);
    assert.match(text(body, 'reference'), endToEndId);
    assert.is(await client.balance(), type === 'FAIL' ? before : before - 1_057);
    const expected = ['cashout.pending', 'cashout.processing', `cashout.${status}`];
    assert.equal(await events(client, id), expected);
    // A late START, under any id, was applied already.
    const after = await shown(client, 'cashout', id);
    expectApplied(await tell(client, id, 'START', undefined, 'late-1'), false, status);
    expectApplied(await tell(client, id, 'START', { endToEndId: newEndToEndId() }, 'late-2'), false, status);
    assert.equal(await shown(client, 'cashout', id), after);
    assert.equal(await events(client, id), expected);
  }
});

test('a told start again: the same message has one effect, another id is refused', async ({ client }) => {
  const id = await newTransfer(client);
  const data = { endToEndId: newEndToEndId() };
  const started = expectApplied(await tell(client, id, 'START', data, 's-1'), true, 'processing');
  assert.is(text(started, 'reference'), data.endToEndId);
  expectApplied(await tell(client, id, 'START', data, 's-1'), false, 'processing');
  expectNotAccepted(await tell(client, id, 'START', data, 's-2'), 'processing', processing);
  const paidAt = '2026-01-02T03:04:05.678Z';
  const settled = expectApplied(await tell(client, id, 'SETTLE', { ...data, paidAt }), true, 'completed');
  assert.is(text(settled, 'paidAt'), paidAt);
  assert.is(text(settled, 'reference'), data.endToEndId);
});

test('every way of failing gives amount plus fee back, once', async ({ client }) => {
  for (const [steps, status] of [
    [['START', 'FAIL'], 'failed'],
    [['REJECT'], 'rejected'],
    [['CANCEL'], 'cancelled'],
  ] as const) {
    const before = await client.balance();
    const id = await newTransfer(client);
    assert.is(await client.balance(), before - 1_057);
    for (const step of steps) await told(client, id, step, { reason: 'because' });
    const last = steps.at(-1) as string;
    expectNotAccepted(await tell(client, id, last), status, []);
    assert.is(await client.balance(), before);
    assert.is(at(await shown(client, 'cashout', id), 'paidAt'), null);
  }
});

test('a charge expires on its own, unless it is held or paid', async ({ expiring }) => {
  const [left, held, paidId] = [
    await newCharge(expiring),
    await newCharge(expiring),
    await newCharge(expiring),
  ];
  const created = await shown(expiring, 'pix-in', left);
  await told(expiring, held, 'HOLD');
  await told(expiring, paidId, 'PAY');
  const expired = await reaches(expiring, 'pix-in', left, 'expired', 10_000);
  assert.ok(text(expired, 'updatedAt') >= text(created, 'expiresAt'), 'expired before its time');
  assert.equal(await events(expiring, left), ['pix-in.waiting_payment', 'pix-in.expired']);
  await sleep(500);
  assert.is(text(await shown(expiring, 'pix-in', held), 'status'), 'in_analysis');
  assert.is(text(await shown(expiring, 'pix-in', paidId), 'status'), 'paid');
  assert.is(await expiring.balance(), 9_900);
  await told(expiring, held, 'APPROVE');
  assert.is(await expiring.balance(), 19_800);
  expectNotAccepted(await tell(expiring, left, 'PAY'), 'expired', []);
});

test('a message told by pixstate send shares the ids of the sandbox', async ({ server, client }) => {
  const id = await newCharge(client);
  expectApplied(await tell(client, id, 'PAY', undefined, 'shared'), true, 'paid');
  const again = await cliJson(server, ['send', id, 'PAY', '--id', 'shared']);
  assert.is(at(again, 'applied'), false);
});

test('the books are right in the end', async ({ server }) => {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
});

run();
