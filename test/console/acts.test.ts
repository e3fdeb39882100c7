/** What operators do from the console: once for an id, in the journal under their names, and nobody else does it. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant, type Reply } from '../support/client.ts';
import { charge, shown, told, transfer } from '../support/flows.ts';
import { at, type Json, type JsonObject, list, text, whole } from '../support/json.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { call, origin, pageHeaders, startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  receiver: Receiver;
  shop: Merchant;
  eva: Visitor;
  rui: Visitor;
  viewer: Visitor;
}

const test = suite<Context>('acts');

test.before(async (context) => {
  context.server = await startConsole();
  context.receiver = await startReceiver();
  context.receiver.answer('/down', () => ({ status: 400 }));
  const urls = ['--webhook-url', context.receiver.url('/down')];
  context.shop = await merchant(context.server, ['--name', 'Loja Azul', '--balance', '1000000', ...urls]);
  context.eva = await visitor(context.server, ['--role', 'operator', '--by', 'Eva']);
  context.rui = await visitor(context.server, ['--role', 'operator', '--by', 'Rui']);
  context.viewer = await visitor(context.server, ['--by', 'Ana']);
});
test.after(async ({ server, receiver }) => {
  await server.stop();
  await receiver.close();
});

let serial = 0;

function parts(reason = 'a test'): { id: string; reason: string } {
  serial += 1;
  return { id: `act ${serial}`, reason };
}

function refused(reply: Reply, status: number, code: string): void {
  assert.is(reply.status, status, reply.text);
  assert.is(text(reply.body, 'error'), code, reply.text);
}

function ok(reply: Reply): Json {
  assert.is(reply.status, 200, reply.text);
  return reply.body;
}

async function document(eva: Visitor, id: string): Promise<Json> {
  return ok(await eva.get(`/transactions/${id}`));
}

/** The number of the account's last batch: it stays where nothing is written. */
async function head({ eva, shop }: Context): Promise<number> {
  return whole(ok(await eva.get(`/accounts/${shop.accountId}`)), 'head.seq');
}

/** A charge that is paid. */
async function paid(shop: Merchant, amount = 20_000): Promise<string> {
  const id = text(await charge(shop, amount), 'id');
  await told(shop, id, 'PAY');
  return id;
}

/** All that operators can ask for, about what there is. */
function everything({ shop, receiver }: Context, transaction: string): [string, string, JsonObject][] {
  const of = `/transactions/${transaction}`;
  const account = `/accounts/${shop.accountId}`;
  return [
    ['POST', `${of}/messages`, { type: 'PROTEST' }],
    ['POST', `${of}/refunds`, { amount: 100, id: randomUUID() }],
    ['POST', `${of}/cancel`, {}],
    ['POST', '/deliveries/retry', { ids: [transaction] }],
    ['POST', '/deliveries/retry', { url: receiver.url('/down'), since: '2026-01-01T00:00:00Z' }],
    ['POST', '/attention/done', { kind: 'refused', ids: ['none'] }],
    ['POST', `${account}/adjust`, { amount: 100 }],
    ['PATCH', account, { maxAmount: 5_000_000 }],
    ['POST', `${account}/rotate`, {}],
  ];
}

type Way = 'POST' | 'PATCH';

test('a viewer does nothing, nor does who comes from elsewhere or without a session', async (context) => {
  const { server, shop, viewer, eva } = context;
  const transaction = await paid(shop);
  const before = await head(context);
  for (const [method, path, own] of everything(context, transaction)) {
    const body = { ...parts(), ...own };
    refused(await viewer.act(method as Way, path, body), 403, 'OPERATORS_ONLY');
    const headers = { ...eva.headers, ...pageHeaders(server) };
    refused(
      await call(server, method as Way, path, { ...headers, origin: 'http://evil.example' }, body),
      403,
      'WRONG_ORIGIN',
    );
    refused(await call(server, method as Way, path, eva.headers, body), 403, 'WRONG_ORIGIN');
    refused(
      await call(server, method as Way, path, { ...headers, 'content-type': 'text/plain' }, body),
      400,
      'INVALID_REQUEST',
    );
    refused(await call(server, method as Way, path, pageHeaders(server), body), 401, 'INVALID_CREDENTIALS');
    const half = { cookie: eva.headers.cookie ?? '', ...pageHeaders(server) };
    refused(await call(server, method as Way, path, half, body), 401, 'INVALID_CREDENTIALS');
  }
  assert.is(await head(context), before);
  assert.is(text(await shown(shop, 'pix-in', transaction), 'status'), 'paid');
});

