/** A server with a real bank's protocol: what banks say in words of their own, where the standard has others. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { callBack } from '../../support/bank/callbacks.ts';
import { shownPayment } from '../../support/bank/state.ts';
import { cliJson } from '../../support/cli.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, reaches } from '../../support/flows.ts';
import { list, text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hintPayment, paidCharge, payAt, SCALE, withServed } from './scene.ts';

const test = suite('a real bank: its own words');

test('at Efí, which answers 400 for a webhook that it has none of, it is registered', async () => {
  await withServed({ profile: 'efi' }, async ({ bank, server }) => {
    await until(() => bank.state.webhooks.has(OUR_KEY), 10_000, 'the webhook');
    assert.equal(await attention(server, 'bank'), []);
    const { ok } = (await cliJson(server, ['bank', 'check'])) as { ok: boolean };
    assert.is(ok, true);
  });
});

test('at Efí a refund and a return whose orders were lost are ordered again', async () => {
  await withServed({ profile: 'efi' }, async (served) => {
    const { bank, server, client } = served;
    const { id, created, payment } = await paidCharge(served);
    bank.fault('PUT devolucao', { kind: 'cut-before' });
    expectStatus(await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 }), 201);
    await until(() => payment.returns.length === 1, 20_000, 'the refund at the bank');
    bank.fault('PUT devolucao', { kind: 'cut-before' });
    const second = payAt(served, created);
    await hintPayment(served, second);
    await until(() => second.returns.length === 1, 20_000, 'the second payment’s return');
    for (const each of [...payment.returns, ...second.returns]) each.status = 'DEVOLVIDO';
    await until(async () => {
      const [refund = null] = list((await client.get(`/pix-in/${id}/refunds`)).body, 'data');
      return text(refund, 'status') === 'completed';
    }, 20_000);
    await expectVerified(server);
  });
});

test('at Efí a charge that the bank doesn’t know is canceled, or expires', async () => {
  const env = { BANK_EXPIRY_GRACE_S: '0' };
  await withServed({ profile: 'efi', account: ['--expires-in', '3'], env }, async (served) => {
    const { bank, server, client } = served;
    const [first, other] = [await charge(client, 1_000), await charge(client, 2_000)].map((each) =>
      text(each, 'id'),
    ) as [string, string];
    for (const id of [first, other]) bank.state.charges.delete(bare(id));
    await sleep(60_000 * Number(SCALE));
    expectStatus(await client.post(`/pix-in/${first}/cancel`, {}), 200);
    await reaches(client, 'pix-in', other, 'expired', 20_000);
    const [item = null] = await attention(server, 'difference');
    assert.is(text(item, 'code'), 'CHARGE_UNKNOWN');
    assert.equal(await attention(server, 'bank'), []);
  });
});

test('at Efí a charge whose registration was lost is registered once more', async () => {
  await withServed({ profile: 'efi' }, async ({ bank, client }) => {
    bank.fault('PUT cob', { kind: 'cut-before' });
    const created = await charge(client, 1_000);
    assert.ok(bank.state.charges.has(bare(text(created, 'id'))));
  });
});

test('at Inter, which posts the bare array of the payments, a callback is heard', async () => {
  await withServed({ profile: 'inter' }, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    const { devolucoes: _none, ...payment } = shownPayment(payAt(served, created));
    const webhookUrl = String(server.env.BANK_WEBHOOK_URL);
    const called = { webhookUrl, elements: [payment], client: bank.client, isBare: true };
    assert.is(await callBack(called), 200);
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
  });
});

test('at Inter, whose paths name phones without their plus, a phone’s webhook is registered', async () => {
  const phone = '+5511912345678';
  const keys = new Set([phone]);
  await withServed({ profile: 'inter', keys, env: { BANK_PIX_KEY: phone } }, async ({ bank, server }) => {
    await until(() => bank.state.webhooks.has(phone), 10_000, 'the webhook');
    assert.equal(await attention(server, 'bank'), []);
  });
});

test.run();
