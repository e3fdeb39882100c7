/** A server with a real bank's protocol: what is said of keys, races, ends of a process, and what nobody may read. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { FakeBank, OUR_KEY } from '../../support/bank/bank.ts';
import { cliJson } from '../../support/cli.ts';
import { merchantOf, type Reply } from '../../support/client.ts';
import { expectError, expectStatus } from '../../support/expect.ts';
import { charge, reaches, shown, transfer } from '../../support/flows.ts';
import { at, list, text } from '../../support/json.ts';
import { endWithin, spawnNode } from '../../support/process.ts';
import { startServer } from '../../support/server.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hint, hintPayment, payAt, serve, withServed } from './scene.ts';

const test = suite('a real bank: rules');

const KEY = 'loja@example.com';
const REMOVED = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
/** A server takes up what commands change within a second. */
const TAKEN_UP_MS = 1_100;
const EFI = { profile: 'efi', balance: 100_000 } as const;

test('a charge that was paid with another amount is canceled, and the payment goes back', async () => {
  await withServed({}, async (served) => {
    const { client, server } = served;
    const created = await charge(client, 5_000);
    const id = text(created, 'id');
    const wrong = payAt(served, created, '49.99');
    const canceled = expectStatus(await client.post(`/pix-in/${id}/cancel`, { reason: 'sold out' }), 200);
    assert.is(text(canceled, 'status'), 'canceled');
    assert.equal(expectStatus(await client.post(`/pix-in/${id}/cancel`, {}), 200), canceled, 'a repeat');
    await until(() => wrong.returns.length === 1, 10_000, 'the return');
    assert.is(wrong.returns[0]?.valor, '49.99');
    assert.is(await client.balance(), 0);
    await expectVerified(server);
  });
});

test('of two requests with one key the loser’s charge is removed at the bank; a known key never gets there', async () => {
  await withServed({}, async ({ bank, client }) => {
    const order = { amount: 5_000, idempotencyKey: 'order-1' };
    // Both are at the bank before either is made here.
    bank.fault('PUT cob', { kind: 'held' }, 2);
    const racing = Promise.all([client.post('/pix-in', order), client.post('/pix-in', order)]);
    await until(() => bank.held === 2, 10_000, 'both at the bank');
    bank.release();
    const statuses = (await racing).map(({ status }) => status).sort();
    assert.equal(statuses, [201, 409]);
    const states = (): string[] => [...bank.state.charges.values()].map(({ status }) => status).sort();
    await until(() => states().includes(REMOVED), 10_000, 'the loser’s charge is removed');
    assert.equal(states(), ['ATIVA', REMOVED]);
    expectError(await client.post('/pix-in', order), 409, 'DUPLICATE_REQUEST');
    assert.is(bank.calls('PUT cob').length, 2);
  });
});

test('an account without a key has none; a charge keeps the key that it was registered with', async () => {
  const keys = new Set([OUR_KEY, KEY]);
  await withServed({ keys, env: { BANK_PIX_KEY: '' } }, async (served) => {
    const { bank, server, client } = served;
    expectError(await client.post('/pix-in', { amount: 5_000 }), 502, 'PROCESSING_ERROR');
    assert.is(bank.calls('PUT cob').length, 0);
    const set = async (...change: string[]): Promise<void> => {
      await cliJson(server, ['account', 'set', client.accountId, ...change]);
      await sleep(TAKEN_UP_MS);
    };
    await set('--pix-key', KEY);
    const first = await charge(client, 5_000);
    await set('--pix-key', OUR_KEY);
    const second = await charge(client, 6_000);
    const [one, two] = [payAt(served, first), payAt(served, second)];
    assert.equal([one.chave, two.chave], [KEY, OUR_KEY]);
    for (const payment of [one, two]) await hintPayment(served, payment);
    for (const each of [first, second]) await reaches(client, 'pix-in', text(each, 'id'), 'paid');
    await set('--no-pix-key');
    expectError(await client.post('/pix-in', { amount: 5_000 }), 502, 'PROCESSING_ERROR');
  });
});

