/** A server with a real bank's protocol: answers that contradict each other, or that one of two questions lacks. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import type { Fields } from '../../support/bank/requests.ts';
import type { FakePayment } from '../../support/bank/state.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, reaches, transfer } from '../../support/flows.ts';
import { at, text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hint, hintPayment, paidCharge, payAt, type Served, withServed } from './scene.ts';

const test = suite('a real bank: contradictions');

const ALWAYS = 1_000_000;
/** Longer than questions that find nothing new go on. */
const QUIET_MS = 2_500;

function eachOf(body: Fields, name: string, change: (item: Fields) => Fields): Fields {
  return { ...body, [name]: ((body[name] ?? []) as Fields[]).map(change) };
}

function without(name: string): (item: Fields) => Fields {
  return ({ [name]: _left, ...rest }) => rest;
}

/** The bank takes 20.00 of a payment back, and leaves out why where it tells of its charge. */
function takePartBack({ bank }: Pick<Served, 'bank'>, payment: FakePayment): void {
  const change = (cob: Fields): Fields =>
    eachOf(cob, 'pix', (pix) => eachOf(pix, 'devolucoes', without('natureza')));
  bank.fault('GET cob', { kind: 'changed', change }, ALWAYS);
  const rtrId = bank.state.id('D', Date.now());
  const back = { id: 'med1', rtrId, valor: '20.00', natureza: 'MED_FRAUDE', at: Date.now() };
  payment.returns.push({ ...back, status: 'DEVOLVIDO' });
}

test('a return whose nature only the payment’s own answer tells is debited once', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async (served) => {
    const { server, client } = served;
    const { id, payment } = await paidCharge(served);
    takePartBack(served, payment);
    const before = await client.balance();
    await hint(served, [{ txid: bare(id) }]);
    await until(async () => (await client.balance()) !== before, 20_000, 'the debit');
    const after = await client.balance();
    await hintPayment(served, payment);
    await sleep(QUIET_MS);
    assert.is(await client.balance(), after);
    assert.equal(await attention(server, 'refused'), []);
    await expectVerified(server);
  });
});

test('nor twice where both answers come at the same time', async () => {
  for (let round = 0; round < 3; round += 1)
    await withServed({}, async (served) => {
      const { server, client } = served;
      const { id, payment } = await paidCharge(served);
      takePartBack(served, payment);
      const before = await client.balance();
      const txid = bare(id);
      const forged = Array.from({ length: 40 }, (_, nth) => ({
        txid,
        endToEndId: `E00000000202611282310${String(nth).padStart(12, '0')}`.slice(0, 32),
      }));
      const named = { txid, endToEndId: payment.endToEndId };
      await hint(served, [...forged.slice(0, 20), named, { txid }, ...forged.slice(20)]);
      await until(async () => (await client.balance()) !== before, 20_000, 'the debit');
      await sleep(QUIET_MS);
      const { body } = await client.get(`/pix-in?id=${id}`);
      const sums = ['refundedAmount', 'chargedbackAmount'].map((name) => Number(at(body, name) ?? 0));
      assert.is(sums[0] === 2_000 || sums[1] === 2_000, true);
      assert.is((sums[0] ?? 0) + (sums[1] ?? 0), 2_000);
      await expectVerified(server);
    });
});