test('what has no reason, no id, or what nobody knows changes nothing', async (context) => {
  const { shop, eva } = context;
  const transaction = await paid(shop);
  const before = await head(context);
  const long = 'x'.repeat(501);
  for (const [method, path, own] of everything(context, transaction)) {
    const right: JsonObject = { ...parts(), ...own };
    const { reason: _reason, ...noReason } = right;
    const { id: _id, ...noId } = right;
    const wrong: JsonObject[] = [
      noReason,
      noId,
      { ...right, reason: '' },
      { ...right, reason: '   ' },
      { ...right, reason: long },
      { ...right, reason: 7 },
      { ...right, reason: 'a\u0000b' },
      { ...right, id: long },
      { ...right, surely: true },
    ];
    for (const body of wrong) refused(await eva.act(method as Way, path, body), 400, 'VALIDATION_ERROR');
  }
  assert.is(await head(context), before);
});

test('what is not there is told', async (context) => {
  const { eva, shop } = context;
  const none = randomUUID();
  const answers: [Way, string, JsonObject, number, string][] = [
    ['POST', `/transactions/${none}/messages`, { type: 'PAY' }, 404, 'TRANSACTION_NOT_FOUND'],
    ['POST', `/transactions/${none}/refunds`, { id: none }, 404, 'TRANSACTION_NOT_FOUND'],
    ['POST', `/transactions/${'x'.repeat(5_000)}/cancel`, {}, 404, 'TRANSACTION_NOT_FOUND'],
    ['POST', '/deliveries/retry', { ids: [none] }, 404, 'TRANSACTION_NOT_FOUND'],
    ['POST', '/deliveries/retry', { ids: ['dlv_none'] }, 404, 'TRANSACTION_NOT_FOUND'],
    ['POST', '/attention/done', { kind: 'refused', ids: ['none'] }, 404, 'ITEM_NOT_FOUND'],
    ['POST', '/attention/done', { kind: 'dead', ids: ['x'.repeat(400)] }, 404, 'ITEM_NOT_FOUND'],
    ['POST', '/accounts/acc_none/adjust', { amount: 1 }, 404, 'ACCOUNT_NOT_FOUND'],
    ['POST', `/accounts/${'x'.repeat(5_000)}/adjust`, { amount: 1 }, 404, 'ACCOUNT_NOT_FOUND'],
    ['PATCH', '/accounts/acc_none', { maxAmount: 1 }, 404, 'ACCOUNT_NOT_FOUND'],
    ['POST', '/accounts/acc_none/rotate', {}, 404, 'ACCOUNT_NOT_FOUND'],
    ['POST', `/accounts/${shop.accountId}/rotate`, { url: 'https://x.example/' }, 404, 'WEBHOOK_NOT_FOUND'],
  ];
  for (const [method, path, own, status, code] of answers)
    refused(await eva.act(method, path, { ...parts(), ...own }), status, code);
  refused(await eva.get('/deliveries/retries/none'), 404, 'RUN_NOT_FOUND');
});

