/** A server with a real bank's protocol: charges from their registration to their end. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { cliJson } from '../../support/cli.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, reaches, shown } from '../../support/flows.ts';
import { at, list, text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { attention, bare, hint, hintPayment, paidCharge, payAt, withServed } from './scene.ts';

const test = suite('a real bank: charges');

/** Longer than an order and its repeats take to reach the bank. */
const QUIET_MS = 2_500;

test('a charge is registered at the bank, paid there, and credited once', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 1_234);
    const id = text(created, 'id');
    assert.match(text(at(created, 'pix'), 'qrcode'), `pix.example.com/qr/v2/${bare(id)}`);
    assert.is(bank.calls('PUT cob').length, 1, 'one call to the bank');
    const payment = payAt(served, created);
    assert.is(await hintPayment(served, payment), 200);
    const paid = await reaches(client, 'pix-in', id, 'paid');
    assert.is(text(at(paid, 'pix'), 'endToEndId'), payment.endToEndId);
    const balance = await client.balance();
    for (let time = 0; time < 3; time += 1) assert.is(await hintPayment(served, payment), 200);
    const asked = bank.calls('GET cob').length;
    await until(() => bank.calls('GET cob').length > asked, 10_000, 'a question after the repeated callback');
    assert.is(await client.balance(), balance);
    await expectVerified(server);
    assert.is(list(await cliJson(server, ['attention']), 'items').length, 0);
  });
});

test('there is no sandbox beside a real bank, and its callbacks have a door of their own', async () => {
  await withServed({}, async ({ server, client }) => {
    const created = await charge(client);
    for (const path of [`/sandbox/pix-in/${text(created, 'id')}/pay`, '/bank/callbacks'])
      assert.is((await client.post(path, {})).status, 404, path);
    assert.is(server.stdout(), '');
    const refused = await cliJson(server, ['account', 'create', '--balance', '5']).catch(String);
    assert.match(String(refused), '--balance');
  });
});

test('a payment that no callback told of is found in the bank’s list', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async (served) => {
    const created = await charge(served.client, 5_000);
    payAt(served, created);
    await reaches(served.client, 'pix-in', text(created, 'id'), 'paid', 20_000);
    await expectVerified(served.server);
  });
});

test('a charge that expires asks the bank first: what was paid is credited', async () => {
  await withServed({ env: { CHARGE_EXPIRY_S: '1' } }, async (served) => {
    const { client } = served;
    const created = await charge(client, 5_000);
    const other = await charge(client, 6_000);
    payAt(served, created);
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
    await reaches(client, 'pix-in', text(other, 'id'), 'expired', 20_000);
  });
});

test('where the bank doesn’t answer an expired charge waits, and then it is heard', async () => {
  await withServed({ env: { CHARGE_EXPIRY_S: '1' } }, async (served) => {
    const { bank, client } = served;
    const created = await charge(client, 5_000);
    payAt(served, created);
    await bank.away();
    await until(() => Date.now() > Date.parse(text(created, 'expiresAt')) + 2_500, 10_000);
    assert.is(text(await shown(client, 'pix-in', text(created, 'id')), 'status'), 'waiting_payment');
    await bank.listen();
    await reaches(client, 'pix-in', text(created, 'id'), 'paid', 20_000);
  });
});

test('late, second and wrong payments go back; a foreign one is a person’s', async () => {
  await withServed({ env: { BANK_RECONCILE_S: '1' } }, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    await hintPayment(served, payAt(served, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    const balance = await client.balance();
    const second = payAt(served, created);
    const wrong = payAt(served, await charge(client, 7_000), '69.99');
    const foreign = bank.state.pay({ amount: '3.21', key: second.chave });
    await until(() => second.returns.length === 1 && wrong.returns.length === 1, 20_000, 'returns');
    for (const { returns } of [second, wrong]) for (const each of returns) each.status = 'DEVOLVIDO';
    const items = await until(async () => {
      const found = await attention(server, 'payment');
      return found.length > 0 && found;
    }, 20_000);
    assert.is(text(items[0] ?? null, 'id'), foreign.endToEndId);
    assert.is(await client.balance(), balance);
    assert.is(bank.calls('PUT devolucao').length, 2);
    await expectVerified(server);
  });
});

test('a charge is canceled at the bank first; one that was paid meanwhile is paid', async () => {
  await withServed({}, async (served) => {
    const { bank, client } = served;
    const [one, two] = [await charge(client, 5_000), await charge(client, 6_000)];
    const canceled = await client.post(`/pix-in/${text(one, 'id')}/cancel`, {});
    assert.is(text(expectStatus(canceled, 200), 'status'), 'canceled');
    assert.is(bank.state.charges.get(bare(text(one, 'id')))?.status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
    payAt(served, two);
    assert.is((await client.post(`/pix-in/${text(two, 'id')}/cancel`, {})).status, 409);
    await reaches(client, 'pix-in', text(two, 'id'), 'paid');
  });
});

test('a cancel whose answer is lost: asked about, and canceled', async () => {
  await withServed({}, async (served) => {
    const { bank, client } = served;
    const created = await charge(client, 5_000);
    const id = text(created, 'id');
    bank.fault('PATCH cob', { kind: 'cut-after' });
    bank.fault('GET cob', { kind: 'cut-before' }, 3);
    assert.is((await client.post(`/pix-in/${id}/cancel`, {})).status, 502);
    await reaches(client, 'pix-in', id, 'canceled', 20_000);
    assert.is(bank.calls('PATCH cob').length, 1);
  });
});

test('what the bank takes back of a payment that was no credit debits nobody', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    await hintPayment(served, payAt(served, created));
    await reaches(client, 'pix-in', text(created, 'id'), 'paid');
    const balance = await client.balance();
    const second = payAt(served, created);
    const taken = { id: 'M1', rtrId: 'D1', valor: second.valor, natureza: 'MED_FRAUDE', at: Date.now() };
    second.returns.push({ ...taken, status: 'DEVOLVIDO' });
    await hintPayment(served, second);
    await until(async () => (await attention(server, 'return')).length > 0, 10_000, 'it is to go back');
    await sleep(QUIET_MS);
    assert.is(bank.calls('PUT devolucao').length, 0, 'none of it is left');
    assert.is(await client.balance(), balance);
    await expectVerified(server);
  });
});

