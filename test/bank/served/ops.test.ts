/** A server with a real bank's protocol: what ops see and do. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { FakeBank } from '../../support/bank/bank.ts';
import { cli, cliJson } from '../../support/cli.ts';
import { fetchReply, merchant } from '../../support/client.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, reaches, transfer } from '../../support/flows.ts';
import { at, list, text, whole } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hintPayment, payAt, type Served, serve, withServed } from './scene.ts';

const test = suite('a real bank: ops');
const DAY_MS = 86_400_000;

function span(): string[] {
  const [from, to] = [Date.now() - DAY_MS, Date.now() + DAY_MS].map((time) => new Date(time).toISOString());
  return ['--from', from ?? '', '--to', to ?? ''];
}

async function reconciled({ server }: Served, times = span()) {
  const { code, stdout } = await cli(server, ['bank', 'reconcile', ...times, '--json']);
  const document = JSON.parse(stdout);
  assert.is(code, document.ok === true ? 0 : 1, stdout);
  return document;
}

test('bank reconcile: the same sums on both sides, and what differs by name', async () => {
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    await hintPayment(served, payAt(served, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    const sent = text(await transfer(client, 3_000), 'id');
    await reaches(client, 'cashout', sent, 'processing');
    Object.assign(bank.state.sendings.get(bare(sent)) ?? {}, { status: 'REALIZADO', settledAt: Date.now() });
    await reaches(client, 'cashout', sent, 'completed');
    const whole = await reconciled(served);
    assert.is(whole.ok, true, JSON.stringify(whole));
    assert.equal(whole.payments, { count: 1, amount: 5_000 });
    assert.equal(whole.sendings, { count: 1, amount: 3_000 });
    assert.equal(whole.journal.payments, whole.payments);
    assert.equal(whole.journal.sendings, whole.sendings);
    // At the bank only, without a charge of ours, and here only.
    const foreign = bank.state.pay({ amount: '3.21', key: '7407c9c8-f78b-11ea-adc1-0242ac120002' });
    bank.state.sendings.delete(bare(sent));
    const differing = await reconciled(served);
    const found = differing.differences.map((each: { kind: string; endToEndId: string }) => each.kind).sort();
    assert.equal(found, ['missing', 'payment']);
    assert.ok(JSON.stringify(differing).includes(foreign.endToEndId));
    await expectVerified(server);
  });
});

test('another amount, and a return that the bank doesn’t list, are differences', async () => {
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const [first, second] = [await charge(client, 5_000), await charge(client, 6_000)];
    const payments = [payAt(served, first), payAt(served, second)] as const;
    for (const payment of payments) await hintPayment(served, payment);
    for (const each of [first, second]) await reaches(client, 'pix-in', text(each, 'id'), 'paid');
    expectStatus(await client.post(`/pix-in/${text(second, 'id')}/refunds`, { amount: 1_000 }), 201);
    const back = await until(() => payments[1].returns[0] ?? false, 10_000, 'a return');
    Object.assign(back, { status: 'DEVOLVIDO' });
    await until(async () => {
      const { body } = await client.get(`/pix-in?id=${text(second, 'id')}`);
      return at(body, 'refundedAmount') === 1_000;
    }, 10_000);
    const sent = text(await transfer(client, 3_000), 'id');
    await until(() => bank.state.sendings.has(bare(sent)), 10_000, 'the order');
    Object.assign(bank.state.sendings.get(bare(sent)) ?? {}, { status: 'REALIZADO', settledAt: Date.now() });
    await reaches(client, 'cashout', sent, 'completed');
    assert.is((await reconciled(served)).ok, true);
    payments[0].valor = '49.00';
    payments[1].returns.length = 0;
    Object.assign(bank.state.sendings.get(bare(sent)) ?? {}, { valor: '31.00' });
    const { differences } = await reconciled(served);
    const said = differences.map((each: { what: string }) => each.what).sort();
    assert.is(said.length, 3, JSON.stringify(differences));
    assert.match(said[0], /^a return \([0-9a-f]{32}\) was booked that the bank doesn't list$/);
    assert.is(said[1], 'the bank lists 31.00, and 30.00 were booked');
    assert.is(said[2], 'the bank lists 49.00, and 50.00 were booked');
    assert.is((await attention(server, 'difference')).length, 3);
  });
});

test('bank reconcile: a transfer counts where it was settled, however long before it was ordered', async () => {
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const sums = [];
    for (const agoMs of [1_000, 2 * DAY_MS]) {
      const sent = text(await transfer(client, 5_000), 'id');
      await reaches(client, 'cashout', sent, 'processing');
      const sending = bank.state.sendings.get(bare(sent));
      if (sending === undefined) throw new Error('the bank knows no such transfer');
      const settledAt = Date.now();
      sending.at -= agoMs;
      Object.assign(sending, { status: 'REALIZADO', settledAt });
      await reaches(client, 'cashout', sent, 'completed', 20_000);
      for (const [from, to] of [
        [settledAt - 500, settledAt + 500],
        [sending.at - 500, settledAt - 500],
      ] as const) {
        const times = ['--from', new Date(from).toISOString(), '--to', new Date(to).toISOString()];
        const { differences, sendings, journal } = await reconciled(served, times);
        assert.equal(differences, []);
        sums.push([sendings.count, journal.sendings.count].join());
      }
      // So that the next one is settled outside the first one's span.
      await sleep(1_000);
    }
    // The last span holds the first transfer.
    assert.equal(sums, ['1,1', '0,0', '1,1', '1,1']);
    await expectVerified(server);
  });
});

test('bank reconcile lists charges that were never made here, and calls them harmless', async () => {
  await withServed({}, async (served) => {
    const { bank, client } = served;
    await charge(client, 5_000);
    const [known] = bank.state.charges.values();
    if (known === undefined) throw new Error('the bank has no charge');
    const txid = bare(randomUUID());
    bank.state.charges.set(txid, { ...known, txid });
    bank.state.charges.set('other-system-0000000000000000', {
      ...known,
      txid: 'other-system-0000000000000000',
    });
    const found = await reconciled(served);
    assert.is(found.ok, true, JSON.stringify(found));
    assert.equal(found.unseen, [{ txid, amount: 5_000 }]);
    bank.fault('LIST cob', { kind: 'answer', status: 500, body: '' }, 100);
    assert.is((await reconciled(served)).unseen, null);
  });
});

test('bank reconcile asks about a payment that nobody told of', async () => {
  await withServed({}, async (served) => {
    const created = await charge(served.client, 5_000);
    // Longer than reconciliation's own turn is away.
    payAt(served, created);
    assert.is((await reconciled(served)).differences.length, 1);
    await reaches(served.client, 'pix-in', text(created, 'id'), 'paid');
    assert.is((await reconciled(served)).ok, true);
  });
});

test('a return that the bank can’t do is a person’s; bank return orders the next one', async () => {
  await withServed({}, async (served) => {
    const { server, client } = served;
    const created = await charge(client, 5_000);
    await hintPayment(served, payAt(served, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    const second = payAt(served, created);
    await hintPayment(served, second);
    await until(() => second.returns.length === 1, 10_000, 'a return');
    const again = ['bank', 'return', second.endToEndId];
    const early = await cli(server, [...again, '--json']);
    assert.is(early.code, 1);
    assert.match(early.stdout, 'EM_PROCESSAMENTO');
    Object.assign(second.returns[0] ?? {}, { status: 'NAO_REALIZADO', motivo: 'sem saldo' });
    const item = await until(async () => {
      const items = await attention(server, 'return');
      return items.find((each) => text(each, 'next').includes('bank return'));
    }, 10_000);
    assert.match(text(item, 'what'), 'sem saldo');
    // What the bank is about to take back by itself may stay: nobody would give it back.
    const own = { id: 'med1', rtrId: `D${'1'.repeat(31)}`, valor: '20.00', natureza: 'MED_FRAUDE' };
    second.returns.push({ ...own, status: 'EM_PROCESSAMENTO', at: Date.now() });
    const beside = await cli(server, [...again, '--json']);
    assert.is(beside.code, 1);
    assert.match(beside.stdout, 'return med1');
    Object.assign(second.returns[1] ?? {}, { status: 'NAO_REALIZADO' });
    const ordered = await cliJson(server, again);
    await until(() => second.returns.length === 3, 10_000, 'the next return');
    assert.is(second.returns[2]?.id, text(ordered, 'returnId'));
    assert.is(second.returns[2]?.valor, '50.00');
    Object.assign(second.returns[2] ?? {}, { status: 'DEVOLVIDO' });
    await expectVerified(server);
  });
});

test('a stuck transfer says where it stands at the bank', async () => {
  const env = { STUCK_AFTER_S: '1' };
  await withServed({ profile: 'inter', balance: 100_000, env }, async ({ bank, server, client }) => {
    const sent = text(await transfer(client, 3_000), 'id');
    const sending = await until(() => bank.state.sendings.get(sent), 10_000);
    Object.assign(sending, { status: 'AGUARDANDO_APROVACAO' });
    await until(async () => {
      const [item] = await attention(server, 'stuck');
      return item !== undefined && text(item, 'what').includes('AGUARDANDO_APROVACAO');
    }, 10_000);
    Object.assign(sending, { status: 'PAGO', settledAt: Date.now() });
    await reaches(client, 'cashout', sent, 'completed');
    assert.equal(await attention(server, 'stuck'), []);
  });
});

test('a return that doesn’t end is stuck, with the bank’s word, until it has', async () => {
  await withServed({ env: { STUCK_AFTER_S: '1' } }, async (served) => {
    const { server, client } = served;
    const created = await charge(client, 5_000);
    await hintPayment(served, payAt(served, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    const second = payAt(served, created);
    await hintPayment(served, second);
    const item = await until(async () => (await attention(server, 'stuck'))[0] ?? false, 15_000, 'an item');
    assert.match(text(item, 'what'), second.endToEndId);
    assert.match(text(item, 'what'), 'EM_PROCESSAMENTO');
    assert.is(at(item, 'amount'), 5_000);
    assert.is(at(item, 'account'), client.accountId);
    const found = await cliJson(server, ['attention', '--kind', 'stuck', '--limit', '1']);
    assert.is(list(found, 'items').length, 1);
    Object.assign(second.returns[0] ?? {}, { status: 'DEVOLVIDO' });
    await until(async () => (await attention(server, 'stuck')).length === 0, 15_000, 'no item');
  });
});

test('credentials that are refused are an item, which goes when they are right again', async () => {
  await withServed({}, async ({ bank, server, client }) => {
    bank.killTokens();
    bank.fault('token', { kind: 'answer', status: 401, body: '{"error":"invalid_client"}' }, 10_000);
    assert.is((await client.post('/pix-in', { amount: 1_000 })).status, 502);
    const items = await until(async () => {
      const found = await attention(server, 'bank');
      return found.length > 0 && found;
    }, 10_000);
    assert.match(text(items[0] ?? null, 'next'), 'bank check');
    bank.clearFaults();
    await charge(client);
    await until(async () => (await attention(server, 'bank')).length === 0, 10_000);
  });
});

test('an expired certificate: the server serves, says so, and charges are 502', async () => {
  const bank = await FakeBank.start({});
  const expired = bank.certificates.certificate('expired-at-start', { authority: bank.authority, days: 0 });
  await sleep(1_100);
  const server = await serve(bank, { BANK_CERT_FILE: expired.certFile, BANK_KEY_FILE: expired.keyFile });
  try {
    const client = await merchant(server);
    assert.is((await client.post('/pix-in', { amount: 1_000 })).status, 502);
    assert.is((await client.get('/balance')).status, 200);
    // Under TLS 1.3 the refusal may look like a cut connection: the certificate's own dates say what is wrong.
    await until(async () => {
      const ids = (await attention(server, 'bank')).map((item) => text(item, 'id'));
      return ids.includes('bank-certificate-dates');
    }, 10_000);
    assert.is(bank.state.charges.size, 0);
  } finally {
    await server.stop();
    await bank.stop();
  }
});

test('metrics tell calls by outcome, the breaker, token and certificate', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async ({ server, client }) => {
    await charge(client);
    await until(async () => {
      const { text: metrics } = await fetchReply('GET', `http://127.0.0.1:${server.adminPort}/metrics`);
      return (
        /pixstate_bank_call_seconds_count\{call="PUT cob",outcome="ok"\} 1/.test(metrics) &&
        /pixstate_bank_breaker_open 0/.test(metrics) &&
        /pixstate_bank_token_age_seconds \d/.test(metrics) &&
        /pixstate_bank_certificate_left_seconds \d{5,}/.test(metrics) &&
        /pixstate_bank_reconciled_age_seconds \d/.test(metrics)
      );
    }, 10_000);
  });
});

test('webhooks are registered for each key, where they differ', async () => {
  const key = 'loja@example.com';
  const keys = new Set(['7407c9c8-f78b-11ea-adc1-0242ac120002', key]);
  await withServed({ keys, account: ['--pix-key', key] }, async ({ bank, server, client }) => {
    const url = String(server.env.BANK_WEBHOOK_URL);
    await until(() => [...keys].every((each) => bank.state.webhooks.get(each) === url), 20_000, 'webhooks');
    const created = await charge(client, 1_500);
    assert.is(bank.state.charges.get(bare(text(created, 'id')))?.body.chave, key);
    assert.is(whole(created, 'amount'), 1_500);
    assert.equal(list(await cliJson(server, ['attention']), 'items'), []);
    assert.is(at(await cliJson(server, ['verify', '--decide']), 'ok'), true);
  });
});

test.run();
