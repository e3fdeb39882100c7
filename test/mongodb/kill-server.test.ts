/** kill -9 of server processes on a real MongoDB: exactly between a batch's insert and its projection, and at random. */
import type { Db } from 'mongodb';
import * as assert from 'uvu/assert';
import { expectVerified, RESUMED_MS, randomOf } from '../faults/scene.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { askTransfer, charge, deliveries, tell } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { sleep, until } from '../support/wait.ts';
import { command } from '../support/wire.ts';
import { expectSettled, spreadLoad, trulyUnexpected, underLoad } from './crowd.ts';
import { collection, elsewhere, held, onProxiedDatabase, startOn, withDb, withServers } from './stage.ts';

const SEED = 20_260_301;
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 4);
/** Silence is noticed after 5 s, looked for once a second; the rest is for a busy machine. */
const SWEPT_MS = 10_000;
/** What anybody may claim goes out with the next ticks. */
const DELIVERED_MS = 4_000;

/** What a server is asked for at the moment of its death, and what must come of it. */
interface Deed {
  name: string;
  /** Before the network breaks. */
  prepare(client: Merchant): Promise<string | null>;
  ask(client: Merchant, prepared: string | null): Promise<unknown>;
  /** The events that its transaction has in the end. */
  events: string[];
  /** The change of the balance in the end. */
  balance: number;
}

const OPENING = 1_000_000;

const DEEDS: readonly Deed[] = [
  {
    name: 'a charge',
    prepare: async () => null,
    ask: (client) => client.post('/pix-in', { amount: 10_001, externalRef: 'cut off' }),
    events: ['pix-in.waiting_payment', 'pix-in.paid'],
    balance: 10_001 - 100,
  },
  {
    name: 'a cashout',
    prepare: async () => null,
    ask: (client) => askTransfer(client, 1_001, { idempotencyKey: 'cut off' }),
    events: ['cashout.pending', 'cashout.processing', 'cashout.completed'],
    balance: -1_001 - 50,
  },
  {
    name: 'a payment',
    prepare: async (client) => {
      const id = text(await charge(client, 10_000, { externalRef: 'cut off' }), 'id');
      // What a dead process has in hand is a matter of its own.
      const delivered = async () => text((await deliveries(client, id))[0] ?? {}, 'status') === 'delivered';
      await until(delivered, DELIVERED_MS, 'the first event');
      return id;
    },
    ask: (client, id) => tell(client, id ?? '', 'PAY', undefined, 'cut off'),
    events: ['pix-in.waiting_payment', 'pix-in.paid'],
    balance: 10_000 - 100,
  },
];

interface Scene {
  proxy: TcpProxy;
  receiver: Receiver;
  /** Over the proxy: what a server uses that is to die. */
  uri: string;
  /** Past the proxy: what the others use. */
  direct: string;
  truth: Db;
  /** Over the proxy. */
  doomed: Server;
  /** Past it. */
  other: Server;
}

function onScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  return onProxiedDatabase(async ({ proxy, receiver, uri, direct }) => {
    const doomed = await startOn(uri);
    const other = await startOn(direct);
    try {
      await withDb(direct, (truth) => body({ proxy, receiver, uri, direct, truth, doomed, other }));
    } finally {
      await Promise.all([doomed.stop(), other.stop()]);
    }
  });
}

const suite = fixtureSuite<Scene>('kill -9 on mongodb', (defer) => held(defer, onScene));
const { test } = suite;

/** Whether the account's last batch has left what it says in `transactions`. */
async function isProjected(truth: Db, account: string): Promise<boolean> {
  const [last] = await truth.collection('journal').find({ account }).sort({ seq: -1 }).limit(1).toArray();
  const ids = (last?.entries ?? []).map(({ transaction }: { transaction: string }) => transaction);
  const found = await collection(truth, 'transactions')
    .find({ _id: { $in: ids }, seq: last?.seq })
    .toArray();
  return ids.length > 0 && found.length === ids.length;
}

/** Kills a server when its batch is in the journal and nothing else of it is anywhere. */
async function killInBetween(
  server: Server,
  { proxy, truth }: Scene,
  client: Merchant,
  deed: Deed,
): Promise<void> {
  const prepared = await deed.prepare(client);
  const before = await truth.collection('journal').countDocuments({ account: client.accountId });
  // What the sandbox's and the webhooks' turn were about has ended; the next insert is the deed's.
  const trap = proxy.dropAnswersAfter(command('insert', 'journal'));
  const asked = deed.ask(client, prepared).catch(() => null);
  await trap.sprung;
  proxy.mode('refuse');
  await server.kill();
  await asked;
  assert.is(
    await truth.collection('journal').countDocuments({ account: client.accountId }),
    before + 1,
    `${deed.name}: the insert did not arrive, or more than that did`,
  );
  assert.is(await isProjected(truth, client.accountId), false, `${deed.name}: the projection got through`);
  proxy.mode('pass');
}