test('a message is sent once for its id, under the name of who sent it', async (context) => {
  const { eva, shop } = context;
  const id = await paid(shop);
  const wish = { ...parts('the payer protests'), type: 'PROTEST' };
  const path = `/transactions/${id}/messages`;
  const sent = ok(await eva.act('POST', path, wish));
  assert.equal(sent, { transaction: id, status: 'in_protest', applied: true });
  const before = await head(context);
  assert.equal(ok(await eva.act('POST', path, wish)), { ...(sent as object), applied: false });
  assert.is(await head(context), before);
  const [entry = null] = list(await document(eva, id), 'entries');
  assert.is(text(entry, 'door'), 'ops');
  assert.is(text(entry, 'message.id'), wish.id);
  assert.equal(at(entry, 'by'), { name: 'Eva', role: 'operator', reason: 'the payer protests' });
  refused(await eva.act('POST', path, { ...parts(), type: 'DIMSISS' }), 400, 'VALIDATION_ERROR');
  assert.is(await head(context), before);
});

test('what the state does not take is said, and leaves nothing', async (context) => {
  const { eva, shop } = context;
  const id = await paid(shop);
  const before = await head(context);
  for (const type of ['DISMISS', 'PAY', 'EXPIRE', 'APPROVE']) {
    const reply = await eva.act('POST', `/transactions/${id}/messages`, { ...parts(), type });
    refused(reply, 409, 'MESSAGE_NOT_ACCEPTED');
    assert.is(text(reply.body, 'status'), 'paid');
    assert.ok(list(reply.body, 'allowed').includes('PROTEST'));
  }
  assert.is(await head(context), before);
  const waiting = text(await transfer(shop, 3_007), 'id');
  const reply = await eva.act('POST', `/transactions/${waiting}/messages`, {
    ...{ ...parts(), type: 'SETTLE' },
    data: { endToEndId: 'nonsense' },
  });
  refused(reply, 400, 'VALIDATION_ERROR');
  assert.is(text(reply.body, 'details.0.field'), 'data.endToEndId');
});

test('of two operators who decide the same at once one is first, and the other is told', async (context) => {
  const { eva, rui, shop } = context;
  for (let round = 0; round < 5; round++) {
    const id = text(await transfer(shop, 2_007), 'id');
    const replies = await Promise.all([
      eva.act('POST', `/transactions/${id}/messages`, { ...parts(), type: 'SETTLE' }),
      rui.act('POST', `/transactions/${id}/messages`, { ...parts(), type: 'FAIL' }),
    ]);
    assert.equal(replies.map(({ status }) => status).sort(), [200, 409], `round ${round}`);
    const status = text(await shown(shop, 'cashout', id), 'status');
    const isFirst = replies[0]?.status === 200;
    assert.is(status, isFirst ? 'completed' : 'failed');
    const done = list(await document(eva, id), 'entries').filter((entry) => at(entry, 'refusal') === null);
    assert.is(text(done[0] ?? null, 'by.name'), isFirst ? 'Eva' : 'Rui');
  }
});

test('a charge is refunded by the command of its merchant, once for an id', async (context) => {
  const { eva, rui, shop } = context;
  const id = await paid(shop);
  const path = `/transactions/${id}/refunds`;
  const wish = { ...parts('the customer is right'), id: randomUUID(), amount: 5_000 };
  const before = await shop.balance();
  assert.equal(ok(await eva.act('POST', path, wish)), { transaction: id, status: 'paid', applied: true });
  const debited = await shop.balance();
  assert.ok(debited < before);
  for (const again of [eva, rui]) assert.is(at(ok(await again.act('POST', path, wish)), 'applied'), false);
  assert.is(await shop.balance(), debited);
  refused(await eva.act('POST', path, { ...wish, amount: 6_000 }), 409, 'ID_REUSED');
  const elsewhere = await paid(shop);
  refused(await eva.act('POST', `/transactions/${elsewhere}/refunds`, wish), 409, 'ID_REUSED');
  const tooMuch = { ...parts(), id: randomUUID(), amount: 15_001 };
  refused(await eva.act('POST', path, tooMuch), 400, 'VALIDATION_ERROR');
  refused(await eva.act('POST', path, { ...tooMuch, id: 'no uuid' }), 400, 'VALIDATION_ERROR');
  const refunds = list((await shop.get(`/pix-in/${id}/refunds`)).body, 'data');
  assert.is(refunds.length, 1);
  assert.is(text(refunds[0] ?? null, 'id'), wish.id);
  assert.is(at(refunds[0] ?? null, 'reason'), null, "the operator's reason is the journal's alone");
  const order = list(await document(eva, id), 'entries').find(
    (entry) => text(entry, 'message.type') === 'REFUND_ORDER',
  );
  assert.is(text(order ?? null, 'door'), 'ops');
  assert.equal(at(order ?? null, 'by'), { name: 'Eva', role: 'operator', reason: wish.reason });
  const waiting = text(await charge(shop, 3_000), 'id');
  refused(
    await eva.act('POST', `/transactions/${waiting}/refunds`, { ...parts(), id: randomUUID() }),
    409,
    'REFUND_NOT_POSSIBLE',
  );
});

