/** What the database says of each query that real traffic and the sweeps cause: all go over an index. */
import type { Db, Document } from 'mongodb';
import * as assert from 'uvu/assert';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { callBack } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { askTransfer, charge, deliveries, newEndToEndId, reaches, tell, transfer } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { callbackSecret } from '../support/signature.ts';
import { sleep, until } from '../support/wait.ts';
import { startOn, withDb } from './stage.ts';

const DONE_MS = 15_000;
/** So many as there are processes and jobs: a scan of them is the whole of them. */
const TINY = ['processes', 'jobs'];

/** One thing that the database was asked, of its profile. */
interface Asked {
  what: string;
  collection: string;
  plan: string;
  examined: number;
  returned: number;
  /** After how long the server gives it up, ms; null: never. */
  boundMs: number | null;
}

interface Scene {
  server: Server;
  asked: Asked[];
  /** Commands that ops run, apart: they may read all. */
  askedByOps: Asked[];
}

/** Enough other documents that a plan without an index would show. */
async function fill(server: Server): Promise<void> {
  const other = await merchant(server, ['--balance', '100000000']);
  await Promise.all(
    Array.from({ length: 60 }, (_, n) => charge(other, 10_000, { externalRef: `other ${n}` })),
  );
  await Promise.all(
    Array.from({ length: 40 }, (_, n) => transfer(other, 1_007, { idempotencyKey: `other ${n}` })),
  );
}

async function paidByBank(server: Server, client: Merchant): Promise<void> {
  const id = text(await charge(client), 'id');
  const data = { endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() };
  const message = { id: `bank ${id}`, transactionId: id, type: 'PAY', data };
  const unknown = { ...message, id: 'bank unknown', transactionId: '00000000-0000-4000-8000-000000000000' };
  expectStatus(await callBack(server.root, [message, message, unknown]).then(wrapped), 200);
}

/** Callbacks are answered with a list. */
function wrapped<Reply extends { body: unknown }>(reply: Reply): Reply {
  return { ...reply, body: { results: reply.body } };
}

/** Every endpoint, each of its ways, and what comes of it by itself: deliveries, retries, payouts, an expiry. */
async function traffic(server: Server, receiver: Receiver): Promise<void> {
  const hook = ['--webhook-url', receiver.url()];
  const client = await merchant(server, ['--balance', '1000000', ...hook]);
  const patient = await merchant(server, ['--expires-in', '1', ...hook]);
  const expiring = text(await charge(patient), 'id');
  const paid = text(await charge(client, 10_000, { externalRef: 'mine' }), 'id');
  const completed = text(await transfer(client, 1_001, { idempotencyKey: 'mine' }), 'id');
  await transfer(client, 1_002);
  await askTransfer(client, 1_001, { idempotencyKey: 'mine' });
  await askTransfer(client, 99_999_999);
  await client.get('/pix-in?externalRef=mine');
  await client.get('/pix-in?externalRef=nobody%27s');
  await client.get(`/pix-in?id=${paid}`);
  await client.get(`/cashout?id=${completed}`);
  expectStatus(await client.post(`/sandbox/pix-in/${paid}/pay`), 200);
  await tell(client, paid, 'REFUND', { reason: 'sent back' });
  const protested = text(await charge(client, 10_008), 'id');
  await paidByBank(server, client);
  await reaches(client, 'cashout', completed, 'completed', DONE_MS);
  await reaches(client, 'pix-in', protested, 'chargedback', DONE_MS);
  await reaches(patient, 'pix-in', expiring, 'expired', DONE_MS);
  const reference = text((await client.get(`/cashout?id=${completed}`)).body, 'reference');
  expectStatus(await client.get(`/cashout?reference=${reference}`), 200);
  await client.balance();
  const isDone = async () =>
    (await deliveries(client, paid)).every((one) => text(one, 'status') === 'delivered');
  await until(isDone, DONE_MS, 'the deliveries');
  await fetch(`http://127.0.0.1:${server.adminPort}/metrics`);
  // Heartbeats, and a claim of each kind where nothing is due.
  await sleep(1_500);
}

/** What every server does once the database's clock was set back. */
async function clockSetBack(uri: string): Promise<void> {
  const [silentAfterMs, leaseMs] = [5_000, 10_000];
  const onUnusable = (reason: string): void => assert.unreachable(reason);
  const told = { onUnusable, onNotice: () => {} };
  const store = new MongoStore({ uri, incarnation: 'a'.repeat(12), silentAfterMs, leaseMs, ...told });
  try {
    await store.ready;
    await store.due.rewind(store.now());
  } finally {
    await store.close();
  }
}

/** The commands of ops beside the server. */
async function commands(server: Server): Promise<void> {
  const all = [['account', 'list'], ['attention'], ['verify', '--heads']];
  const { accountId } = await merchant(server);
  const failed = [['list'], ['list', '--account', accountId], ['retry', '--url', 'http://127.0.0.1:9/']];
  for (const args of [...all, ...failed.map((some) => ['deliveries', ...some])]) await cliJson(server, args);
}