function eventsAt(receiver: Receiver, path: string): string[] {
  const seen = new Map(
    receiver.at(path).map(({ headers }) => [headers['idempotency-key'], headers['x-event']]),
  );
  return [...seen.values()].map(String);
}

/** The transaction is there, once, and comes to its end; its events arrive. */
async function expectFinished(client: Merchant, deed: Deed, receiver: Receiver, path: string): Promise<void> {
  const kind = deed.name === 'a cashout' ? 'cashout' : 'pix-in';
  if (kind === 'cashout') {
    const again = await askTransfer(client, 1_001, { idempotencyKey: 'cut off' });
    assert.is(again.status, 409, again.text);
  } else expectStatus(await client.get('/pix-in?externalRef=cut%20off'), 200);
  const all = () => deed.events.every((event) => eventsAt(receiver, path).includes(event));
  await until(all, DELIVERED_MS, `${deed.name}: ${deed.events.join(', ')}`);
  assert.equal(eventsAt(receiver, path), deed.events, deed.name);
  assert.is(await client.balance(), OPENING + deed.balance, deed.name);
}

async function account(server: Server, receiver: Receiver, path: string): Promise<Merchant> {
  const args = ['--balance', String(OPENING), '--webhook-url', receiver.url(path)];
  const client = await merchant(server, args);
  // Whatever the server does once, it has done by now.
  await client.balance();
  return client;
}

test('between insert and projection: who touches the account next finishes it', async (scene) => {
  const { doomed, other, receiver, truth } = scene;
  for (const [index, deed] of DEEDS.entries()) {
    const path = `/touched-${index}`;
    const client = await account(doomed, receiver, path);
    await killInBetween(doomed, scene, client, deed);
    const killedAt = performance.now();
    const beside = elsewhere(other, client);
    // A refusal is an answer too: this one is decided on a head whose batch must be there.
    const touched = await askTransfer(beside, OPENING * 2);
    assert.is(touched.status, 400, touched.text);
    assert.ok(performance.now() - killedAt < 4_000, 'so late that the sweep may have been first');
    assert.is(await isProjected(truth, client.accountId), true, `${deed.name}: left as it was`);
    await expectFinished(beside, deed, receiver, path);
    await doomed.restart();
  }
  await expectVerified(other);
});

test('between insert and projection: where nobody touches the account, a sweep finds it', async (scene) => {
  const { doomed, other, receiver, truth } = scene;
  const tookMs: number[] = [];
  for (const [index, deed] of DEEDS.entries()) {
    const path = `/untouched-${index}`;
    const client = await account(doomed, receiver, path);
    await killInBetween(doomed, scene, client, deed);
    const killedAt = performance.now();
    // Once with another server beside it, once by the same one started again, once by both.
    if (index !== 0) await doomed.restart();
    if (index === 1) await other.kill();
    await until(() => isProjected(truth, client.accountId), SWEPT_MS, `${deed.name} in transactions`);
    tookMs.push(Math.round(performance.now() - killedAt));
    await expectFinished(elsewhere(index === 0 ? other : doomed, client), deed, receiver, path);
    if (index === 0) await doomed.restart();
    if (index === 1) await other.restart();
  }
  console.log(`found after ${tookMs.join(', ')} ms`);
  await expectVerified(other);
});

test('in rounds under load, one of two servers at random: nothing answered is lost, what was due goes on', async () => {
  const random = randomOf(SEED);
  const receiver = await startReceiver();
  const moody = randomOf(SEED + 1);
  receiver.answer('/hook', () => ({ status: moody() < 0.02 ? 500 : 200 }));
  const database = await freshDatabase();
  try {
    await withServers(database.uri, 2, async (servers) => {
      const { load, samples, touch } = await spreadLoad(servers, receiver.url('/hook'), random);
      for (let round = 1; round <= ROUNDS; round += 1) {
        const before = load.plans.length;
        // Both, now and then: then nobody is left to go on with anything.
        const one = Math.floor(random() * 2);
        const dying = servers.filter((_, index) => round % 3 === 0 || index === one);
        await underLoad(load, 8, async () => {
          await sleep(300 + random() * 900);
          await Promise.all(dying.map((server) => server.kill()));
          if (dying.length < servers.length) await sleep(random() * 500);
        });
        await Promise.all(dying.map((server) => server.restart()));
        const readyAt = performance.now();
        assert.equal(trulyUnexpected(load), [], `round ${round}`);
        await touch();
        await load.settle(load.openSince(before));
        // In the other rounds the next one dies upon what this one has left open.
        if (round % 4 === 0)
          await load.expectEnds(() => Math.max(1, RESUMED_MS - (performance.now() - readyAt)));
      }
      await expectSettled(load, () => receiver.requests, servers[0]);
      const unavailable = load.unexpected.length;
      console.log(
        `${ROUNDS} rounds, ${load.known.length} transactions, ${samples.length} requests, ${unavailable} got 503`,
      );
    });
  } finally {
    await receiver.close();
    await database.drop();
  }
});

suite.run();