test('of a payment that is partly back by others, what is left goes back, once theirs has ended', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const wrong = payAt(served, await charge(client, 1_000), '12.35');
    const theirs = {
      id: 'app1',
      rtrId: bank.state.id('D', Date.now()),
      natureza: 'ORIGINAL',
      at: Date.now(),
    };
    const [failed, underWay] = ['NAO_REALIZADO', 'EM_PROCESSAMENTO'] as const;
    wrong.returns.push({ ...theirs, valor: '12.35', status: failed });
    wrong.returns.push({ ...theirs, id: 'app2', valor: '2.35', status: underWay });
    await hintPayment(served, wrong);
    await until(async () => (await attention(server, 'return')).length > 0, 10_000, 'it is to go back');
    await sleep(QUIET_MS);
    assert.is(bank.calls('PUT devolucao').length, 0, 'what theirs leaves is not known yet');
    for (const each of wrong.returns) if (each.id === 'app2') each.status = 'DEVOLVIDO';
    await until(() => wrong.returns.length === 3, 20_000, 'our return');
    assert.is(wrong.returns[2]?.valor, '10.00');
    for (const each of wrong.returns.slice(2)) each.status = 'DEVOLVIDO';
    await sleep(QUIET_MS);
    assert.is(bank.calls('PUT devolucao').length, 1);
    const told = (await attention(server, 'return')).map((item) => text(item, 'code'));
    assert.equal(told, ['PAYMENT_GIVEN_BACK'], 'nobody is told that something failed');
    await expectVerified(server);
  });
});

test('a callback that names a payment alone, or a refund, is asked about', async () => {
  await withServed({}, async (served) => {
    const { client, server } = served;
    const { id, payment } = await paidCharge(served);
    await sleep(500);
    const taken = { id: 'M1', rtrId: 'D1', valor: payment.valor, natureza: 'MED_FRAUDE', at: Date.now() };
    payment.returns.push({ ...taken, status: 'DEVOLVIDO' });
    assert.is(await hint(served, [{ endToEndId: payment.endToEndId, valor: '0.01' }]), 200);
    await reaches(client, 'pix-in', id, 'chargedback');
    // Nobody's: it is dropped, and the door says so to nobody.
    assert.is(await hint(served, [{ endToEndId: 'E'.repeat(32), valor: '0.01' }]), 200);
    await expectVerified(server);
  });
});

test('an end-to-end id of whatever form is one, if the bank says so', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const created = await charge(client, 5_000);
    const id = text(created, 'id');
    const [key = ''] = [...bank.options.keys];
    const endToEndId = 'x'.repeat(32);
    const payment = bank.state.pay({ txid: bare(id), amount: '50.00', key, endToEndId });
    await hintPayment(served, payment);
    const paid = await reaches(client, 'pix-in', id, 'paid');
    assert.is(text(at(paid, 'pix'), 'endToEndId'), endToEndId);
    await expectVerified(server);
  });
});

test('while the bank is away charges are 502, and nothing is created', async () => {
  await withServed({}, async ({ bank, server, client }) => {
    await bank.away();
    for (let time = 0; time < 8; time += 1)
      assert.is((await client.post('/pix-in', { amount: 1_000 })).status, 502);
    await bank.listen();
    await until(async () => (await client.post('/pix-in', { amount: 1_000 })).status === 201, 10_000);
    assert.is(bank.state.charges.size, 1);
    await expectVerified(server);
  });
});

test.run();