test('a charge that the bank knows nothing of expires at its time, and is an item', async () => {
  await withServed({ env: { CHARGE_EXPIRY_S: '1' } }, async ({ bank, server, client }) => {
    const id = text(await charge(client, 5_000), 'id');
    bank.state.charges.delete(bare(id));
    await reaches(client, 'pix-in', id, 'expired', 20_000);
    const [item = null] = await attention(server, 'difference');
    assert.equal([text(item, 'code'), text(item, 'id')], ['CHARGE_UNKNOWN', `cob_${bare(id)}`]);
  });
});

test('at SIGTERM a call under way gets its answer, and what gets none is asked about after the next start', async () => {
  await withServed(EFI, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'slow', ms: 2_000 });
    const answered = text(await transfer(client, 5_000), 'id');
    await until(() => bank.calls('PUT envio').length === 1, 10_000, 'an order on its way');
    assert.is(await server.terminate(), 0);
    assert.is(bank.state.sendings.size, 1);
    await server.restart();
    const entries = list(await cliJson(server, ['inspect', answered]), 'entries');
    assert.ok(
      entries.some((entry) => at(entry, 'message.type') === 'START'),
      'its answer was heard',
    );
    bank.fault('PUT envio', { kind: 'held' });
    const unanswered = text(await transfer(client, 6_000), 'id');
    await until(() => bank.held === 1, 10_000, 'another one');
    assert.is(await server.terminate(), 0, 'it ends all the same');
    bank.release();
    await until(() => bank.state.sendings.size === 2, 10_000, 'at the bank');
    const seen = bank.seen.length;
    await server.restart();
    await reaches(client, 'cashout', unanswered, 'processing', 20_000);
    const orders = bank.seen.slice(seen).filter(({ call }) => call === 'PUT envio');
    assert.equal(orders, [], 'no call that the journal doesn’t name');
  });
});

test('at SIGTERM no order begins that waits for its turn: it is the next start’s, and is done once', async () => {
  await withServed({ ...EFI, balance: 1_000_000 }, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'slow', ms: 2_000 }, 75);
    await Promise.all(Array.from({ length: 150 }, () => transfer(client, 1_000)));
    await until(() => bank.calls('PUT envio').length === 75, 10_000, 'as many as may be under way');
    assert.is(await server.terminate(), 0);
    assert.is(bank.calls('PUT envio').length, 75);
    assert.not.match(server.stderr(), /will be tried again/);
    await server.restart();
    await until(() => bank.state.sendings.size === 150, 20_000, 'all at the bank');
    assert.is(bank.calls('PUT envio').length, 150, 'each was sent once');
  });
});

test('at SIGTERM no order leaves that waits inside its call for the bank’s Retry-After', async () => {
  await withServed({ ...EFI, balance: 1_000_000 }, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '3' } });
    await transfer(client, 1_000);
    await until(() => bank.calls('PUT envio').length === 1, 10_000, 'the first order');
    await Promise.all(Array.from({ length: 10 }, () => transfer(client, 1_000)));
    assert.is(await server.terminate(), 0);
    assert.is(bank.calls('PUT envio').length, 1);
    assert.not.match(server.stderr(), /will be tried again/);
    await server.restart();
    await until(() => bank.state.sendings.size === 11, 20_000, 'all at the bank');
    assert.is(bank.calls('PUT envio').length, 12, 'each was sent once');
  });
});

test('at SIGTERM a charge under way is answered, also where the bank takes nearly 5 s, or longer', async () => {
  await withServed({}, async ({ bank, server, client }) => {
    const ended = async (ms: number): Promise<Reply> => {
      bank.fault('PUT cob', { kind: 'slow', ms });
      const calls = bank.calls('PUT cob').length;
      const answer = client.post('/pix-in', { amount: 5_000 });
      await until(() => bank.calls('PUT cob').length > calls, 10_000, 'a charge on its way');
      assert.is(await server.terminate(), 0);
      return answer;
    };
    expectStatus(await ended(4_600), 201);
    await server.restart();
    const left = await ended(8_000);
    expectError(left, 503, 'SERVICE_UNAVAILABLE');
    assert.is(left.headers['retry-after'], '1');
    assert.ok(left.headers['x-request-id']);
  });
});

