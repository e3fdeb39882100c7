/** A server with a real bank's protocol: answers that the document allows, and that few banks give. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { cli, cliJson } from '../../support/cli.ts';
import { expectError } from '../../support/expect.ts';
import { charge, reaches, transfer } from '../../support/flows.ts';
import { at, type Json, list, text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hint, hintPayment, paidCharge, payAt, SCALE, withServed } from './scene.ts';

const test = suite('a real bank: odd answers');

const ALWAYS = 1_000_000;

function withoutPayments({ pix: _pix, ...charge }: Fields): Fields {
  return charge;
}

test('payments that the charge doesn’t show are booked by their own GET, and given back where they are second', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async (served) => {
    const { bank, server, client } = served;
    bank.fault('GET cob', { kind: 'changed', change: withoutPayments }, ALWAYS);
    const [told, listed] = [await charge(client, 5_000), await charge(client, 6_000)];
    await hintPayment(served, payAt(served, told));
    payAt(served, listed);
    await reaches(client, 'pix-in', text(told, 'id'), 'paid', 20_000);
    await reaches(client, 'pix-in', text(listed, 'id'), 'paid', 20_000);
    const second = payAt(served, told);
    await until(() => second.returns.length === 1, 20_000, 'the second payment’s return');
    assert.is(second.returns[0]?.valor, second.valor);
    assert.is(await client.balance(), 5_000 - 50 + 6_000 - 60);
    await expectVerified(server);
  });
});

test('a return that the charge doesn’t show is booked by its payment’s own GET', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const withoutReturns = (cob: Fields): Fields => ({
      ...cob,
      pix: ((cob.pix ?? []) as Fields[]).map(({ devolucoes: _devolucoes, ...payment }) => payment),
    });
    bank.fault('GET cob', { kind: 'changed', change: withoutReturns }, ALWAYS);
    const { id, payment } = await paidCharge(served);
    payment.returns.push({
      ...{ id: 'med1', rtrId: bank.state.id('D', Date.now()), valor: '50.00', natureza: 'MED_FRAUDE' },
      ...{ status: 'DEVOLVIDO' as const, at: Date.now() },
    });
    await hintPayment(served, payment);
    await reaches(client, 'pix-in', id, 'chargedback', 20_000);
    await expectVerified(server);
  });
});

/** A bank that takes an order and says that it didn't: the order's repeat is refused, since there is one. */
test('a return that was taken and answered 429 or 401 is neither failed nor paid twice', async () => {
  for (const status of [429, 401])
    await withServed({}, async (served) => {
      const { bank, server, client } = served;
      const { id, created, payment } = await paidCharge(served);
      const body = '{"type":"x/y","title":"t","detail":"d"}';
      const taken = { kind: 'answer', status, body, isDone: true } as const;
      bank.fault('PUT devolucao', taken);
      const ordered = await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 });
      assert.is(ordered.status, 201, ordered.text);
      await until(() => bank.calls('PUT devolucao').length > 1, 20_000, 'the order’s repeat');
      // Another payment of the charge goes back whole.
      bank.fault('PUT devolucao', taken);
      const second = payAt(served, created);
      await hintPayment(served, second);
      await until(() => second.returns.length === 1, 20_000, 'the second payment’s return');
      for (const each of [...payment.returns, ...second.returns]) each.status = 'DEVOLVIDO';
      const refunds = async (): Promise<string[]> =>
        list((await client.get(`/pix-in/${id}/refunds`)).body, 'data').map((each) => text(each, 'status'));
      await until(async () => (await refunds())[0] !== 'pending', 20_000, 'the refund’s end');
      assert.equal(await refunds(), ['completed'], String(status));
      assert.is(payment.returns.length, 1);
      assert.is(second.returns.length, 1);
      const told = (await attention(server, 'return')).map((item) => text(item, 'code'));
      assert.equal(told, ['PAYMENT_GIVEN_BACK'], 'the return itself has worked');
      await expectVerified(server);
    });
});

