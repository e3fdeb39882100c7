/** The proxy that other tests break the network with: it does what it says, and nothing else. */
import { connect } from 'node:net';
import { type Collection, MongoClient, type MongoClientOptions } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Mongod, startMongod } from '../../scripts/mongod.ts';
import { persistently, withProxiedMongod } from '../support/mongodb.ts';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { sleep, until } from '../support/wait.ts';
import { command, including, MessageSplitter } from '../support/wire.ts';

const test = suite('tcp proxy');

type Things = Collection<{ _id: number; text?: string }>;

interface Scene {
  proxy: TcpProxy;
  /** Over the proxy. */
  things: Things;
  /** Beside the proxy. */
  truth: Things;
}

let mongod: Mongod;

/** Requests go once, and fail soon. */
const ONCE: MongoClientOptions = { retryWrites: false, retryReads: false, serverSelectionTimeoutMS: 2_000 };

async function onProxy(
  body: (scene: Scene) => Promise<void>,
  options: MongoClientOptions = {},
): Promise<void> {
  const targetPort = mongod.members[0]?.port ?? 0;
  const proxy = await startProxy({ targetPort });
  const uri = (port: number) => `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const far = new MongoClient(uri(proxy.port), { ...ONCE, ...options });
  const near = new MongoClient(uri(targetPort));
  try {
    await Promise.all([far.connect(), near.connect()]);
    const truth = near.db('proxied').collection('things') as unknown as Things;
    await truth.deleteMany({});
    await body({ proxy, truth, things: far.db('proxied').collection('things') as unknown as Things });
  } finally {
    await proxy.close();
    await Promise.all([far.close(), near.close()]);
  }
}

/** A write that may be repeated. */
function put(things: Collection<{ _id: number }>, id: number): Promise<unknown> {
  return things.replaceOne({ _id: id }, {}, { upsert: true, writeConcern: { w: 'majority' } });
}

/** What became of something: its name, or the error's. */
function outcome(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: Error) => error.name,
  );
}

test('the server starts', async () => {
  mongod = await startMongod({ members: 1 });
});

test('messages are found in whatever chunks they come', () => {
  const messages = [16, 40, 17, 1_000].map((length, index) => {
    const message = Buffer.alloc(length, index + 1);
    message.writeInt32LE(length, 0);
    return message;
  });
  const stream = Buffer.concat(messages);
  for (const size of [1, 3, 16, 50, 2_000]) {
    const splitter = new MessageSplitter();
    const found: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(...splitter.push(stream.subarray(at, at + size)));
    assert.equal(found, messages, `chunks of ${size}`);
  }
  assert.throws(() => new MessageSplitter().push(Buffer.from('GET / HTTP/1.1\r\n')), /a message of/);
});

test('everything goes through, large and many at once, in order', async () => {
  await onProxy(async ({ proxy, things, truth }) => {
    const text = 'x'.repeat(3_000_000);
    await Promise.all(Array.from({ length: 60 }, (_, id) => things.insertOne({ _id: id, text })));
    const found = await things.find().sort({ _id: 1 }).toArray();
    assert.equal(
      found.map(({ _id }) => _id),
      Array.from({ length: 60 }, (_, id) => id),
    );
    assert.ok(found.every((thing) => thing.text === text));
    assert.is(await truth.countDocuments(), 60);
    assert.ok(proxy.connections >= 2, `${proxy.connections} connections`);
  });
});

test('an insert whose answer is lost is done, and its client is told of a broken network', async () => {
  await onProxy(async ({ proxy, things, truth }) => {
    await things.insertOne({ _id: 1 });
    const trap = proxy.dropAnswersAfter(command('insert', 'things'));
    // Another command is none of its business.
    assert.is(await things.countDocuments(), 1);
    assert.is(trap.cuts, 0);
    assert.is(await outcome(things.insertOne({ _id: 2 })), 'MongoNetworkError');
    await trap.sprung;
    assert.is(trap.cuts, 1);
    assert.equal(await truth.findOne({ _id: 2 }), { _id: 2 });
    assert.is(await outcome(things.insertOne({ _id: 2 })), 'MongoServerError');
    assert.is(await outcome(things.insertOne({ _id: 3 })), 'done');
  });
});

test('an insert that is cut off before the server is not done', async () => {
  await onProxy(async ({ proxy, things, truth }) => {
    const trap = proxy.cutBefore(including('insert', 'the words'));
    assert.is(await outcome(things.insertOne({ _id: 1 })), 'done');
    assert.is(await outcome(things.insertOne({ _id: 2, text: 'with the words' })), 'MongoNetworkError');
    await trap.sprung;
    assert.is(await truth.countDocuments({ _id: 2 }), 0);
    assert.is(await outcome(things.insertOne({ _id: 2, text: 'with the words' })), 'done');
    const unused = proxy.cutBefore(command('insert', 'things'));
    unused.disarm();
    assert.is(await outcome(things.insertOne({ _id: 3 })), 'done');
    assert.is(unused.cuts, 0);
  });
});

test('a cut can take the driver’s own second try as well', async () => {
  const work = async ({ proxy, things, truth }: Scene): Promise<void> => {
    const once = proxy.dropAnswersAfter(command('insert', 'things'));
    assert.is(await outcome(things.insertOne({ _id: 1 })), 'done', 'the second try is recognised');
    assert.is(once.cuts, 1);
    const twice = proxy.dropAnswersAfter(command('insert', 'things'), 2);
    assert.is(await outcome(things.insertOne({ _id: 2 })), 'MongoNetworkError');
    await twice.sprung;
    assert.is(twice.cuts, 2);
    assert.is(await truth.countDocuments(), 2);
  };
  await onProxy(work, { retryWrites: true });
});

test('the answers after a number of them are lost', async () => {
  await onProxy(async ({ proxy, things }) => {
    const trap = proxy.dropAnswersAfter(3);
    for (let id = 0; trap.cuts === 0 && id < 4; id += 1) await outcome(things.insertOne({ _id: id }));
    await trap.sprung;
    assert.is(trap.cuts, 1);
  });
});

test('what waits in a stalled network arrives once it flows again, even after its client has given up', async () => {
  const work = async ({ proxy, things, truth }: Scene): Promise<void> => {
    await things.insertOne({ _id: 1 });
    proxy.mode('stall');
    const answered = outcome(things.insertOne({ _id: 2 }));
    assert.is(await answered, 'MongoNetworkTimeoutError');
    assert.is(await truth.countDocuments({ _id: 2 }), 0);
    proxy.mode('pass');
    await until(async () => (await truth.countDocuments({ _id: 2 })) === 1, 5_000, 'the late insert');
    await until(async () => (await outcome(things.insertOne({ _id: 3 }))) === 'done', 5_000, 'a new one');
    proxy.mode('stall');
    const short = outcome(things.insertOne({ _id: 4 }));
    await sleep(100);
    proxy.mode('pass');
    assert.is(await short, 'done');
  };
  await onProxy(work, { socketTimeoutMS: 700, heartbeatFrequencyMS: 500 });
});

test('refuse closes what is open and what comes, until it passes again', async () => {
  await onProxy(async ({ proxy, things }) => {
    await things.insertOne({ _id: 1 });
    proxy.mode('refuse');
    await until(() => proxy.connections === 0, 2_000, 'the end of all connections');
    const refused = await outcome(things.insertOne({ _id: 2 }));
    assert.match(refused, /^Mongo(Network|ServerSelection|PoolCleared)/);
    assert.is(proxy.connections, 0);
    proxy.mode('pass');
    await until(async () => (await outcome(things.insertOne({ _id: 3 }))) === 'done', 10_000, 'an insert');
  });
});

test('reset breaks what is under way, and is one', async () => {
  await onProxy(async ({ proxy, things }) => {
    await things.insertOne({ _id: 1 });
    const slow = outcome(things.findOne({ $where: 'sleep(3000) || true' }));
    const bare = connect(proxy.port, '127.0.0.1');
    const broken = new Promise((resolve) => {
      bare.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
    await sleep(300);
    proxy.reset();
    assert.is(await slow, 'MongoNetworkError');
    assert.is(await broken, 'ECONNRESET');
    assert.is(await outcome(things.insertOne({ _id: 2 })), 'done');
  });
});

/** The median of 50 round trips, in milliseconds. */
async function roundTripMs(things: Things): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 50; n += 1) {
    const started = performance.now();
    await things.findOne({ _id: n });
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[25] ?? 0;
}

test('latency makes a round trip longer, and no less goes through', async () => {
  await onProxy(async ({ proxy, things, truth }) => {
    const before = await roundTripMs(things);
    proxy.latency(20);
    const after = await roundTripMs(things);
    assert.ok(after - before > 18 && after - before < 60, `${before} ms, then ${after} ms`);
    const started = performance.now();
    await Promise.all(Array.from({ length: 400 }, (_, id) => things.insertOne({ _id: id })));
    // On a hundred connections; one after the other they would take 8 seconds.
    assert.ok(performance.now() - started < 4_000, `${performance.now() - started} ms`);
    assert.is(await truth.countDocuments(), 400);
    proxy.latency(0);
    assert.ok((await roundTripMs(things)) < after - 10);
  });
});

test('a whole set sits behind proxies, and goes on when one of them is cut off', async () => {
  await withProxiedMongod({ members: 3 }, async (set, proxies) => {
    const client = new MongoClient(set.uri, { serverSelectionTimeoutMS: 20_000 });
    try {
      await client.connect();
      const things = client.db('proxied').collection<{ _id: number }>('things');
      const store = (id: number) => persistently(() => put(things, id));
      await store(1);
      const known = [...(client.options.hosts ?? [])].map(({ port }) => port).sort();
      assert.equal(known, proxies.map(({ port }) => port).sort());
      const first = await set.primary();
      assert.ok((proxies[first]?.connections ?? 0) > 0, 'nobody talks to the primary over its proxy');
      await set.kill(first);
      await store(2);
      await set.restart(first);
      const cut = await set.primary();
      proxies[cut]?.mode('refuse');
      // The primary reaches the others, but they and the clients don't reach it.
      await until(async () => (await set.primary()) !== cut, 30_000, 'another primary');
      await store(3);
    } finally {
      await client.close();
    }
  });
});

test('the server stops', async () => {
  await mongod.stop();
});

test.run();