test('refunds of two operators at once never exceed what was paid', async (context) => {
  const { eva, rui, shop } = context;
  const id = await paid(shop, 10_000);
  const path = `/transactions/${id}/refunds`;
  const replies = await Promise.all(
    [eva, rui, eva, rui].map((who) => who.act('POST', path, { ...parts(), id: randomUUID(), amount: 6_000 })),
  );
  assert.equal(replies.map(({ status }) => status).sort(), [200, 400, 400, 400]);
});

test('a charge that waits is canceled, and one that is paid is not', async (context) => {
  const { eva, rui, shop } = context;
  const id = text(await charge(shop, 3_000), 'id');
  const wish = parts('made by mistake');
  const path = `/transactions/${id}/cancel`;
  assert.equal(ok(await eva.act('POST', path, wish)), { transaction: id, status: 'canceled', applied: true });
  const before = list(await document(eva, id), 'entries');
  for (const again of [wish, parts()])
    assert.is(at(ok(await rui.act('POST', path, again)), 'applied'), false);
  assert.equal(list(await document(eva, id), 'entries'), before);
  const [entry = null] = before;
  assert.is(text(entry, 'message.type'), 'CANCEL');
  assert.equal(at(entry, 'by'), { name: 'Eva', role: 'operator', reason: wish.reason });
  const done = await paid(shop);
  refused(await eva.act('POST', `/transactions/${done}/cancel`, parts()), 409, 'MESSAGE_NOT_ACCEPTED');
  const payout = text(await transfer(shop, 1_007), 'id');
  refused(await eva.act('POST', `/transactions/${payout}/cancel`, parts()), 404, 'TRANSACTION_NOT_FOUND');
});

test('a balance is adjusted once for an id, and not below zero unless that is asked for', async (context) => {
  const { eva, server } = context;
  const own = await merchant(server, ['--balance', '1000']);
  const path = `/accounts/${own.accountId}/adjust`;
  const wish = { ...parts('a deposit'), amount: 250 };
  assert.equal(ok(await eva.act('POST', path, wish)), {
    ...{ account: own.accountId, balance: 1_250, applied: true },
  });
  assert.is(at(ok(await eva.act('POST', path, wish)), 'applied'), false);
  refused(await eva.act('POST', path, { ...wish, amount: 251 }), 409, 'ADJUSTMENT_REFUSED');
  refused(await eva.act('POST', path, { ...parts(), amount: -1_251 }), 409, 'ADJUSTMENT_REFUSED');
  for (const amount of [0, 1.5, '5', null])
    refused(await eva.act('POST', path, { ...parts(), amount }), 400, 'VALIDATION_ERROR');
  assert.is(await own.balance(), 1_250);
  const below = { ...parts(), amount: -1_251, allowNegative: true };
  assert.is(whole(ok(await eva.act('POST', path, below)), 'balance'), -1);
  const rows = list((await eva.get(`/accounts/${own.accountId}/statement?door=ops`)).body, 'rows');
  assert.is(rows.length, 3, 'the deposit at its creation, and two of Eva');
});

