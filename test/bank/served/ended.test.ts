/** A server with a real bank's protocol: what ops end while its order waits, or is on its way. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import type { Fault } from '../../support/bank/bank.ts';
import { cli } from '../../support/cli.ts';
import { expectStatus } from '../../support/expect.ts';
import { transfer } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, paidCharge, type Served, withServed } from './scene.ts';

const test = suite('a real bank: what ops end');

const EFI = { profile: 'efi', balance: 100_000 } as const;
/** Ops have time to end what waits for that, one command after the other. */
const WAIT_S = 6;
const WAIT: Fault = { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': String(WAIT_S) } };

async function end({ server }: Served, id: string, type: string, data: object): Promise<void> {
  const { code, stderr } = await cli(server, ['send', id, type, '--data', JSON.stringify(data)]);
  assert.is(code, 0, stderr);
}

test('transfers that wait inside their calls for the bank’s Retry-After aren’t sent once ops have failed them', async () => {
  await withServed(EFI, async (served) => {
    const { bank, server, client } = served;
    bank.fault('PUT envio', WAIT);
    const first = text(await transfer(client, 100), 'id');
    await until(() => bank.calls('PUT envio').length === 1, 10_000, 'the first order');
    const others = await Promise.all([1, 2].map(() => transfer(client, 10_000)));
    const before = await client.balance();
    for (const each of others) await end(served, text(each, 'id'), 'FAIL', { reason: 'given up' });
    assert.ok((await client.balance()) >= before + 20_000);
    assert.is(bank.calls('PUT envio').length, 1, 'the wait was over too soon for this test');
    await until(() => bank.state.sendings.size > 0, (WAIT_S + 10) * 1_000, 'the one that goes on');
    await sleep(1_000);
    assert.equal([...bank.state.sendings.keys()], [first.replaceAll('-', '')]);
    assert.is(bank.calls('PUT envio').length, 2);
    assert.not.match(server.stderr(), /will be tried again/);
    await expectVerified(server);
  });
});

test('a refund that waits inside its call isn’t ordered once ops have failed it', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const { id, payment } = await paidCharge(served);
    bank.fault('PUT devolucao', WAIT);
    const { body } = await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 });
    await until(() => bank.calls('PUT devolucao').length === 1, 10_000, 'the order');
    await end(served, id, 'REFUND_FAILED', { refundId: text(body, 'id') });
    await sleep((WAIT_S + 1) * 1_000);
    assert.equal([payment.returns, bank.calls('PUT devolucao').length], [[], 1]);
    // Others' orders go on.
    const other = await client.post(`/pix-in/${id}/refunds`, { amount: 2_000 });
    expectStatus(other, 201);
    await until(() => payment.returns.length === 1, 10_000, 'the second refund');
    assert.is(payment.returns[0]?.id, text(other.body, 'id').replaceAll('-', ''));
    await expectVerified(server);
  });
});

/** What ops are told loudly. */
async function alarmOf({ server }: Served): Promise<string> {
  return until(async () => {
    const said = (await attention(server, 'refused')).map((item) => text(item, 'what'));
    return said.find((what) => what.includes('ALARM')) ?? false;
  }, 20_000);
}

for (const [profile, call] of [
  ['inter', 'POST envio'],
  ['efi', 'PUT envio'],
] as const)
  test(`at ${profile} a transfer that ops fail while its order is on its way is asked about: that it is paid is an alarm`, async () => {
    await withServed({ profile, balance: 100_000 }, async (served) => {
      const { bank, server, client } = served;
      bank.fault(call, { kind: 'held' });
      const id = text(await transfer(client, 10_000), 'id');
      await until(() => bank.held === 1, 10_000, 'the order on its way');
      await end(served, id, 'FAIL', { reason: 'given up' });
      const balance = await client.balance();
      bank.release();
      await until(() => bank.calls('GET envio').length > 0, 10_000, 'a question');
      assert.is(await server.terminate(), 0);
      const asked = bank.calls('GET envio').length;
      await server.restart();
      await until(() => bank.calls('GET envio').length > asked, 20_000, 'a question after the start');
      assert.equal(await attention(server, 'refused'), []);
      const status = profile === 'inter' ? 'PAGO' : 'REALIZADO';
      for (const each of bank.state.sendings.values()) Object.assign(each, { status, settledAt: Date.now() });
      assert.match(await alarmOf(served), 'the bank has paid a cashout that is failed');
      assert.is(await client.balance(), balance);
      // Nothing is left to be asked.
      const last = bank.calls('GET envio').length;
      await sleep(2_000);
      assert.ok(bank.calls('GET envio').length <= last + 1);
      assert.is(bank.calls(call).length, 1);
      await expectVerified(server);
    });
  });

test('a refund that ops fail while its order is on its way is asked about: that it is done is an alarm', async () => {
  await withServed({}, async (served) => {
    const { bank, client, server } = served;
    const { id, payment } = await paidCharge(served);
    bank.fault('PUT devolucao', { kind: 'held' });
    const { body } = await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 });
    await until(() => bank.held === 1, 10_000, 'the order on its way');
    await end(served, id, 'REFUND_FAILED', { refundId: text(body, 'id') });
    bank.release();
    await until(() => bank.calls('GET devolucao').length > 1, 10_000, 'questions');
    for (const each of payment.returns) Object.assign(each, { status: 'DEVOLVIDO', settledAt: Date.now() });
    assert.match(await alarmOf(served), 'the bank has paid refund');
    assert.is(bank.calls('PUT devolucao').length, 1);
    await expectVerified(server);
  });
});

test.run();
