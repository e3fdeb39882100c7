/** The console's stream on one database: what one server wrote comes at the other one's, each once. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Listener } from '../console/listener.ts';
import { call, origin, startConsole, type Visitor, visitor } from '../console/visitor.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, tell, told } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { dropStore } from '../support/store.ts';
import { until } from '../support/wait.ts';
import { elsewhere } from './stage.ts';

interface Scene {
  folder: string;
  a: Server;
  b: Server;
  receiver: Receiver;
  shop: Merchant;
  /** The same account at the other server. */
  there: Merchant;
  eva: Visitor;
}

const test = suite<Scene>('streams on one database');

test.before(async (context) => {
  context.folder = await temporaryFolder();
  context.receiver = await startReceiver();
  context.a = await startConsole({ dataDir: context.folder });
  context.b = await startConsole({ dataDir: context.folder });
  const { a, b, receiver } = context;
  for (const server of [a, b])
    await until(async () => (await call(server, 'GET', '/me')).status === 401, 5_000, 'the store is there');
  context.shop = await merchant(a, ['--name', 'Loja', '--webhook-url', receiver.url('/hook')]);
  context.there = elsewhere(b, context.shop);
  context.eva = await visitor(a, ['--url', origin(a)]);
});
test.after(async ({ folder, a, b, receiver }) => {
  for (const server of [a, b] as (Server | undefined)[]) await server?.stop();
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
  await dropStore(folder);
});

test('what either server writes comes at both, once', async ({ a, b, shop, there, eva }) => {
  const listeners = [
    await Listener.greeted(a, eva.headers),
    await Listener.greeted(b, eva.headers, `?account=${shop.accountId}`),
  ];
  const made: string[] = [];
  const make = async (client: Merchant): Promise<void> => {
    for (let count = 0; count < 20; count++) made.push(text(await charge(client, 500), 'id'));
  };
  await Promise.all([make(shop), make(there), make(shop), make(there)]);
  for (const listener of listeners) {
    const ids = (): string[] => listener.rows.flatMap(({ transaction }) => transaction ?? []);
    await until(async () => made.every((id) => ids().includes(id)), 10_000, 'all come');
    assert.equal(ids().sort(), [...made].sort());
    assert.is(listener.missed, 0);
    assert.ok(listener.rows.every(({ accountName, amount }) => accountName === 'Loja' && amount === 500));
    listener.close();
  }
});

test('a transaction that another server works on is followed', async ({ a, shop, there, eva, receiver }) => {
  receiver.answer('/hook', () => ({ status: 503 }));
  const id = text(await charge(shop, 500), 'id');
  const own = await Listener.greeted(a, eva.headers, `?transaction=${id}`);
  const all = await Listener.greeted(a, eva.headers);
  await tell(there, id, 'APPROVE');
  await own.row(({ message, isRefused }) => message === 'APPROVE' && isRefused);
  await told(there, id, 'PAY');
  await told(shop, id, 'PROTEST');
  await own.row(({ message }) => message === 'PROTEST');
  const attempted = (): boolean =>
    own.of('attempts').some(({ deliveries }) => deliveries.some(({ attempts }) => attempts.length > 0));
  await until(async () => attempted(), 10_000, 'attempts come');
  receiver.answer('/hook', () => ({ status: 200 }));
  await all.row(({ transaction, message }) => transaction === id && message === 'PROTEST');
  for (const { rows } of [own, all]) {
    const messages = rows.filter(({ transaction }) => transaction === id).map(({ message }) => message);
    assert.equal(messages, ['APPROVE', 'PAY', 'PROTEST']);
  }
  own.close();
  all.close();
});

test('a server that comes later is heard, too', async ({ a, folder, shop, eva }) => {
  const listener = await Listener.greeted(a, eva.headers);
  const c = await startConsole({ dataDir: folder });
  try {
    const id = text(await charge(elsewhere(c, shop), 500), 'id');
    await listener.row(({ transaction }) => transaction === id, 10_000);
    assert.is(listener.rows.filter(({ transaction }) => transaction === id).length, 1);
  } finally {
    await c.stop();
    listener.close();
  }
});

test.run();
