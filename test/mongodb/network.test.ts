/** A network that loses answers, drops requests, resets, stalls: between a server and its MongoDB, in the middle of things. */
import type { Db } from 'mongodb';
import * as assert from 'uvu/assert';
import { expectVerified, inTime, randomOf } from '../faults/scene.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { askTransfer, charge, deliveries, reaches, tell, transfer } from '../support/flows.ts';
import { type Json, list, text } from '../support/json.ts';
import type { Receiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { sleep, until } from '../support/wait.ts';
import { command, including, type Predicate } from '../support/wire.ts';
import {
  expectAnswered,
  expectSettled,
  type Spread,
  spreadLoad,
  tally,
  told,
  trulyUnexpected,
  underLoad,
} from './crowd.ts';
import { held, onProxiedDatabase, startOn, untilReady, withDb } from './stage.ts';

const SEED = 20_260_302;
const OPENING = 1_000_000;
const SOON_MS = 8_000;

interface Scene {
  proxy: TcpProxy;
  receiver: Receiver;
  server: Server;
  truth: Db;
}

function onScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  return onProxiedDatabase(async ({ proxy, receiver, uri, direct }) => {
    const server = await startOn(uri);
    try {
      await withDb(direct, (truth) => body({ proxy, receiver, server, truth }));
    } finally {
      proxy.mode('pass');
      await server.stop();
    }
  });
}

const suite = fixtureSuite<Scene>('network to mongodb', (defer) => held(defer, onScene));
const { test } = suite;

function both(...predicates: Predicate[]): Predicate {
  return (message) => predicates.every((matches) => matches(message));
}

function without(...words: string[]): Predicate {
  return (message) => !words.some((word) => message.includes(word));
}

/** The network's trouble: the answer is lost, or the request never arrives; once, or three times in a row. */
const TROUBLES: readonly [string, (proxy: TcpProxy, which: Predicate) => { sprung: Promise<void> }][] = [
  ['its answer is lost', (proxy, which) => proxy.dropAnswersAfter(which)],
  ['three answers are lost', (proxy, which) => proxy.dropAnswersAfter(which, 3)],
  ['it never arrives', (proxy, which) => proxy.cutBefore(which)],
];

/** The writes of a request, in their order. */
const WRITES: readonly [string, Predicate][] = [
  ['the insert into the journal', command('insert', 'journal')],
  ['the insert of deliveries', command('insert', 'deliveries')],
  ['the insert of transactions', command('insert', 'transactions')],
];

/** So many entries of the account's journal are about this external reference or key. */
async function entriesWith(truth: Db, account: string, reference: string): Promise<number> {
  const batches = await truth.collection('journal').find({ account }).toArray();
  const entries = batches.flatMap((batch) => batch.entries as object[]);
  return entries.filter((entry) => JSON.stringify(entry).includes(`"${reference}"`)).length;
}

function receivedOf(receiver: Receiver, id: string): string[] {
  const own = receiver.requests.filter(({ headers }) => headers['x-transaction-id'] === id);
  return own.map(({ headers }) => String(headers['x-event']));
}

async function attemptsOf(client: Merchant, id: string): Promise<number[][]> {
  const all = await deliveries(client, id);
  return all.map((delivery) =>
    list(delivery, 'attempts').map((attempt) => Number((attempt as { statusCode: Json }).statusCode)),
  );
}

