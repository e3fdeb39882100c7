/** A slow database, and a pool of connections that is full: queues are bounded, and everything goes on. */
import * as assert from 'uvu/assert';
import { pagesOfAccounts } from '../../src/engine/store/walks.ts';
import { type AccountDocument, accountDocument } from '../../src/store/mongo/accounts.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { expectVerified, residentBytes } from '../faults/scene.ts';
import { settings } from '../store/contract/builders.ts';
import { type Merchant, merchant, merchants } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge } from '../support/flows.ts';
import { freshDatabase, withProxiedMongod } from '../support/mongodb.ts';
import type { Server } from '../support/server.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { eachOf, sleep } from '../support/wait.ts';
import { command } from '../support/wire.ts';
import { percentile, type Sample, sampled, tally, told } from './crowd.ts';
import { held, probe, startOn, untilReady, withDb } from './stage.ts';

const ROUND_TRIP_MS = 250;
const CLIENTS = 192;
const ACCOUNTS = 24;
const LOAD_MS = 6_000;
const MOST_MORE_BYTES = 250e6;
/** Five round trips in a row, and a queue of a group before each; the rest is for a busy machine. */
const P95_MS = 6_000;

interface Scene {
  proxy: TcpProxy;
  uri: string;
}

async function onScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  await withProxiedMongod({ members: 1 }, async (mongod, [proxy]) => {
    if (proxy === undefined) throw new Error('no proxy');
    const { uri } = await freshDatabase(mongod.uri);
    await body({ proxy, uri });
  });
}

const suite = fixtureSuite<Scene>('slow mongodb', (defer) => held(defer, onScene));
const { test } = suite;

/** A server on the scene; `options` are those of its connection string. */
async function withServer(
  { proxy, uri }: Scene,
  options: string,
  body: (server: Server) => Promise<void>,
): Promise<void> {
  const server = await startOn(`${uri}${options}`);
  try {
    await body(server);
  } finally {
    proxy.latency(0);
    await server.stop();
  }
}

/** Counts requests on their way and lets all of them through. */
function countInserts(proxy: TcpProxy): { stop(): number } {
  let count = 0;
  const isInsert = command('insert', 'journal');
  const counter = proxy.cutBefore((message) => {
    if (isInsert(message)) count += 1;
    return false;
  });
  return {
    stop: () => {
      counter.disarm();
      return count;
    },
  };
}

/** So many clients create charges for a while, each as soon as the one before is answered. */
async function create(clients: readonly Merchant[], width: number, forMs: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const end = performance.now() + forMs;
  await Promise.all(
    Array.from({ length: width }, async (_, index) => {
      const client = sampled(clients[index % clients.length] as Merchant, samples);
      while (performance.now() < end) {
        const reply = await client.post('/pix-in', { amount: 10_000 }).catch(() => null);
        if (reply?.status !== 201) await sleep(100);
      }
    }),
  );
  return samples;
}

function expectBounded(samples: readonly Sample[]): void {
  for (const status of Object.keys(tally(samples))) assert.ok(['201', '503', '504'].includes(status), status);
  assert.ok(percentile(samples, 1) < 30_000, `an answer took ${percentile(samples, 1)} ms`);
}

test('a round trip of 250 ms under 192 clients: groups grow, memory does not, all are answered', async (scene) => {
  const { proxy } = scene;
  await withServer(scene, '', async (server) => {
    const clients = await merchants(server, ACCOUNTS);
    await create(clients, CLIENTS, 1_000);
    const before = residentBytes(server.pid);
    proxy.latency(ROUND_TRIP_MS);
    const counted = countInserts(proxy);
    const samples = await create(clients, CLIENTS, LOAD_MS);
    const inserts = counted.stop();
    const after = residentBytes(server.pid);
    proxy.latency(0);
    const created = tally(samples)[201] ?? 0;
    console.log(`${told(samples)}; ${inserts} inserts of ${(created / inserts).toFixed(1)} charges each`);
    expectBounded(samples);
    assert.ok(created / samples.length > 0.99, `${created} of ${samples.length} were created`);
    assert.ok(percentile(samples, 0.95) < P95_MS, `95 % within ${percentile(samples, 0.95)} ms`);
    assert.ok(created / inserts > 8, `${created / inserts} charges an insert: groups did not grow`);
    if (before !== null && after !== null)
      assert.ok(after - before < MOST_MORE_BYTES, `${Math.round((after - before) / 1e6)} MB more`);
    await eachOf(clients, 8, async (client) => void (await charge(client)));
    await expectVerified(server);
  });
});

test('a database that answers after seconds: refused in time, and nothing waits without a bound', async (scene) => {
  const { proxy } = scene;
  await withServer(scene, '', async (server) => {
    const clients = await merchants(server, ACCOUNTS);
    await create(clients, 32, 500);
    const before = residentBytes(server.pid);
    proxy.latency(4_000);
    const samples = await create(clients, CLIENTS, LOAD_MS);
    const after = residentBytes(server.pid);
    proxy.latency(0);
    console.log(told(samples));
    expectBounded(samples);
    assert.ok((tally(samples)[503] ?? 0) > 0, 'nobody was refused');
    if (before !== null && after !== null)
      assert.ok(after - before < MOST_MORE_BYTES, `${Math.round((after - before) / 1e6)} MB more`);
    await untilReady(server, 10_000);
    await eachOf(clients, 8, async (client) => void (await charge(client)));
    await expectVerified(server);
  });
});

test('a pool of one connection for which nobody waits longer than 50 ms: 503, no hanging, and it recovers', async (scene) => {
  const { proxy, uri } = scene;
  await withServer(scene, '&maxPoolSize=1&waitQueueTimeoutMS=50', async (server) => {
    const client = await merchant(server);
    await charge(client);
    proxy.latency(ROUND_TRIP_MS);
    const samples = await create([client], 32, LOAD_MS);
    const live = await probe(server, 'livez');
    proxy.latency(0);
    console.log(told(samples));
    assert.is(live?.status, 200);
    expectBounded(samples);
    assert.ok((tally(samples)[503] ?? 0) > 0, 'nobody was refused');
    // Several reads and writes in a row, each with its bound.
    assert.ok(percentile(samples, 1) < 15_000, `an answer took ${percentile(samples, 1)} ms`);
    await untilReady(server, 10_000);
    const later = await create([client], 1, 1_000);
    assert.ok((tally(later)[201] ?? 0) > 5, told(later));
    // The look afterwards has a pool as usual: it reads several things at a time.
    await expectVerified({ ...server, env: { ...server.env, MONGODB_URI: uri } });
  });
});

test('more accounts than a read gives within its 5 s are gone through, page by page', async ({
  proxy,
  uri,
}) => {
  const made = Array.from({ length: 6_000 }, () => accountDocument(settings()));
  await withDb(uri, (db) => db.collection<AccountDocument>('accounts').insertMany(made));
  const store = new MongoStore({
    ...{ uri, incarnation: 'reader', silentAfterMs: 5_000, leaseMs: 10_000 },
    onUnusable: (reason) => assert.unreachable(reason),
    onNotice: () => {},
  });
  try {
    await store.ready;
    proxy.latency(1_000);
    const found = new Set<string>();
    for await (const page of pagesOfAccounts(store.accounts, 1_000)) for (const { id } of page) found.add(id);
    assert.ok(made.every(({ _id }) => found.has(_id)));
  } finally {
    proxy.latency(0);
    await store.close();
  }
});

suite.run();
