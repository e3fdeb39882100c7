/** The console's stream: what comes to the journal and to deliveries, as it comes, to those who may read. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, told } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { Listener } from './listener.ts';
import { call, origin, pageHeaders, startConsole, type Visitor, visitor } from './visitor.ts';

interface Scene {
  server: Server;
  receiver: Receiver;
  shop: Merchant;
  other: Merchant;
  eva: Visitor;
}

const test = suite<Scene>('the stream');

test.before(async (context) => {
  context.receiver = await startReceiver();
  context.server = await startConsole();
  const { server, receiver } = context;
  context.shop = await merchant(server, ['--name', 'Loja Azul', '--webhook-url', receiver.url('/hook')]);
  context.other = await merchant(server, ['--name', 'CPF 529.982.247-25']);
  context.eva = await visitor(server, ['--by', 'Eva']);
});
test.after(async ({ server, receiver }) => {
  await server.stop();
  await receiver.close();
});

test('an entry comes with whose it is and what it is about', async ({ server, eva, shop, other }) => {
  const listener = await Listener.greeted(server, eva.headers);
  assert.is(listener.headers.get('content-type'), 'application/x-ndjson');
  assert.is(listener.headers.get('cache-control'), 'no-store');
  const id = text(await charge(shop, 12_300), 'id');
  await told(shop, id, 'PAY');
  const paid = await listener.row((row) => row.transaction === id && row.message === 'PAY');
  const { seq, at, index, ...rest } = paid;
  assert.ok(seq > 1 && index === 0 && Date.parse(at) <= Date.now() + 1_000);
  assert.equal(rest, {
    ...{ account: shop.accountId, accountName: 'Loja Azul', transaction: id, type: 'pix-in' },
    ...{ door: 'sandbox', message: 'PAY', from: 'waiting_payment', to: 'paid', isRefused: false },
    ...{ amount: 12_300, change: paid.change },
  });
  assert.ok(paid.change > 0);
  const [made] = listener.rows.filter(({ transaction }) => transaction === id);
  assert.equal([made?.message, made?.from, made?.to, made?.change], ['CREATE', null, 'waiting_payment', 0]);
  await charge(other, 500);
  const masked = await listener.row((row) => row.account === other.accountId);
  assert.is(masked.accountName, 'CPF •••25', 'a document in a name is masked');
  assert.is(listener.missed, 0);
  listener.close();
});

test('what a message was refused is told, and a filter lets through its own alone', async (scene) => {
  const { server, eva, shop, other } = scene;
  const id = text(await charge(shop, 500), 'id');
  const own = await Listener.greeted(server, eva.headers, `?transaction=${id.toUpperCase()}`);
  const ofShop = await Listener.greeted(server, eva.headers, `?account=${shop.accountId}`);
  const both = await Listener.greeted(server, eva.headers, `?account=${other.accountId}&transaction=${id}`);
  const theirs = text(await charge(other, 700), 'id');
  await shop.post(`/sandbox/transactions/${id}/messages`, { type: 'APPROVE' });
  const refused = await own.row(({ isRefused }) => isRefused);
  assert.equal([refused.message, refused.to], ['APPROVE', null]);
  const another = text(await charge(shop, 900), 'id');
  await ofShop.row(({ transaction }) => transaction === another);
  assert.not.ok(ofShop.rows.some(({ transaction }) => transaction === theirs));
  assert.equal(
    own.rows.map(({ transaction }) => transaction),
    [id],
  );
  assert.equal(both.rows, []);
  for (const listener of [own, ofShop, both]) listener.close();
});

test("a transaction's attempts come with it, and nobody else's", async ({ server, eva, shop, receiver }) => {
  receiver.answer('/hook', () => ({ status: 503 }));
  const id = text(await charge(shop, 500), 'id');
  const own = await Listener.greeted(server, eva.headers, `?transaction=${id}`);
  const all = await Listener.greeted(server, eva.headers);
  await until(
    async () =>
      own.of('attempts').some(({ deliveries }) => deliveries.some(({ attempts }) => attempts.length > 1)),
    10_000,
    'a failed attempt is told',
  );
  receiver.answer('/hook', () => ({ status: 200 }));
  await until(
    async () =>
      own.of('attempts').some(({ deliveries }) => deliveries.some(({ status }) => status === 'delivered')),
    10_000,
    'the delivery is told',
  );
  assert.equal(all.of('attempts'), []);
  const { body } = await eva.get(`/transactions/${id}`);
  const [delivery = null] = list(body, 'deliveries');
  const last = own.of('attempts').at(-1)?.deliveries.at(-1);
  assert.is(last?.id, text(delivery, 'id'));
  own.close();
  all.close();
});

test('it wants both halves of a session, its own page and host', async ({ server, eva }) => {
  const address = '/live';
  assert.is((await call(server, 'GET', address)).status, 401);
  assert.is((await call(server, 'GET', address, { cookie: eva.headers.cookie ?? '' })).status, 401);
  const elsewhere = { ...eva.headers, origin: 'http://evil.example' };
  assert.is((await call(server, 'GET', address, elsewhere)).status, 403);
  const site = { ...eva.headers, 'sec-fetch-site': 'same-site' };
  assert.is((await call(server, 'GET', address, site)).status, 403);
  assert.is(
    (await call(server, 'POST', address, { ...eva.headers, ...pageHeaders(server) }, {})).status,
    405,
  );
  const head = await fetch(`${origin(server)}/console/api/live`, { method: 'HEAD', headers: eva.headers });
  assert.is(head.status, 200);
});

test('a session that ends ends its streams, and no others', async ({ server, eva }) => {
  const otto = await visitor(server, ['--by', 'Otto']);
  const his = await Listener.greeted(server, otto.headers);
  const hers = await Listener.greeted(server, eva.headers);
  await call(server, 'DELETE', '/session', { ...otto.headers, ...pageHeaders(server) });
  assert.is((await his.heard('bye')).why, 'session');
  await his.over();
  assert.not.ok(hers.isOver);
  hers.close();
});

test('a session has eight streams, and leaves the others their room', async ({ server, eva }) => {
  const ida = await visitor(server, ['--by', 'Eva']);
  const hers = await Promise.all(Array.from({ length: 8 }, () => Listener.greeted(server, eva.headers)));
  const refused = await eva.get('/live');
  assert.is(refused.status, 429);
  assert.is(text(refused.body, 'error'), 'TOO_MANY_STREAMS');
  assert.is(refused.headers['retry-after'], '5');
  // Another session of the same name is another one.
  const another = await Listener.greeted(server, ida.headers);
  hers.pop()?.close();
  const next = await until(
    async () => {
      const listener = await Listener.open(server, eva.headers);
      return listener.status === 200 && listener;
    },
    5_000,
    'there is room again',
  );
  for (const each of [...hers, another, next]) each.close();
});

test('fifty streams are open, the next one is turned away until one ends', async ({ server, shop }) => {
  const seven = await Promise.all(Array.from({ length: 7 }, () => visitor(server)));
  const open = seven.flatMap(({ headers }) => Array.from({ length: 8 }, () => headers)).slice(0, 50);
  const listeners = await Promise.all(open.map((headers) => Listener.greeted(server, headers)));
  const last = await visitor(server, ['--by', 'Ugo']);
  const refused = await last.get('/live');
  assert.is(refused.status, 429);
  assert.is(text(refused.body, 'error'), 'RATE_LIMITED');
  assert.is(refused.headers['retry-after'], '5');
  const id = text(await charge(shop, 500), 'id');
  await Promise.all(listeners.map((each) => each.row(({ transaction }) => transaction === id)));
  listeners[0]?.close();
  await until(
    async () => {
      const listener = await Listener.open(server, last.headers);
      const isOpen = listener.status === 200;
      if (isOpen) listeners.push(listener);
      return isOpen;
    },
    5_000,
    'there is room again',
  );
  for (const each of listeners) each.close();
});

test('of many at once each is told or counted', async ({ server, eva, other }) => {
  const listener = await Listener.greeted(server, eva.headers);
  const total = 1_500;
  const make = async (): Promise<void> => {
    for (let count = 0; count < total / 30; count++) await charge(other, 500);
  };
  await Promise.all(Array.from({ length: 30 }, make));
  const told = (): number => listener.rows.length + listener.missed;
  await until(async () => told() >= total, 10_000, 'all is told or counted');
  assert.is(told(), total);
  assert.ok(listener.of('entries').every(({ rows }) => rows.length <= 200));
  listener.close();
});

test('a server that stops says goodbye', async () => {
  const server = await startConsole();
  const max = await visitor(server);
  const listener = await Listener.greeted(server, max.headers);
  await server.stop();
  assert.is(listener.of('bye')[0]?.why, 'server');
});

test.run();