test('what came back of two transfers is booked of both, though their payees gave it the same id', async () => {
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const sentOf = (id: string) => {
      const sent = bank.state.sendings.get(bare(id));
      if (sent === undefined) throw new Error('the bank knows no such transfer');
      return sent;
    };
    const ids = [text(await transfer(client, 5_000), 'id'), text(await transfer(client, 5_000), 'id')];
    for (const id of ids) {
      await reaches(client, 'cashout', id, 'processing');
      Object.assign(sentOf(id), { status: 'REALIZADO', settledAt: Date.now() });
      await reaches(client, 'cashout', id, 'completed', 20_000);
    }
    const change = (sent: Fields): Fields => eachOf(sent, 'devolucoes', without('rtrId'));
    bank.fault('GET envio', { kind: 'changed', change }, ALWAYS);
    const before = await client.balance();
    for (const id of ids) {
      const back = { id: 'devolucao1', rtrId: 'D1', valor: '20.00', natureza: 'ORIGINAL', at: Date.now() };
      sentOf(id).returns.push({ ...back, status: 'DEVOLVIDO' });
      await hint(served, [{ tipo: 'SOLICITACAO', status: 'REALIZADO', gnExtras: { idEnvio: bare(id) } }]);
    }
    await until(async () => (await client.balance()) === before + 4_000, 20_000, 'both came back');
    await expectVerified(server);
  });
});

test('a payment that the charge shows is booked, whatever becomes of its own question', async () => {
  for (const status of [503, 400, 403])
    await withServed({}, async (served) => {
      const created = await charge(served.client, 5_000);
      served.bank.fault('GET pix', { kind: 'answer', status, body: '{"type":"x/y","title":"x"}' }, ALWAYS);
      await hintPayment(served, payAt(served, created));
      await reaches(served.client, 'pix-in', text(created, 'id'), 'paid', 20_000);
    });
});

test('a hint at what the bank tells nobody of is asked about a few times, and no more', async () => {
  for (const status of [400, 403])
    await withServed({}, async (served) => {
      const { bank, client } = served;
      const created = await charge(client, 5_000);
      bank.fault(
        'GET pix',
        { kind: 'answer', status, body: '{"type":"x/AcessoNegado","title":"x"}' },
        ALWAYS,
      );
      const forged = 'X'.repeat(32);
      await hint(served, [{ txid: bare(text(created, 'id')), endToEndId: forged }]);
      await until(() => bank.calls('GET pix').length >= 4, 20_000, 'questions');
      await sleep(QUIET_MS);
      assert.is(bank.calls('GET pix').length, 4);
    });
});

test('a charge that is paid and shows no payment is told of once it is past its time', async () => {
  const env = { BANK_EXPIRY_GRACE_S: '0' };
  await withServed({ account: ['--expires-in', '2'], env }, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    const there = bank.state.charges.get(bare(text(created, 'id')));
    if (there === undefined) throw new Error('the bank knows no such charge');
    there.status = 'CONCLUIDA';
    await until(async () => (await attention(server, 'invalid')).length > 0, 30_000, 'an item');
    const [item = null] = await attention(server, 'invalid');
    assert.match(text(item, 'what'), /was paid, and shows no payment/);
    assert.is(
      text((await client.get(`/pix-in?id=${text(created, 'id')}`)).body, 'status'),
      'waiting_payment',
    );
    payAt(served, created);
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 30_000);
    await until(async () => (await attention(server, 'invalid')).length === 0, 20_000, 'it is over');
  });
});

test('a phone without its plus is the key of its charge; a charge paid by none of its payments doesn’t expire', async () => {
  const phone = '+5511987654321';
  const env = { BANK_EXPIRY_GRACE_S: '0', BANK_PIX_KEY: phone };
  await withServed({ account: ['--expires-in', '2'], env, keys: new Set([phone]) }, async (served) => {
    const { bank, server, client } = served;
    const keyed =
      (key: string) =>
      (cob: Fields): Fields =>
        eachOf(cob, 'pix', (pix) => ({ ...pix, chave: key }));
    bank.fault('GET cob', { kind: 'changed', change: keyed(phone.slice(1)) }, ALWAYS);
    const first = await charge(client, 5_000);
    payAt(served, first);
    await reaches(client, 'pix-in', text(first, 'id'), 'paid', 30_000);
    bank.clearFaults();
    bank.fault('GET cob', { kind: 'changed', change: keyed('somebody@else.example') }, ALWAYS);
    const second = await charge(client, 5_000);
    const id = text(second, 'id');
    payAt(served, second);
    await until(async () => (await attention(server, 'invalid')).length > 0, 30_000, 'an item');
    const [item = null] = await attention(server, 'invalid');
    assert.match(text(item, 'what'), /was paid, and shows no payment of it/);
    assert.is(text((await client.get(`/pix-in?id=${id}`)).body, 'status'), 'waiting_payment');
    bank.clearFaults();
    await reaches(client, 'pix-in', id, 'paid', 30_000);
  });
});