function askedOf(entry: Document): Asked {
  const { command = {}, ns = '', op } = entry;
  const collection = String(ns).slice(String(ns).indexOf('.') + 1);
  const name = op === 'command' ? (Object.keys(command)[0] ?? '') : op;
  const filter = command.filter ?? command.q ?? command.pipeline ?? {};
  return {
    what: `${name} ${JSON.stringify(filter).slice(0, 200)}`,
    collection,
    plan: String(entry.planSummary ?? ''),
    examined: Number(entry.docsExamined ?? 0),
    returned: Number(entry.nreturned ?? entry.nMatched ?? 0),
    boundMs: command.maxTimeMS === undefined ? null : Number(command.maxTimeMS),
  };
}

/** What the database was asked while something ran; without what the tests and the profile itself ask. */
async function profiled(db: Db, work: () => Promise<void>): Promise<Asked[]> {
  await db.command({ profile: 2 });
  const from = new Date();
  try {
    await work();
  } finally {
    await db.command({ profile: 0 });
  }
  const entries = await db
    .collection('system.profile')
    .find({ ts: { $gte: from } })
    .toArray();
  return entries
    .filter(({ ns, appName }) => appName === 'pixstate' && !String(ns).endsWith('system.profile'))
    .map(askedOf);
}

const suite = fixtureSuite<Scene>('queries', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const seen = new Set<unknown>();
  receiver.answer('/hook', (_nth, { headers }) => {
    const isFirst = !seen.has(headers['idempotency-key']);
    seen.add(headers['idempotency-key']);
    return { status: isFirst ? 500 : 200 };
  });
  const database = await freshDatabase();
  defer(() => database.drop());
  const server = await startOn(database.uri, { BANK_CALLBACK_SECRET: callbackSecret });
  defer(() => server.stop());
  await fill(server);
  return withDb(database.uri, async (db) => {
    // The profile is a ring of 1 MiB by default, too small for all of it.
    await db.createCollection('system.profile', { capped: true, size: 256 * 1024 * 1024 });
    const asked = await profiled(db, async () => {
      await traffic(server, receiver);
      await clockSetBack(database.uri);
    });
    const askedByOps = await profiled(db, () => commands(server));
    return { server, asked, askedByOps };
  });
});

const { test } = suite;

/** The kinds of questions, with the plans that they had. */
function plansOf(asked: readonly Asked[]): Map<string, Set<string>> {
  const plans = new Map<string, Set<string>>();
  for (const { collection, plan, what } of asked) {
    if (plan === '') continue;
    const kind = `${collection} ${what.split(' ')[0]} ${plan}`;
    plans.set(kind, (plans.get(kind) ?? new Set()).add(what));
  }
  return plans;
}

test('the profile saw all of it', ({ asked }) => {
  const collections = new Set(asked.map(({ collection }) => collection));
  for (const name of ['accounts', 'journal', 'transactions', 'deliveries', 'processes', 'jobs'])
    assert.ok(collections.has(name), `nothing was asked of ${name}`);
  assert.ok(asked.length > 200, `${asked.length} entries`);
  console.log([...plansOf(asked).keys()].sort().join('\n'));
});

test('no query of a request or a sweep scans a collection', ({ asked }) => {
  const scans = asked.filter(
    ({ plan, collection }) => plan.includes('COLLSCAN') && !TINY.includes(collection),
  );
  assert.equal([...new Set(scans.map(({ collection, what }) => `${collection}: ${what}`))], []);
});

test('no query reads many more documents than it needs', ({ asked }) => {
  const wasteful = asked.filter(
    ({ examined, returned, collection }) => examined > 20 + 4 * returned && !TINY.includes(collection),
  );
  const kinds = wasteful.map(
    ({ collection, what, plan, examined }) => `${collection} ${plan} ${examined}: ${what}`,
  );
  assert.equal([...new Set(kinds)], []);
});

test('what its caller gives up is given up by the server, too', ({ asked, askedByOps }) => {
  // Agenda's own reads of its few jobs have no bound.
  const reads = [...asked, ...askedByOps].filter(
    ({ what, collection }) => /^(query|aggregate) /.test(what) && collection !== 'jobs',
  );
  assert.ok(reads.length > 50, `${reads.length} reads`);
  const endless = reads.filter(({ boundMs }) => boundMs === null || boundMs >= 5_000);
  assert.equal([...new Set(endless.map(({ collection, what }) => `${collection}: ${what}`))], []);
});

test('commands of ops: what they scan is told', ({ askedByOps }) => {
  const scans = [...plansOf(askedByOps).keys()].filter((kind) => kind.includes('COLLSCAN'));
  console.log(`scanned by account list, attention and verify: ${scans.sort().join(', ') || 'nothing'}`);
  assert.ok(askedByOps.length > 0);
});

suite.run();