test('whatever happens to a write of a request, the caller gets its 201, and it happened once', async ({
  proxy,
  receiver,
  server,
  truth,
}) => {
  const client = await merchant(server, ['--balance', String(OPENING), '--webhook-url', receiver.url()]);
  let serial = 0;
  for (const [what, which] of WRITES) {
    for (const [trouble, cause] of TROUBLES) {
      serial += 1;
      const about = `${what}, ${trouble}`;
      const { sprung } = cause(proxy, which);
      const created = expectStatus(
        await client.post('/pix-in', { amount: 10_000, externalRef: `c${serial}` }),
        201,
      );
      await sprung;
      const again = cause(proxy, which);
      const sent = await askTransfer(client, 1_007, { idempotencyKey: `t${serial}` });
      assert.is(sent.status, 201, `${about}: ${sent.text}`);
      await again.sprung;
      assert.is(await entriesWith(truth, client.accountId, `c${serial}`), 1, about);
      assert.is(await entriesWith(truth, client.accountId, `t${serial}`), 1, about);
      assert.is(
        await truth.collection('transactions').countDocuments({ externalRef: `c${serial}` }),
        1,
        about,
      );
      assert.equal((await client.get(`/pix-in?externalRef=c${serial}`)).body, created, about);
      assert.is((await askTransfer(client, 1_007, { idempotencyKey: `t${serial}` })).status, 409, about);
      assert.is(await client.balance(), OPENING - serial * 1_057, about);
      for (const id of [text(created, 'id'), text(sent.body, 'id')]) {
        await until(() => receivedOf(receiver, id).length > 0, SOON_MS, `${about}: the event`);
        assert.is(receivedOf(receiver, id).length, 1, `${about}: the event came again`);
      }
    }
  }
  console.log(`${serial * 2} writes cut, of ${WRITES.length} kinds in ${TROUBLES.length} ways`);
  await expectVerified(server);
});

test('a message whose projection is cut off is applied once', async ({ proxy, receiver, server }) => {
  const client = await merchant(server, ['--webhook-url', receiver.url()]);
  let paid = 0;
  for (const [trouble, cause] of TROUBLES) {
    const id = text(await charge(client), 'id');
    const { sprung } = cause(proxy, both(command('update', 'transactions'), including('lastDeliveries')));
    const reply = await tell(client, id, 'PAY', undefined, `pays ${trouble}`);
    assert.is(reply.status, 200, `${trouble}: ${reply.text}`);
    await sprung;
    paid += 1;
    assert.is(await client.balance(), paid * 9_900, trouble);
    const again = await tell(client, id, 'PAY', undefined, `pays ${trouble}`);
    assert.is((again.body as { applied: boolean }).applied, false, trouble);
    await until(() => receivedOf(receiver, id).length >= 2, SOON_MS, `${trouble}: the events`);
    assert.equal(receivedOf(receiver, id), ['pix-in.waiting_payment', 'pix-in.paid'], trouble);
  }
  await expectVerified(server);
});

/** What waits for a clock: an attempt after one that failed, a payout's steps, a refund's turn, an expiry. */
type Waiting = 'retry' | 'payout' | 'refund' | 'expiry';

/** A claim puts a token where none is; a settlement carries the progress, or ends the claim. */
const STEPS: readonly [string, Waiting, Predicate][] = [
  ['a claim of deliveries', 'retry', both(command('update', 'deliveries'), without('attempts'))],
  ['a settlement of deliveries', 'retry', both(command('update', 'deliveries'), including('attempts'))],
  [
    'a claim of orders',
    'refund',
    both(command('update', 'transactions'), including('orders.$.token'), without('$unset')),
  ],
  ['a settlement of orders', 'refund', both(command('update', 'transactions'), including('$pull'))],
  [
    'an end of orders in the write of a message',
    'payout',
    both(command('update', 'transactions'), including('$$patch.pull.orders')),
  ],
  [
    'a claim of timers',
    'expiry',
    both(command('update', 'transactions'), including('timers.$.token'), without('$unset')),
  ],
  [
    'a settlement of timers',
    'expiry',
    both(command('update', 'transactions'), including('timers.$[e].due', '$unset')),
  ],
];

/** Creates what waits; what is returned resolves once it has come about, as often as it should. */
async function begin(
  waiting: Waiting,
  { client, patient }: { client: Merchant; patient: Merchant },
  receiver: Receiver,
): Promise<() => Promise<void>> {
  if (waiting === 'expiry') {
    const id = text(await charge(patient), 'id');
    return async () => void (await reaches(patient, 'pix-in', id, 'expired', SOON_MS));
  }
  if (waiting === 'payout') {
    const id = text(await transfer(client, 1_001), 'id');
    return async () => {
      await reaches(client, 'cashout', id, 'completed', SOON_MS);
      await until(() => receivedOf(receiver, id).length >= 6, SOON_MS, 'three events, each after a failure');
      assert.is(receivedOf(receiver, id).length, 6);
    };
  }
  if (waiting === 'refund') {
    const id = text(await charge(client), 'id');
    expectStatus(await tell(client, id, 'PAY', undefined, `pays ${id}`), 200);
    expectStatus(await client.post(`/pix-in/${id}/refunds`, {}), 201);
    return async () => void (await reaches(client, 'pix-in', id, 'refunded', SOON_MS));
  }
  const id = text(await charge(client), 'id');
  return async () => {
    const isDone = async () =>
      (await deliveries(client, id)).every((one) => text(one, 'status') === 'delivered');
    await until(isDone, SOON_MS, 'the retry');
    assert.equal(await attemptsOf(client, id), [[500, 200]]);
    assert.is(receivedOf(receiver, id).length, 2);
  };
}