test('what a bank says more of, or otherwise, of what is booked is no news', async () => {
  await withServed({}, async (served) => {
    const { bank, server } = served;
    const { payment } = await paidCharge(served);
    const before = bank.calls('GET pix').length;
    payment.at -= 60_000;
    await hintPayment(served, payment);
    await until(() => bank.calls('GET pix').length > before, 20_000, 'the question');
    await expectVerified(server);
    assert.equal(await attention(server, 'refused'), []);
  });
  await withServed({ profile: 'efi', balance: 100_000 }, async (served) => {
    const { bank, server, client } = served;
    const id = text(await transfer(client, 5_000), 'id');
    await reaches(client, 'cashout', id, 'processing');
    const sending = bank.state.sendings.get(bare(id));
    if (sending === undefined) throw new Error('the bank knows no such transfer');
    // First without the time at which it was settled.
    Object.assign(sending, { status: 'REALIZADO', settledAt: null });
    await reaches(client, 'cashout', id, 'completed');
    const before = bank.calls('GET envio').length;
    Object.assign(sending, { settledAt: Date.now() + 3_000 });
    await hint(served, [{ tipo: 'SOLICITACAO', status: 'REALIZADO', gnExtras: { idEnvio: bare(id) } }]);
    await until(() => bank.calls('GET envio').length > before, 20_000, 'the question');
    await expectVerified(server);
    assert.equal(await attention(server, 'refused'), []);
  });
});

test('a transfer that was settled with another amount is a difference where the bank lists none', async () => {
  await withServed({ profile: 'inter', balance: 100_000 }, async ({ bank, server, client }) => {
    const id = text(await transfer(client, 5_000), 'id');
    await until(() => bank.state.sendings.size === 1, 20_000, 'the order');
    for (const sending of bank.state.sendings.values())
      Object.assign(sending, { valor: '999.00', status: 'PAGO', settledAt: Date.now() });
    await reaches(client, 'cashout', id, 'completed', 20_000);
    const [item] = await attention(server, 'difference');
    assert.is(text(item ?? null, 'code'), 'AMOUNT_BOOKED_DIFFERS');
    assert.equal(at(item ?? null, 'data'), { type: 'cashout', listed: 99_900, booked: 5_000 });
  });
});

test('a cancel that the bank carries out late cancels the charge', async () => {
  await withServed({}, async ({ bank, client }) => {
    const id = text(await charge(client, 5_000), 'id');
    bank.fault('PATCH cob', { kind: 'held' });
    const refused = await client.post(`/pix-in/${id}/cancel`, {});
    assert.is(refused.status, 502, refused.text);
    bank.release();
    await reaches(client, 'pix-in', id, 'canceled', 20_000);
  });
});

test('each return of a nature that nobody knows is a difference, and names itself', async () => {
  await withServed({}, async (served) => {
    const { bank, server } = served;
    const { payment } = await paidCharge(served);
    for (const id of ['bank1', 'bank2'])
      payment.returns.push({
        ...{ id, rtrId: bank.state.id('D', Date.now()), valor: '25.00', natureza: 'NOVA_COISA' },
        ...{ status: 'DEVOLVIDO' as const, at: Date.now() },
      });
    const span = ['--from', new Date(Date.now() - 3_600_000).toISOString(), '--to', new Date().toISOString()];
    const { code, stdout } = await cli(server, ['bank', 'reconcile', ...span, '--json']);
    assert.is(code, 1, stdout);
    const [difference, second, ...others] = JSON.parse(stdout).differences;
    assert.match(difference.what, 'bank1, NOVA_COISA');
    assert.match(second.what, 'bank2, NOVA_COISA');
    assert.equal(others, []);
    const items = await attention(server, 'difference');
    assert.equal(
      items.map((item) => text(item, 'code')),
      ['RETURN_UNBOOKED', 'RETURN_UNBOOKED'],
    );
  });
});

test('what was noted of a charge goes once the bank’s answer can be read', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    const spoilt = (body: Fields): Fields => ({
      ...body,
      pix: ((body.pix ?? []) as Fields[]).map((each) => ({ ...each, horario: 'yesterday' })),
    });
    bank.fault('GET cob', { kind: 'changed', change: spoilt }, ALWAYS);
    await hintPayment(served, payAt(served, created));
    await until(async () => (await attention(server, 'invalid')).length === 1, 20_000, 'an item');
    bank.clearFaults();
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
    await until(async () => (await attention(server, 'invalid')).length === 0, 20_000, 'no item any more');
  });
});