test('settings are changed by name, and secrets of new URLs are told once', async (context) => {
  const { eva, server, receiver } = context;
  const own = await merchant(server, ['--webhook-url', receiver.url('/a')]);
  const path = `/accounts/${own.accountId}`;
  const webhooks = [{ url: receiver.url('/a') }, { url: receiver.url('/b'), events: ['pix-in.paid'] }];
  const wish = { ...parts('a new shop system'), webhooks, maxAmount: 50_000, allowedIps: ['*'] };
  const changed = ok(await eva.act('PATCH', path, wish));
  assert.equal(
    list(changed, 'issued').map((each) => text(each, 'url')),
    [receiver.url('/b')],
  );
  assert.match(text(changed, 'issued.0.secret'), /^whsec_/);
  assert.equal(list(ok(await eva.act('PATCH', path, wish)), 'issued'), []);
  const account = ok(await eva.get(path));
  assert.is(whole(account, 'settings.maxAmount'), 50_000);
  assert.equal(list(account, 'allowedIps'), ['*']);
  assert.equal(at(list(account, 'urls')[1] ?? null, 'events'), ['pix-in.paid']);
  const wrong: JsonObject[] = [
    {},
    { status: 'off' },
    { allowedIps: [] },
    { allowedIps: ['::1'] },
    { allowedIps: '*' },
    { webhooks: [{ url: 'ftp://x' }] },
    { webhooks: [{ url: receiver.url('/a'), events: ['none'] }] },
    { webhooks: [{ url: receiver.url('/a') }, { url: receiver.url('/a') }] },
    { webhooks: Array.from({ length: 11 }, (_, nth) => ({ url: receiver.url(`/${nth}`) })) },
    { webhooks: [null] },
    { maxAmount: 0 },
    { pixKey: 'no key' },
    { name: 'Other' },
  ];
  for (const changes of wrong)
    refused(await eva.act('PATCH', path, { ...parts(), ...changes }), 400, 'VALIDATION_ERROR');
  refused(await eva.act('PATCH', path, { ...wish, maxAmount: 1 }), 409, 'ID_REUSED');
  assert.is(ok(await eva.act('PATCH', path, { ...parts(), maxAmount: null })) !== null, true);
  assert.is(at(ok(await eva.get(path)), 'settings.maxAmount'), null);
});

test('settings that another has changed meanwhile are refused, with what they are now', async (context) => {
  const { eva, rui, server } = context;
  const own = await merchant(server, []);
  const path = `/accounts/${own.accountId}`;
  const looked = ok(await eva.get(path));
  const version = whole(looked, 'version');
  const wish = { ...parts('the office'), version, allowedIps: ['10.0.0.1'] };
  ok(await eva.act('PATCH', path, wish));
  const seq = whole(ok(await eva.get(path)), 'head.seq');
  const late = { ...parts('the till'), version, allowedIps: ['10.0.0.2'] };
  const reply = await rui.act('PATCH', path, late);
  refused(reply, 409, 'ACCOUNT_CHANGED');
  assert.equal(at(reply.body, 'present'), {
    ...{ version: version + 1, status: 'active', userStatus: 'active' },
    ...{ allowedIps: ['10.0.0.1'], urls: [], maxAmount: null },
  });
  const after = ok(await eva.get(path));
  assert.equal(list(after, 'allowedIps'), ['10.0.0.1']);
  assert.is(whole(after, 'head.seq'), seq, 'nothing was written');
  // The first one again is answered as before, though its version is gone.
  ok(await eva.act('PATCH', path, wish));
  // Who has seen what it is now may confirm.
  ok(await rui.act('PATCH', path, { ...late, version: version + 1 }));
  assert.equal(list(ok(await eva.get(path)), 'allowedIps'), ['10.0.0.2']);
  for (const wrong of [0, 1.5, '1'])
    refused(await eva.act('PATCH', path, { ...wish, ...parts(), version: wrong }), 400, 'VALIDATION_ERROR');
  refused(await eva.act('PATCH', path, { ...parts(), version: version + 2 }), 400, 'VALIDATION_ERROR');
});

