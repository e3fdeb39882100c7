/** What operators do in the console of a server with a real bank: the bank is asked first, and has words of its own. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { call, type Visitor, visitor } from '../../console/visitor.ts';
import { expectVerified } from '../../faults/scene.ts';
import { charge, reaches, transfer } from '../../support/flows.ts';
import { at, type JsonObject, list, text } from '../../support/json.ts';
import { until } from '../../support/wait.ts';
import { bare, paidCharge, payAt, type Served, withServed } from './scene.ts';

const test = suite('a real bank: the console');
const ON = { env: { CONSOLE: 'on' } };
let serial = 0;

async function operator({ server }: Served): Promise<Visitor> {
  await until(
    async () => (await call(server, 'GET', '/me').catch(() => null))?.status === 401,
    15_000,
    'the console is served',
  );
  return visitor(server, ['--role', 'operator', '--by', 'Eva']);
}

function wish(more: JsonObject = {}): JsonObject {
  serial += 1;
  return { id: `act ${serial}`, reason: 'a test', ...more };
}

test('a charge is canceled at the bank first; one that was paid meanwhile is paid', async () => {
  await withServed(ON, async (served) => {
    const { bank, client, server } = served;
    const eva = await operator(served);
    const [one, two] = [await charge(client, 5_000), await charge(client, 6_000)];
    const canceled = await eva.act('POST', `/transactions/${text(one, 'id')}/cancel`, wish());
    assert.is(text(canceled.body, 'status'), 'canceled', canceled.text);
    assert.is(bank.state.charges.get(bare(text(one, 'id')))?.status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
    payAt(served, two);
    const late = await eva.act('POST', `/transactions/${text(two, 'id')}/cancel`, wish());
    assert.is(late.status, 409, late.text);
    assert.is(text(late.body, 'status'), 'paid');
    await reaches(client, 'pix-in', text(two, 'id'), 'paid');
    const entries = list((await eva.get(`/transactions/${text(two, 'id')}`)).body, 'entries');
    assert.equal(
      entries.filter((entry) => at(entry, 'refusal') !== null),
      [],
      'what came too late left nothing',
    );
    await expectVerified(server);
  });
});

test('a cancelling whose answer the bank has lost is in the journal with who asked; again it ends', async () => {
  await withServed(ON, async (served) => {
    const { bank, client, server } = served;
    const eva = await operator(served);
    const id = text(await charge(client, 5_000), 'id');
    const order = wish({ reason: 'made by mistake' });
    const account = text((await eva.get(`/transactions/${id}`)).body, 'account');
    const acts = async () =>
      list((await eva.get(`/accounts/${account}/statement?door=ops`)).body, 'rows').map((row) =>
        text(row, 'message'),
      );
    const cancels = async () =>
      list((await eva.get(`/transactions/${id}`)).body, 'entries').filter(
        // One that came at the same time as the other may be refused.
        (entry) => text(at(entry, 'message'), 'type') === 'CANCEL' && at(entry, 'refusal') === null,
      ).length;
    bank.fault('PATCH cob', { kind: 'cut-after' }, 50);
    bank.fault('GET cob', { kind: 'cut-before' }, 500);
    const lost = await eva.act('POST', `/transactions/${id}/cancel`, order);
    assert.ok(lost.status >= 500, lost.text);
    assert.is(text((await eva.get(`/transactions/${id}`)).body, 'status'), 'waiting_payment');
    assert.equal(await acts(), ['OPS']);
    bank.clearFaults();
    // While the bank was away it was asked by others as well, and until the breaker lets calls through it is refused.
    const ended = await until(
      async () => {
        const again = await eva.act('POST', `/transactions/${id}/cancel`, order);
        if (again.status === 502) return null;
        // Asked by the engine's own order meanwhile, the bank may be the first who says that it is canceled.
        assert.ok(again.status === 200 || again.status === 409, again.text);
        return text(again.body, 'status') === 'canceled' ? again : null;
      },
      60_000,
      'it is canceled',
    );
    assert.is(await cancels(), 1, 'canceled once, whoever said so');
    const written = await acts();
    assert.ok(['OPS', 'CANCEL,OPS'].includes(written.join()), `${written}: who asked stays in the journal`);
    const repeated = await eva.act('POST', `/transactions/${id}/cancel`, order);
    if (repeated.status === 409) assert.is(ended.status, 409, 'what was taken once is never refused later');
    else assert.is(at(repeated.body, 'applied'), false, repeated.text);
    assert.equal(await acts(), written, 'nothing is written twice');
    assert.is(await cancels(), 1);
    await expectVerified(server);
  });
});

test('a refund that an operator orders goes to the bank once, under its id', async () => {
  await withServed(ON, async (served) => {
    const { bank, client, server } = served;
    const eva = await operator(served);
    const { id, payment } = await paidCharge(served);
    const order = wish({ id: randomUUID(), amount: 2_000 });
    for (const applied of [true, false]) {
      const reply = await eva.act('POST', `/transactions/${id}/refunds`, order);
      assert.is(at(reply.body, 'applied'), applied, reply.text);
    }
    await until(() => payment.returns.length === 1, 10_000, 'the return is at the bank');
    for (const each of payment.returns) each.status = 'DEVOLVIDO';
    await until(
      async () => {
        const [refund = null] = list((await client.get(`/pix-in/${id}/refunds`)).body, 'data');
        return text(refund, 'status') === 'completed';
      },
      20_000,
      'the refund is done',
    );
    assert.is(bank.calls('PUT devolucao').length, 1);
    await expectVerified(server);
  });
});

test("what is the bank's alone is not offered, and not taken", async () => {
  await withServed({ ...ON, profile: 'efi', balance: 50_000 }, async (served) => {
    const { bank, client } = served;
    const eva = await operator(served);
    // The order is under way, and nobody knows how it ended.
    bank.fault('PUT envio', { kind: 'cut-after' }, 50);
    bank.fault('GET envio', { kind: 'cut-before' }, 500);
    const id = text(await transfer(client, 1_234), 'id');
    const takesCancel = async () =>
      list((await eva.get(`/transactions/${id}`)).body, 'allowed').includes('CANCEL');
    await until(async () => !(await takesCancel()), 10_000, 'the payout is submitted');
    assert.is(text((await eva.get(`/transactions/${id}`)).body, 'status'), 'pending');
    for (const type of ['CANCEL', 'REJECT']) {
      const reply = await eva.act('POST', `/transactions/${id}/messages`, wish({ type }));
      assert.is(reply.status, 409, reply.text);
      assert.is(text(reply.body, 'error'), 'MESSAGE_NOT_ACCEPTED');
    }
    const entries = list((await eva.get(`/transactions/${id}`)).body, 'entries');
    assert.is(entries.filter((entry) => text(entry, 'door') === 'ops').length, 0);
  });
});

test.run();