test('a charge that can’t expire since the bank gives no answer about it is an item, which goes when it has', async () => {
  const env = { STUCK_AFTER_S: '1', BANK_RECONCILE_S: '3600' };
  await withServed({ account: ['--expires-in', '1'], env }, async ({ bank, server, client }) => {
    const body = '{"type":"x/y","title":"t","detail":"d"}';
    bank.fault('GET cob', { kind: 'answer', status: 422, body }, ALWAYS);
    const [done, open] = [await charge(client, 1_000), await charge(client, 2_000)].map((each) =>
      text(each, 'id'),
    );
    const stuck = (): Promise<Json[]> => attention(server, 'stuck');
    const ids = async (): Promise<Json[]> =>
      (await stuck()).map((item) => at(at(item, 'about'), 'transaction'));
    await until(async () => (await stuck()).length === 2, 20_000, 'two items');
    const item = (await stuck()).find((each) => text(each, 'id').endsWith(String(done))) ?? null;
    assert.equal([at(item, 'code'), at(item, 'amount')], ['EXPIRY_STUCK', 1_000]);
    assert.match(text(item, 'what'), '422');
    await reaches(client, 'pix-in', String(done), 'waiting_payment');
    await cliJson(server, ['attention', 'done', text(item, 'id')]);
    const asked = bank.calls('GET cob').length;
    await until(() => bank.calls('GET cob').length > asked + 3, 20_000, 'more questions about both');
    assert.equal(await ids(), [open], 'ops are done with the other one');
    bank.clearFaults();
    for (const each of [done, open]) await reaches(client, 'pix-in', String(each), 'expired', 20_000);
    await until(async () => (await stuck()).length === 0, 20_000, 'no item any more');
    await expectVerified(server);
  });
});

test('a key that the bank doesn’t take is an item, which goes when it does', async () => {
  const keys = new Set<string>();
  await withServed({ keys, env: { BANK_WEBHOOK_URL: '' } }, async ({ bank, server, client }) => {
    assert.is((await client.post('/pix-in', { amount: 1_000 })).status, 502);
    assert.match(JSON.stringify(bank.violations.splice(0)), 'cob.chave');
    await until(async () => (await attention(server, 'bank')).length === 1, 10_000, 'an item');
    const [item] = await attention(server, 'bank');
    assert.is(text(item ?? null, 'code'), 'BANK_KEY');
    assert.match(text(item ?? null, 'what'), OUR_KEY.slice(-4));
    assert.not.match(JSON.stringify(item), OUR_KEY);
    keys.add(OUR_KEY);
    await charge(client, 1_000);
    await until(async () => (await attention(server, 'bank')).length === 0, 10_000, 'no item any more');
  });
});

test('canceling a charge that the bank doesn’t know is no fault of a path', async () => {
  await withServed({}, async ({ bank, server, client }) => {
    const id = text(await charge(client, 1_000), 'id');
    bank.state.charges.delete(bare(id));
    // Its first minute, in which that says nothing yet.
    await sleep(60_000 * Number(SCALE));
    const canceled = await client.post(`/pix-in/${id}/cancel`, {});
    assert.is(canceled.status, 200, canceled.text);
    assert.equal(list(await cliJson(server, ['attention']), 'items'), []);
  });
});

test('a charge that the bank doesn’t show yet isn’t canceled: somebody could pay it there', async () => {
  await withServed({ env: { BANK_RETRY_SCALE: '1' } }, async ({ bank, client }) => {
    bank.fault('PUT cob', { kind: 'hidden', ms: 3_600_000 });
    const id = text(await charge(client, 1_000), 'id');
    expectError(await client.post(`/pix-in/${id}/cancel`, {}), 502, 'PROCESSING_ERROR');
    await reaches(client, 'pix-in', id, 'waiting_payment', 20_000);
    const there = bank.state.charges.get(bare(id));
    assert.ok(there);
    there.hiddenUntil = 0;
    assert.is((await client.post(`/pix-in/${id}/cancel`, {})).status, 200);
    assert.is(there.status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
  });
});

test('at Inter a transfer that was paid is settled, though the answer says only when it was asked for', async () => {
  await withServed({ profile: 'inter', balance: 100_000 }, async ({ bank, client, server }) => {
    const asked = '2026-11-20T10:00:00.000-03:00';
    const change = (body: Fields): Fields => {
      const { dataHoraMovimento: _moved, ...about } = (body.transacaoPix ?? {}) as Fields;
      return { ...body, transacaoPix: { ...about, dataHoraSolicitacao: asked } };
    };
    bank.fault('GET envio', { kind: 'changed', change }, ALWAYS);
    const sent = text(await transfer(client, 3_000), 'id');
    await until(() => bank.state.sendings.size === 1, 10_000, 'the order at the bank');
    for (const each of bank.state.sendings.values()) each.status = 'PAGO';
    const done = await reaches(client, 'cashout', sent, 'completed', 20_000);
    assert.is(at(done, 'paidAt'), new Date(asked).toISOString());
    await expectVerified(server);
  });
});

test.run();