test('of many who change the settings at once on the same version one does, and one entry is written', async (context) => {
  const { eva, rui, server } = context;
  const own = await merchant(server, []);
  const path = `/accounts/${own.accountId}`;
  for (let round = 0; round < 3; round++) {
    const version = whole(ok(await eva.get(path)), 'version');
    const wishes = Array.from({ length: 6 }, (_, nth) => ({ ...parts(), version, maxAmount: 1_000 + nth }));
    const replies = await Promise.all(
      wishes.map((wish, nth) => (nth % 2 === 0 ? eva : rui).act('PATCH', path, wish)),
    );
    assert.equal(replies.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409]);
    const done = wishes[replies.findIndex(({ status }) => status === 200)];
    const account = ok(await eva.get(path));
    assert.is(whole(account, 'settings.maxAmount'), done?.maxAmount);
    assert.is(whole(account, 'head.seq'), round + 1);
  }
});

test('a rotated secret is told once, to who rotated it', async (context) => {
  const { eva, rui, server, receiver } = context;
  const own = await merchant(server, ['--webhook-url', receiver.url('/a')]);
  const path = `/accounts/${own.accountId}/rotate`;
  const ofUrl = { ...parts(), url: receiver.url('/a') };
  assert.match(text(ok(await eva.act('POST', path, ofUrl)), 'secret'), /^whsec_/);
  const again = await rui.act('POST', path, ofUrl);
  refused(again, 409, 'DONE_BEFORE');
  assert.not.match(again.text, 'whsec_');
  const pair = ok(await eva.act('POST', path, parts()));
  const authorization = `Basic ${btoa(`${text(pair, 'clientId')}:${text(pair, 'clientSecret')}`)}`;
  await until(
    async () => (await own.get('/balance', { authorization })).status === 200,
    5_000,
    'the new pair opens the account',
  );
});

test('of two who rotate a secret on the same version the second is refused, and the first one’s works', async (context) => {
  const { eva, rui, server, receiver } = context;
  const own = await merchant(server, ['--webhook-url', receiver.url('/a')]);
  const path = `/accounts/${own.accountId}`;
  for (const of of [{}, { url: receiver.url('/a') }]) {
    const looked = ok(await eva.get(path));
    const version = whole(looked, 'version');
    const wish = { ...parts('a laptop was lost'), ...of, version };
    const shown = ok(await eva.act('POST', `${path}/rotate`, wish));
    const seq = whole(ok(await eva.get(path)), 'head.seq');
    const late = { ...parts('a laptop was lost'), ...of, version };
    const reply = await rui.act('POST', `${path}/rotate`, late);
    refused(reply, 409, 'ACCOUNT_CHANGED');
    assert.is(at(reply.body, 'present.version'), version + 1);
    assert.is(whole(ok(await eva.get(path)), 'head.seq'), seq, 'nothing was written');
    // The first one again is answered as before, though its version is gone.
    refused(await eva.act('POST', `${path}/rotate`, wish), 409, 'DONE_BEFORE');
    if (!('url' in of)) {
      const authorization = `Basic ${btoa(`${text(shown, 'clientId')}:${text(shown, 'clientSecret')}`)}`;
      const works = async () => (await own.get('/balance', { authorization })).status === 200;
      await until(works, 5_000, 'the pair that was shown opens the account');
    }
    // Who has seen what it is now may confirm; who has looked at none isn't held to any.
    ok(await rui.act('POST', `${path}/rotate`, { ...late, version: version + 1 }));
    ok(await rui.act('POST', `${path}/rotate`, { ...parts(), ...of }));
    for (const wrong of [0, 1.5, '1'])
      refused(
        await eva.act('POST', `${path}/rotate`, { ...parts(), ...of, version: wrong }),
        400,
        'VALIDATION_ERROR',
      );
  }
});

