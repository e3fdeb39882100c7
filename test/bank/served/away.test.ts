/** A server with a real bank's protocol: a bank that is away, wants to be left alone, or comes back. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { fetchReply } from '../../support/client.ts';
import { expectError } from '../../support/expect.ts';
import { charge, reaches, shown, transfer } from '../../support/flows.ts';
import { type Json, keys, list, object, parseJson, text, whole } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, hintPayment, payAt, type Served, withServed } from './scene.ts';

const test = suite('a real bank: away');

const PIX = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
const ALWAYS = 1_000_000;

/** Calls fail until the breaker is open. */
async function gone({ bank, client }: Served): Promise<void> {
  await bank.away();
  for (let time = 0; time < 6; time += 1)
    assert.is((await client.post('/pix-in', { amount: 1_000 })).status, 502);
}

function codes(items: readonly Json[]): string[] {
  return items.map((item) => text(item, 'code'));
}

async function untilListed({ server }: Served, code: string | null): Promise<void> {
  const isSo = async (): Promise<boolean> => {
    const found = codes(await attention(server, 'bank'));
    return code === null ? found.length === 0 : found.includes(code);
  };
  await until(isSo, 20_000, code ?? 'no item');
}

test('while calls are held back nothing is created or changed, keys stay free, and the server is ready', async () => {
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const [paid, waiting] = [await charge(client, 5_000), await charge(client, 6_000)];
    await hintPayment(served, payAt(served, paid));
    await reaches(client, 'pix-in', text(paid, 'id'), 'paid');
    const balance = await client.balance();
    await gone(served);
    const refund = `/pix-in/${text(paid, 'id')}/refunds`;
    const order = { amount: 1_000, idempotencyKey: 'k' };
    const cancel = `/pix-in/${text(waiting, 'id')}/cancel`;
    expectError(await client.post(refund, order), 502, 'PROCESSING_ERROR');
    expectError(await client.post(cancel, {}), 502, 'PROCESSING_ERROR');
    expectError(await client.post('/cashout', { ...order, pix: PIX }), 502, 'PROCESSING_ERROR');
    expectError(await client.post('/pix-in', order), 502, 'PROCESSING_ERROR');
    assert.is(await client.balance(), balance);
    assert.is(text(await shown(client, 'pix-in', text(waiting, 'id')), 'status'), 'waiting_payment');
    assert.equal(list((await client.get(refund)).body, 'data'), []);
    assert.is((await fetchReply('GET', `${server.root}/readyz`)).status, 200, 'our own store is up');
    await bank.listen();
    await until(async () => (await client.post('/pix-in', order)).status === 201, 10_000, 'a charge');
    assert.is((await client.post(refund, order)).status, 201);
    assert.is((await client.post(cancel, {})).status, 200);
    assert.is((await client.post('/cashout', { ...order, pix: PIX })).status, 201);
    await expectVerified(server);
  });
});

test('orders that wait while calls are held back are one line a second in the log, and are all made later', async () => {
  await withServed({ profile: 'efi', balance: 1_000_000 }, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'held' }, 60);
    const sent = await Promise.all(Array.from({ length: 60 }, () => transfer(client, 1_000)));
    await until(() => bank.held === 60, 20_000, 'orders at the bank');
    const begun = performance.now();
    await bank.away();
    const told = (): Json[] =>
      server
        .stderr()
        .split('\n')
        .filter((line) => line.includes('will be tried again') && line.includes('known to be away'))
        .map((line) => object(parseJson(line) ?? null));
    const tries = (): number =>
      told()
        .map((line) => 1 + whole(line, 'more'))
        .reduce((sum, count) => sum + count, 0);
    await until(() => tries() > 120, 20_000, 'each order was tried more than once');
    const seconds = (performance.now() - begun) / 1_000;
    assert.ok(told().length <= seconds + 2, `${told().length} lines in ${seconds} s`);
    assert.ok(told().every((line) => !keys(line).includes('err')));
    await bank.listen();
    bank.release();
    await until(() => bank.state.sendings.size === sent.length, 40_000, 'all orders at the bank');
    await expectVerified(server);
  });
});

test('callbacks are taken while the bank’s API is away, and asked about once it is back', async () => {
  await withServed({}, async (served) => {
    const { bank, client } = served;
    const created = await charge(client, 5_000);
    const payment = payAt(served, created);
    await gone(served);
    assert.is(await hintPayment(served, payment), 200);
    await sleep(200);
    assert.is(text(await shown(client, 'pix-in', text(created, 'id')), 'status'), 'waiting_payment');
    await bank.listen();
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
  });
});

test('a bank that stays away is an item, which goes when it answers', async () => {
  await withServed({}, async (served) => {
    await gone(served);
    await untilListed(served, 'BANK_AWAY');
    await served.bank.listen();
    await untilListed(served, null);
  });
});

test('a bank that wants no calls for an hour is an item, also after a restart, which goes when one goes through', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const headers = { 'retry-after': '3600' };
    bank.fault('PUT cob', { kind: 'answer', status: 429, headers }, ALWAYS);
    const { elapsedMs } = await timed(() => client.post('/pix-in', { amount: 1_000 }));
    assert.ok(elapsedMs < 5_000, 'longer than the request has: answered at once');
    await untilListed(served, 'BANK_LIMIT');
    await client.post('/pix-in', { amount: 1_000 });
    assert.is(bank.calls('PUT cob').length, 1, 'it is left alone');
    await server.kill();
    await server.restart();
    await client.post('/pix-in', { amount: 1_000 });
    await untilListed(served, 'BANK_LIMIT');
    bank.clearFaults();
    await server.kill();
    await server.restart();
    await charge(client, 1_000);
    await untilListed(served, null);
  });
});

async function timed(work: () => Promise<{ status: number }>): Promise<{ elapsedMs: number }> {
  const begun = performance.now();
  assert.is((await work()).status, 502);
  return { elapsedMs: performance.now() - begun };
}

test('a URL that the bank doesn’t take for callbacks is an item, until it takes one', async () => {
  const violacoes = [{ propriedade: 'webhook.webhookUrl', razao: 'não responde' }];
  const type = 'https://pix.bcb.gov.br/api/v2/error/WebhookOperacaoInvalida';
  await withServed({}, async (served) => {
    const { bank, server } = served;
    await until(() => bank.state.webhooks.size === 1, 20_000, 'a webhook');
    bank.state.webhooks.clear();
    const body = JSON.stringify({ type, title: 'x', status: 400, violacoes });
    bank.fault('PUT webhook', { kind: 'answer', status: 400, body }, ALWAYS);
    await server.kill();
    await server.restart();
    await untilListed(served, 'BANK_WEBHOOK');
    bank.clearFaults();
    await untilListed(served, null);
  });
});

test('an item about a charge that a server before this one noted goes with the bank’s answer', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    const change = (fields: Fields): Fields => ({
      ...fields,
      pix: [{ endToEndId: 'E'.repeat(32), valor: '50.00' }],
    });
    bank.fault('GET cob', { kind: 'changed', change }, ALWAYS);
    const payment = payAt(served, created);
    await hintPayment(served, payment);
    await until(async () => (await attention(server, 'invalid')).length === 1, 20_000, 'an item');
    await server.kill();
    bank.clearFaults();
    await server.restart();
    await hintPayment(served, payment);
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
    await until(async () => (await attention(server, 'invalid')).length === 0, 20_000, 'no item any more');
  });
});

test.run();