test('a claim or a settlement that the network cuts: nothing due is lost, no attempt is recorded twice', async ({
  proxy,
  receiver,
  server,
}) => {
  const seen = new Set<unknown>();
  receiver.answer('/retried', (_nth, { headers }) => {
    const isFirst = !seen.has(headers['idempotency-key']);
    seen.add(headers['idempotency-key']);
    return { status: isFirst ? 500 : 200 };
  });
  const [client, patient] = await Promise.all([
    merchant(server, ['--balance', String(OPENING), '--webhook-url', receiver.url('/retried')]),
    merchant(server, ['--expires-in', '1']),
  ]);
  for (const [what, waiting, which] of STEPS) {
    for (const [trouble, cause] of TROUBLES) {
      const about = `${what}, ${trouble}`;
      const { sprung } = cause(proxy, which);
      const comesAbout = await begin(waiting, { client, patient }, receiver);
      await inTime(SOON_MS, about, sprung);
      await comesAbout().catch((error: unknown) => {
        throw new Error(`${about}: ${String(error)}`);
      });
    }
  }
  console.log(`${STEPS.length} kinds of claims and settlements cut in ${TROUBLES.length} ways`);
  await expectVerified(server);
});

/** What was created before anything is said of it: a load that gets nothing done says nothing. */
const ENOUGH = 21;

function createdOf(samples: Spread['samples']): number {
  return tally(samples)[201] ?? 0;
}

/** After a load: all was answered in time and in the right words, and what was answered is so. */
async function expectCalm(
  { load, samples }: Spread,
  { server, receiver }: Scene,
  path: string,
): Promise<void> {
  assert.equal(trulyUnexpected(load), []);
  expectAnswered(samples);
  assert.ok(createdOf(samples) >= ENOUGH, `only ${createdOf(samples)} were created`);
  await untilReady(server, SOON_MS);
  await expectSettled(load, () => receiver.at(path), server);
}

test('all connections reset at random under load: every request is answered, nothing is lost, nothing twice', async (scene) => {
  const random = randomOf(SEED);
  const path = '/resets';
  const crowd = await spreadLoad([scene.server], scene.receiver.url(path), random);
  let resets = 0;
  await underLoad(crowd.load, 12, async () => {
    const [end, late] = [performance.now() + 6_000, performance.now() + 60_000];
    const isEnough = () => performance.now() > end && createdOf(crowd.samples) >= ENOUGH;
    for (; !isEnough() && performance.now() < late; resets += 1) {
      await sleep(50 + random() * 500);
      scene.proxy.reset();
    }
  });
  console.log(`${resets} resets, ${told(crowd.samples)}`);
  await expectCalm(crowd, scene, path);
});

test('a network that stalls: 503 within seconds, and everything goes on when it flows again', async (scene) => {
  const path = '/stalls';
  const crowd = await spreadLoad([scene.server], scene.receiver.url(path), randomOf(SEED + 1));
  await underLoad(crowd.load, 12, async () => {
    // Once longer than anybody waits: what was sent arrives after all, when its senders have long given up.
    for (const stallMs of [8_000, 2_500]) {
      await sleep(600);
      scene.proxy.mode('stall');
      await sleep(stallMs);
      scene.proxy.mode('pass');
      await untilReady(scene.server, 5_000);
    }
    await sleep(600);
    await until(async () => createdOf(crowd.samples) >= ENOUGH, 60_000, 'enough is created');
  });
  console.log(`2 stalls, ${told(crowd.samples)}`);
  assert.ok((tally(crowd.samples)[503] ?? 0) > 0, 'nobody was refused');
  await expectCalm(crowd, scene, path);
});

suite.run();
