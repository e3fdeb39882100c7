/** A server with a real bank's protocol: transfers, refunds, and who owns the store. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openOn } from '../../audit/scene.ts';
import { expectVerified } from '../../faults/scene.ts';
import { FakeBank } from '../../support/bank/bank.ts';
import { cli, cliJson } from '../../support/cli.ts';
import { merchant, merchants } from '../../support/client.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, reaches, transfer } from '../../support/flows.ts';
import { list, text } from '../../support/json.ts';
import { endWithin, spawnNode } from '../../support/process.ts';
import { startServer } from '../../support/server.ts';
import { sleep, until } from '../../support/wait.ts';
import { adjust, attention, bare, hintPayment, paidCharge, payAt, serve, withServed } from './scene.ts';

const test = suite('a real bank: orders');
const EFI = { profile: 'efi', balance: 100_000 } as const;
const INTER = { profile: 'inter', balance: 100_000 } as const;
/** Longer than a server goes by settings that it has read. */
const SETTINGS_MS = 600;

function sentBy(bank: FakeBank, id: string) {
  const found = bank.state.sendings.get(bare(id)) ?? bank.state.sendings.get(id);
  if (found === undefined) throw new Error('the bank knows no such transfer');
  return found;
}

test('a transfer is ordered once, asked about, and settled', async () => {
  await withServed(EFI, async ({ bank, server, client }) => {
    const created = await transfer(client, 5_000);
    const id = text(created, 'id');
    await reaches(client, 'cashout', id, 'processing');
    Object.assign(sentBy(bank, id), { status: 'REALIZADO', settledAt: Date.now() });
    const done = await reaches(client, 'cashout', id, 'completed');
    assert.is(text(done, 'reference'), sentBy(bank, id).endToEndId);
    assert.is(bank.calls('PUT envio').length, 1);
    await expectVerified(server);
  });
});

test('at Inter it is asked about by the bank’s own id', async () => {
  await withServed(INTER, async ({ bank, client }) => {
    const id = text(await transfer(client, 5_000), 'id');
    await until(() => bank.calls('GET envio').length > 1, 10_000, 'questions');
    Object.assign(sentBy(bank, id), { status: 'PAGO', settledAt: Date.now() });
    await reaches(client, 'cashout', id, 'completed');
    assert.is(bank.calls('POST envio').length, 1);
  });
});

for (const [name, options, call] of [
  ['Efí', EFI, 'PUT envio'],
  ['Inter', INTER, 'POST envio'],
] as const) {
  for (const kind of ['cut-before', 'cut-after'] as const) {
    test(`${name}: an order ${kind} its doing is paid once`, async () => {
      await withServed(options, async ({ bank, server, client }) => {
        bank.fault(call, { kind });
        const id = text(await transfer(client, 5_000), 'id');
        await until(() => bank.state.sendings.size === 1, 10_000, 'the order at the bank');
        Object.assign(sentBy(bank, id), {
          status: name === 'Efí' ? 'REALIZADO' : 'PAGO',
          settledAt: Date.now(),
        });
        await reaches(client, 'cashout', id, 'completed');
        assert.is(bank.state.sendings.size, 1);
        await expectVerified(server);
      });
    });
  }
}

test('at Inter a refused repeat is no refusal of the first: it is asked about by the same order', async () => {
  await withServed(INTER, async ({ bank, client }) => {
    bank.fault('POST envio', { kind: 'cut-after' });
    const refusal = '{"title":"saldo","detail":"sem saldo","type":"https://x/SaldoInsuficiente"}';
    bank.fault('POST envio', { kind: 'answer', status: 422, body: refusal }, 3);
    const id = text(await transfer(client, 5_000), 'id');
    await until(() => bank.calls('POST envio').length >= 5, 20_000, 'the same order again and again');
    Object.assign(sentBy(bank, id), { status: 'PAGO', settledAt: Date.now() });
    await reaches(client, 'cashout', id, 'completed');
    assert.is(bank.state.sendings.size, 1);
  });
});

test('a repeat that the bank refuses counts once a later question finds nothing', async () => {
  await withServed(EFI, async ({ bank, client }) => {
    const before = await client.balance();
    bank.fault('PUT envio', { kind: 'cut-before' });
    const refusal = '{"nome":"saldo_insuficiente","mensagem":""}';
    bank.fault('PUT envio', { kind: 'answer', status: 422, body: refusal });
    const id = text(await transfer(client, 5_000), 'id');
    await reaches(client, 'cashout', id, 'rejected', 20_000);
    assert.is(await client.balance(), before);
    assert.is(bank.calls('PUT envio').length, 2);
    const [, refused] = bank.calls('PUT envio');
    const later = bank.calls('GET envio').at(-1);
    assert.ok((later?.at ?? 0) - (refused?.at ?? 0) >= 600, 'asked a minute later, scaled');
    assert.is(bank.state.sendings.size, 0);
  });
});