test('a refund of which the bank gives back less is told of at once', async () => {
  for (const isOrdered of [true, false])
    await withServed({}, async (served) => {
      const { bank, server, client } = served;
      const { id, payment } = await paidCharge(served);
      const less = (made: Fields): Fields => ({ ...made, valor: '10.00', status: 'DEVOLVIDO' });
      // By the order's own answer, or by the charge's once a hint has come.
      if (isOrdered) bank.fault('PUT devolucao', { kind: 'changed', change: less }, ALWAYS);
      expectStatus(await client.post(`/pix-in/${id}/refunds`, { amount: 4_000 }), 201);
      if (!isOrdered) {
        await until(() => payment.returns.length > 0, 20_000, 'the order');
        Object.assign(payment.returns[0] ?? {}, { valor: '10.00', status: 'DEVOLVIDO' });
        await hint(served, [{ txid: bare(id) }]);
      }
      await until(async () => (await attention(server, 'difference')).length > 0, 20_000, 'an item');
      const [item = null] = await attention(server, 'difference');
      assert.is(text(item, 'code'), 'RETURN_AMOUNT_DIFFERS');
      assert.is(bank.calls('PUT devolucao').length, 1);
    });
});

test('a removal that the bank answers with a charge that is paid removes nothing', async () => {
  await withServed({}, async (served) => {
    const { bank, client } = served;
    const created = await charge(client, 5_000);
    const id = text(created, 'id');
    const body = JSON.stringify({ txid: bare(id), status: 'CONCLUIDA', valor: { original: '50.00' } });
    bank.fault('PATCH cob', { kind: 'answer', status: 200, body });
    const payment = payAt(served, created);
    expectStatus(await client.post(`/pix-in/${id}/cancel`, {}), 409);
    await reaches(client, 'pix-in', id, 'paid', 20_000);
    assert.equal(payment.returns, []);
  });
});

const NOTICE: Fields = { mensagem: 'Sistema em manutenção' };

test('an answer about no charge, or about another one, expires none', async () => {
  const env = { BANK_EXPIRY_GRACE_S: '0' };
  for (const body of [NOTICE, { txid: 'f'.repeat(32), status: 'ATIVA', valor: { original: '50.00' } }])
    await withServed({ account: ['--expires-in', '3'], env }, async (served) => {
      const { bank, client } = served;
      const created = await charge(client, 5_000);
      const id = text(created, 'id');
      bank.fault('GET cob', { kind: 'changed', change: () => body }, ALWAYS);
      const payment = payAt(served, created);
      await until(() => bank.calls('GET cob').length > 1, 30_000, 'questions');
      assert.is(text((await client.get(`/pix-in?id=${id}`)).body, 'status'), 'waiting_payment');
      bank.clearFaults();
      await reaches(client, 'pix-in', id, 'paid', 30_000);
      assert.equal(payment.returns, []);
    });
});

test('a removal that is answered with a notice is asked about', async () => {
  await withServed({}, async ({ bank, client }) => {
    const id = text(await charge(client, 5_000), 'id');
    bank.fault('PATCH cob', { kind: 'answer', status: 200, body: JSON.stringify(NOTICE) });
    expectStatus(await client.post(`/pix-in/${id}/cancel`, {}), 502);
    assert.is(text((await client.get(`/pix-in?id=${id}`)).body, 'status'), 'waiting_payment');
    expectStatus(await client.post(`/pix-in/${id}/cancel`, {}), 200);
    assert.is(bank.state.charges.get(bare(id))?.status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
  });
});

test.run();