test('mistakes in the bank’s configuration end the start with 2, all of them in one go', async () => {
  const bank = await FakeBank.start({});
  const server = await startServer({});
  try {
    await server.terminate();
    const env = { ...server.env, ...bank.env, BANK_CA_FILE: '/nowhere.ca', BANK_KEY_FILE: '/nowhere.key' };
    const ended = await endWithin(spawnNode(['dist/src/main.js'], env), 15_000);
    assert.is(ended.code, 2);
    assert.is(ended.stdout, '');
    for (const name of ['BANK_CA_FILE', 'BANK_KEY_FILE'])
      assert.match(ended.stderr, `${name} can't be read (ENOENT)`);
  } finally {
    await server.stop();
    await bank.stop();
  }
});

test('the log names bank, profile, host and door, and no secret, key, document or token', async () => {
  const bank = await FakeBank.start({ profile: 'efi' });
  const server = await serve(bank, { LOG_LEVEL: 'debug' });
  try {
    const account = await cliJson(server, ['account', 'create', '--allow-ip', '127.0.0.1']);
    const client = merchantOf(server, account);
    await cliJson(server, ['account', 'adjust', client.accountId, '100000', '--reason', 'opening']);
    const cpf = '52998224725';
    const customer = { name: 'Ana Lima', document: { type: 'CPF', number: cpf } };
    bank.fault('PUT cob', { kind: 'cut-after' });
    const created = expectStatus(await client.post('/pix-in', { amount: 5_000, customer }), 201);
    await hintPayment({ bank, server }, payAt({ bank }, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    bank.fault('PUT envio', { kind: 'answer', status: 500, body: `{"chave":"${cpf}"}` });
    bank.fault('GET envio', { kind: 'answer', status: 404, body: `<html>${cpf}` }, 3);
    await transfer(client, 5_000);
    bank.killTokens();
    bank.fault('token', { kind: 'answer', status: 401, body: `{"error":"${bank.clientSecret}"}` });
    await client.post('/pix-in', { amount: 5_000, customer });
    assert.is(await hint({ bank, server }, [{ endToEndId: 'E'.repeat(32), txid: bare(randomUUID()) }]), 200);
    await sleep(500);
    const log = server.stderr();
    const line = log.split('\n').find((each) => each.includes('"msg":"the bank"')) ?? '{}';
    const { bank: name, profile, host, door } = JSON.parse(line);
    assert.equal([name, profile, host], ['api-pix', 'efi', new URL(bank.url).host]);
    assert.is(door, Number(server.env.BANK_CALLBACK_PORT));
    assert.match(log, 'callbacks that no transaction of ours explains');
    const basic = Buffer.from(`${bank.clientId}:${bank.clientSecret}`).toString('base64');
    for (const secret of [bank.clientSecret, basic, bank.client.key, OUR_KEY, cpf, 'token-1', 'Ana Lima'])
      assert.not.ok(log.includes(secret), secret);
    assert.is(server.stdout(), '');
  } finally {
    await server.stop();
    await bank.stop();
  }
});

test('a payment by a static code, or of another system’s txid, is one item each and nothing else', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async ({ bank, server, client }) => {
    const id = text(await charge(client, 5_000), 'id');
    const paid = [{}, { txid: 'STATIC1' }, { txid: bare(randomUUID()) }, { txid: 'x'.repeat(30) }].map(
      (over) => bank.state.pay({ amount: '3.21', key: OUR_KEY, ...over }),
    );
    await until(async () => (await attention(server, 'payment')).length === 4, 20_000, 'four items');
    await sleep(1_500);
    const items = list(await cliJson(server, ['attention']), 'items');
    assert.equal(
      items.map((item) => text(item, 'id')).sort(),
      paid.map(({ endToEndId }) => endToEndId).sort(),
    );
    assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
    assert.is(bank.calls('PUT devolucao').length, 0);
  });
});

test.run();