test('an order is asked about under another key, and never sent again', async () => {
  const key = 'loja@example.com';
  const keys = new Set(['7407c9c8-f78b-11ea-adc1-0242ac120002', key]);
  await withServed({ ...EFI, keys }, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'cut-before' });
    await bank.away();
    const created = await client.post('/cashout', {
      amount: 5_000,
      pix: { pixKeyType: 'EMAIL', pixKey: 'a@b.co' },
    });
    const id = text(expectStatus(created, 201), 'id');
    await cliJson(server, ['account', 'set', client.accountId, '--pix-key', key]);
    // By the key that it had the order may go out as long as the server doesn't know better.
    await sleep(SETTINGS_MS);
    await bank.listen();
    await until(() => bank.calls('GET envio').length >= 3, 20_000, 'questions');
    assert.is(bank.calls('PUT envio').filter(({ body }) => body.includes(key)).length, 0);
    assert.is(text(expectStatus(await client.get(`/cashout?id=${id}`), 200), 'status'), 'pending');
    // Whoever gives the account its key back has the same order sent.
    await cliJson(server, ['account', 'set', client.accountId, '--no-pix-key']);
    await until(() => bank.state.sendings.size === 1, 20_000, 'the order at the bank');
    assert.is(new Set(bank.calls('PUT envio').map(({ body }) => body)).size, 1);
  });
});

test('transfers that the bank takes long for hold up no charge', async () => {
  await withServed({ ...EFI, balance: 1_000_000 }, async ({ bank, client }) => {
    bank.fault('PUT envio', { kind: 'held' }, 300);
    const sent = await Promise.all(Array.from({ length: 200 }, () => transfer(client, 1_000)));
    await until(() => bank.held === 75, 20_000, 'orders that wait at the bank');
    const charges = await Promise.all(Array.from({ length: 50 }, () => charge(client, 2_000)));
    assert.is(charges.length, 50);
    assert.is(bank.held, 75, 'the orders wait still, and leave a quarter of the calls to other accounts');
    bank.clearFaults();
    bank.release();
    await until(() => bank.state.sendings.size === sent.length, 40_000, 'all orders at the bank');
  });
});

test('transfers of one account that the bank doesn’t answer hold up no other account’s', async () => {
  await withServed({ ...EFI, balance: 1_000_000 }, async ({ bank, server, client }) => {
    const other = await merchant(server);
    await adjust(server, other, 100_000);
    bank.fault('PUT envio', { kind: 'held' }, 1_000, 'silencio@example.com');
    const pix = { pixKeyType: 'EMAIL', pixKey: 'silencio@example.com' };
    const sent = await Promise.all(Array.from({ length: 200 }, () => transfer(client, 1_000, { pix })));
    await until(() => bank.held === 75, 20_000, 'orders that wait at the bank');
    const id = text(await transfer(other, 5_000), 'id');
    await reaches(other, 'cashout', id, 'processing', 5_000);
    assert.is(bank.held, 75, 'the orders wait still');
    bank.clearFaults();
    bank.release();
    await until(() => bank.state.sendings.size === sent.length + 1, 60_000, 'all orders at the bank');
    await expectVerified(server);
  });
});

test('a bank that takes long for each call: 200 merchants are served meanwhile', async () => {
  await withServed({ ...EFI, balance: 1_000_000 }, async ({ bank, server, client }) => {
    const all = await merchants(server, 200);
    for (const call of ['PUT envio', 'GET envio', 'PUT cob', 'GET cob', 'LIST cob', 'LIST pix', 'LIST envio'])
      bank.fault(call, { kind: 'held' }, 1_000);
    const charges = all.slice(0, 20).map((own) => own.post('/pix-in', { amount: 1_000 }));
    const sent = await Promise.all(Array.from({ length: 200 }, () => transfer(client, 1_000)));
    await until(() => bank.held >= 100, 20_000, 'calls that wait at the bank');
    const balances = await Promise.all(all.map((own) => own.balance()));
    assert.equal(
      balances,
      all.map(() => 0),
    );
    assert.is(bank.state.sendings.size, 0, 'the bank has done none of it');
    for (const { status } of await Promise.all(charges))
      assert.is(status, 502, 'a charge is given up in time');
    bank.clearFaults();
    bank.release();
    await until(() => bank.state.sendings.size === sent.length, 60_000, 'all orders at the bank');
    await expectVerified(server);
  });
});