test('of many who rotate a secret at once on the same version one does', async (context) => {
  const { eva, rui, server } = context;
  const own = await merchant(server, []);
  const path = `/accounts/${own.accountId}`;
  const version = whole(ok(await eva.get(path)), 'version');
  const wishes = Array.from({ length: 6 }, () => ({ ...parts(), version }));
  const replies = await Promise.all(
    wishes.map((wish, nth) => (nth % 2 === 0 ? eva : rui).act('POST', `${path}/rotate`, wish)),
  );
  assert.equal(replies.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409]);
  assert.is(whole(ok(await eva.get(path)), 'head.seq'), 1);
});

test('items of an account are done with, in its journal', async (context) => {
  const { eva, rui, server, shop } = context;
  const id = text(await transfer(shop, 4_107), 'id');
  await told(shop, id, 'SETTLE');
  // A word that comes too late is an item.
  await shop.post(`/sandbox/transactions/${id}/messages`, { type: 'FAIL' });
  const { items } = (await cliJson(server, ['attention', '--account', shop.accountId])) as unknown as {
    items: { id: string; about: { transaction: string } }[];
  };
  const item = items.find(({ about }) => about.transaction === id);
  assert.ok(item);
  const wish = { ...parts('the bank says so'), kind: 'refused', ids: [item.id] };
  assert.equal(ok(await eva.act('POST', '/attention/done', wish)), { done: [item.id] });
  const before = await head(context);
  const late = await rui.act('POST', '/attention/done', { ...parts(), kind: 'refused', ids: [item.id] });
  refused(late, 404, 'ITEM_NOT_FOUND');
  assert.is(text(late.body, 'by.name'), 'Eva');
  assert.is(text(late.body, 'by.reason'), 'the bank says so');
  assert.is(await head(context), before);
  const rows = list((await eva.get(`/accounts/${shop.accountId}/statement?door=ops`)).body, 'rows');
  assert.is(text(rows[0] ?? null, 'message'), 'OPS');
});

test('of two who are done with an item at once the second is told of the first, and nothing is written twice', async (context) => {
  const { eva, rui, server, shop } = context;
  for (let round = 0; round < 3; round++) {
    const id = text(await transfer(shop, 4_207 + 100 * round), 'id');
    await told(shop, id, 'SETTLE');
    await shop.post(`/sandbox/transactions/${id}/messages`, { type: 'FAIL' });
    const { items } = (await cliJson(server, ['attention', '--account', shop.accountId])) as unknown as {
      items: { id: string; about: { transaction: string } }[];
    };
    const item = items.find(({ about }) => about.transaction === id);
    assert.ok(item);
    const before = await head(context);
    const replies = await Promise.all(
      [eva, rui].map((who) =>
        who.act('POST', '/attention/done', { ...parts(), kind: 'refused', ids: [item.id] }),
      ),
    );
    assert.equal(replies.map(({ status }) => status).sort(), [200, 404]);
    const first = replies[0]?.status === 200 ? 'Eva' : 'Rui';
    const second = replies.find(({ status }) => status === 404);
    assert.is(text(second?.body ?? null, 'by.name'), first);
    assert.is(await head(context), before + 1);
  }
});

test('what was done stands in sound journals, and is decided again as it was', async ({ server }) => {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true, JSON.stringify(verified));
});

test('a method that is none is told which there are', async ({ server, eva }) => {
  const reply = await call(
    server,
    'PUT',
    '/deliveries/retry',
    { ...eva.headers, ...pageHeaders(server) },
    {},
  );
  refused(reply, 405, 'METHOD_NOT_ALLOWED');
  assert.is(reply.headers.allow, 'POST');
  assert.ok(origin(server));
});

test.run();