test('a bank that comes back is found out by nobody’s call but the probe’s', async () => {
  await withServed(EFI, async ({ bank, client }) => {
    const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
    await bank.away();
    for (let time = 0; time < 6; time += 1) await client.post('/pix-in', { amount: 1_000 });
    assert.is((await client.post('/cashout', { amount: 1_000, pix })).status, 502);
    await bank.listen();
    await until(async () => (await client.post('/cashout', { amount: 1_000, pix })).status === 201, 10_000);
  });
});

test('a payee whose key nobody has: the transfer is rejected, and its money is back', async () => {
  await withServed(EFI, async ({ client }) => {
    const before = await client.balance();
    const pix = { pixKeyType: 'EMAIL', pixKey: 'ninguem@example.com' };
    const created = expectStatus(await client.post('/cashout', { amount: 5_000, pix }), 201);
    await reaches(client, 'cashout', text(created, 'id'), 'rejected');
    assert.is(await client.balance(), before);
  });
});

test('a kill between the journal’s word and the bank’s answer: asked about, and paid once', async () => {
  await withServed(EFI, async ({ bank, server, client }) => {
    bank.fault('PUT envio', { kind: 'held' });
    const id = text(await transfer(client, 5_000), 'id');
    await until(() => bank.held === 1, 10_000, 'the order on its way');
    await server.kill();
    bank.release();
    await server.restart();
    await reaches(client, 'cashout', id, 'processing');
    Object.assign(sentBy(bank, id), { status: 'REALIZADO', settledAt: Date.now() });
    await reaches(client, 'cashout', id, 'completed');
    assert.is(bank.state.sendings.size, 1);
    await expectVerified(server);
  });
});

test('without a way to send, transfers are 502', async () => {
  await withServed({ balance: 100_000 }, async ({ client }) => {
    const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
    assert.is((await client.post('/cashout', { amount: 5_000, pix })).status, 502);
    assert.is(await client.balance(), 100_000);
  });
});

test('a refund is ordered once under its id, and its outcome is the bank’s', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const { id, payment } = await paidCharge(served);
    bank.fault('PUT devolucao', { kind: 'cut-after' });
    expectStatus(await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 }), 201);
    await until(() => payment.returns.length === 1, 10_000, 'the return at the bank');
    const settledAt = Date.now() - 5_000;
    for (const each of payment.returns) Object.assign(each, { status: 'DEVOLVIDO', settledAt });
    const done = await until(async () => {
      const [refund = null] = list((await client.get(`/pix-in/${id}/refunds`)).body, 'data');
      return text(refund, 'status') === 'completed' && refund;
    }, 10_000);
    assert.is(text(done, 'completedAt'), new Date(settledAt).toISOString(), 'the bank’s own time');
    assert.is(payment.returns.length, 1);
    // What the bank says otherwise later is no news.
    for (const each of payment.returns) each.settledAt = settledAt + 1_000;
    await hintPayment(served, payment);
    const asked = bank.calls('GET cob').length;
    await until(() => bank.calls('GET cob').length > asked, 10_000, 'a question');
    assert.equal(await attention(server, 'refused'), []);
    expectStatus(await client.post(`/pix-in/${id}/refunds`, {}), 201);
    await until(() => payment.returns.length === 2, 10_000, 'the second return');
    Object.assign(payment.returns[1] ?? {}, { status: 'NAO_REALIZADO', motivo: 'sem saldo' });
    await until(async () => {
      const refunds = list((await client.get(`/pix-in/${id}/refunds`)).body, 'data');
      return refunds.some((each) => text(each, 'status') === 'failed');
    }, 10_000);
    await expectVerified(server);
  });
});

test('a question that the bank refuses says nothing about the return that it is about', async () => {
  await withServed({}, async (served) => {
    const { bank, server, client } = served;
    const { id, created, payment } = await paidCharge(served);
    const second = payAt(served, created);
    const refusal = '{"type":"https://x/PixDevolucaoInvalida","title":"x","status":400}';
    bank.fault('PUT devolucao', { kind: 'cut-after' }, 2);
    bank.fault('GET devolucao', { kind: 'answer', status: 400, body: refusal }, 12);
    await hintPayment(served, second);
    expectStatus(await client.post(`/pix-in/${id}/refunds`, { amount: 1_000 }), 201);
    // Twice as long as a refusal waits for its question.
    await sleep(1_500);
    await until(() => bank.calls('GET devolucao').length > 12, 20_000, 'questions');
    for (const each of [...payment.returns, ...second.returns]) each.status = 'DEVOLVIDO';
    await until(async () => {
      const [refund = null] = list((await client.get(`/pix-in/${id}/refunds`)).body, 'data');
      assert.is.not(text(refund, 'status'), 'failed');
      return text(refund, 'status') === 'completed';
    }, 20_000);
    assert.equal([payment.returns.length, second.returns.length], [1, 1]);
    const items = await attention(server, 'return');
    assert.not.ok(
      items.some((item) => text(item, 'code') === 'RETURN_FAILED'),
      JSON.stringify(items),
    );
  });
});

test('a payment of which less goes back is a person’s, and the rest is ordered by hand', async () => {
  await withServed({}, async (served) => {
    const { server } = served;
    const { created } = await paidCharge(served);
    const second = payAt(served, created);
    await hintPayment(served, second);
    await until(() => second.returns.length === 1, 20_000);
    for (const each of second.returns) Object.assign(each, { status: 'DEVOLVIDO', valor: '1.00' });
    const failed = async () =>
      (await attention(server, 'return')).find((item) => text(item, 'code') === 'RETURN_FAILED');
    await until(async () => (await failed()) !== undefined, 20_000);
    assert.match(text((await failed()) ?? {}, 'what'), /gave back 1\.00 of /);
    const { code } = await cli(server, ['bank', 'return', second.endToEndId]);
    assert.is(code, 0);
    await until(() => second.returns.length === 2, 20_000, 'the rest');
    assert.is(Number(second.returns[1]?.valor) + 1, Number(second.valor));
    for (const each of second.returns) each.status = 'DEVOLVIDO';
    await until(async () => (await failed()) === undefined, 20_000);
  });
});

test('one store, one bank', async () => {
  const bank = await FakeBank.start({});
  const sandbox = await startServer({});
  try {
    await cliJson(sandbox, ['account', 'create', '--balance', '500']);
    await sandbox.terminate();
    const env = { ...sandbox.env, ...bank.env };
    const refused = await endWithin(spawnNode(['dist/src/main.js'], env), 15_000);
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /one store, one bank/);
    assert.is(refused.stdout, '');
  } finally {
    await sandbox.stop();
    await bank.stop();
  }
});

test('commands of another bank leave the store alone', async () => {
  const bank = await FakeBank.start({});
  const server = await serve(bank);
  try {
    await server.terminate();
    const refused = await cli(server.dataDir, ['account', 'create', '--json']);
    assert.is(refused.code, 1);
    assert.match(refused.stdout, 'one store, one bank');
  } finally {
    await server.stop();
    await bank.stop();
  }
});

test('a store that a newer build has served is left alone', async () => {
  const server = await startServer({});
  try {
    await server.terminate();
    const core = await openOn(server.env);
    await core.store.marks.putMark('charts', '99');
    await core.close();
    const refused = await endWithin(spawnNode(['dist/src/main.js'], server.env), 15_000);
    assert.is(refused.code, 1);
    assert.match(refused.stderr, 'version 99 of the statecharts');
  } finally {
    await server.stop();
  }
});

test('another contract at the same store ends the start', async () => {
  const bank = await FakeBank.start({});
  const server = await serve(bank);
  try {
    await server.terminate();
    const refused = await endWithin(
      spawnNode(['dist/src/main.js'], { ...server.env, BANK_CLIENT_ID: 'another' }),
      15_000,
    );
    assert.is(refused.code, 1);
    assert.match(refused.stderr, 'client id another');
  } finally {
    await server.stop();
    await bank.stop();
  }
});

test('thousands of one account’s transfers, which take the bank long, hold up no other’s', async () => {
  await withServed({ profile: 'efi', env: { BANK_RETRY_SCALE: '1' } }, async ({ bank, server, client }) => {
    await adjust(server, client, 10_000_000);
    const other = await merchant(server);
    await adjust(server, other, 10_000);
    bank.fault('PUT envio', { kind: 'slow', ms: 1_000 }, 10_000);
    let left = 5_000;
    const post = async (): Promise<void> => {
      while (left-- > 0) await transfer(client, 100);
    };
    await Promise.all(Array.from({ length: 40 }, post));
    const id = text(await transfer(other, 100), 'id');
    await until(() => bank.state.sendings.get(bare(id)), 10_000, 'the order at the bank');
    Object.assign(sentBy(bank, id), { status: 'REALIZADO', settledAt: Date.now() });
    await reaches(other, 'cashout', id, 'completed', 10_000);
    assert.ok(bank.calls('PUT envio').length < 2_500, 'the others wait still');
  });
});

test.run();
