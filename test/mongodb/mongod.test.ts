/** The script that gives the other tests their server: what it starts works, and ends with whoever started it. */
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Collection, type Document, MongoClient } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Mongod, startMongod } from '../../scripts/mongod.ts';
import { persistently, withMongod } from '../support/mongodb.ts';
import { endWithin, type Spawned, spawnNode } from '../support/process.ts';
import { until } from '../support/wait.ts';

const test = suite('mongod');

const COMMAND_MS = 60_000;
/** An election after 2 seconds without a word; the rest is for a busy machine. */
const ELECTED_MS = 15_000;

async function withClient<Value>(uri: string, work: (client: MongoClient) => Promise<Value>): Promise<Value> {
  const client = await new MongoClient(uri, { serverSelectionTimeoutMS: ELECTED_MS }).connect();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** A write that may be repeated. */
function put(things: Collection<{ _id: number }>, id: number): Promise<unknown> {
  return things.replaceOne({ _id: id }, {}, { upsert: true, writeConcern: { w: 'majority' } });
}

function hello(mongod: Mongod, index: number): Promise<Document> {
  const port = mongod.members[index]?.port;
  return withClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, (client) =>
    client.db('admin').command({ hello: 1 }),
  );
}

/** A process that runs; one that was killed and that nobody has asked about yet doesn't (proc(5), state Z). */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The members as they are now, for later. */
function remains(mongod: Mongod): { pid: number; dir: string }[] {
  return mongod.members.map(({ pid, dir }) => ({ pid, dir }));
}

function expectGone(members: readonly { pid: number; dir: string }[]): void {
  for (const { pid, dir } of members) {
    assert.is(runs(pid), false, `process ${pid} still runs`);
    assert.is(existsSync(dir), false, `${dir} is still there`);
  }
}

test('a standalone server stores, and leaves no process and no folder', async () => {
  const mongod = await startMongod({ members: 'standalone' });
  const started = remains(mongod);
  try {
    assert.is(started.length, 1);
    assert.is(await mongod.primary(), 0);
    await withClient(mongod.uri, async (client) => {
      const things = client.db('some').collection<{ _id: number }>('things');
      await things.insertOne({ _id: 1 });
      assert.equal(await things.findOne(), { _id: 1 });
      assert.is((await client.db('admin').command({ hello: 1 })).setName, undefined);
    });
  } finally {
    await mongod.stop();
  }
  expectGone(started);
  await mongod.stop();
});

test('a set of one comes back after kill -9 with what it had acknowledged', async () => {
  await withMongod({ members: 1, setParameters: { ttlMonitorSleepSecs: '1' } }, async (mongod) => {
    await withClient(mongod.uri, async (client) => {
      const parameter = await client.db('admin').command({ getParameter: 1, ttlMonitorSleepSecs: 1 });
      assert.is(parameter.ttlMonitorSleepSecs, 1);
      const things = client.db('some').collection<{ _id: number }>('things');
      await things.insertOne({ _id: 1 }, { writeConcern: { w: 'majority' } });
      const { pid } = mongod.members[0] ?? { pid: 0 };
      await mongod.kill(0);
      assert.is(runs(pid), false);
      assert.is(mongod.members[0]?.pid, -1);
      await mongod.restart(0);
      assert.is(await mongod.primary(), 0);
      assert.is.not(mongod.members[0]?.pid, pid);
      assert.equal(await things.findOne(), { _id: 1 });
    });
  });
});

test('a set of three elects another primary after kill -9 and after SIGSTOP, and takes the old one back', async () => {
  const mongod = await startMongod({ members: 3 });
  try {
    await withClient(mongod.uri, async (client) => {
      const things = client.db('some').collection<{ _id: number }>('things');
      const store = (id: number) => persistently(() => put(things, id));
      await store(1);

      const first = await mongod.primary();
      await mongod.kill(first);
      const killedAt = performance.now();
      const second = await mongod.primary();
      assert.is.not(second, first);
      assert.ok(performance.now() - killedAt < ELECTED_MS, 'the election took too long');
      await store(2);
      await mongod.restart(first);
      const isSecondary = async () => (await hello(mongod, first)).secondary === true;
      await until(isSecondary, ELECTED_MS, 'the old primary as a secondary');

      mongod.freeze(second);
      const frozenAt = performance.now();
      const third = await mongod.primary();
      assert.is.not(third, second);
      assert.ok(performance.now() - frozenAt < ELECTED_MS, 'the second election took too long');
      mongod.thaw(second);
      // For a moment it still believes in itself; it doesn't count.
      assert.is(await mongod.primary(), third);
      await store(3);
      assert.is(await things.countDocuments(), 3);
    });
    mongod.freeze(await mongod.primary());
  } finally {
    const running = remains(mongod);
    await mongod.stop();
    expectGone(running);
  }
});

test('a start that fails says why and leaves nothing', async () => {
  const told = await startMongod({ members: 1, setParameters: { noSuchParameter: '1' } }).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(told, /noSuchParameter/);
});

/** The members' processes and folders, as they say themselves. */
async function membersOf(uri: string): Promise<{ pid: number; dir: string }[]> {
  const hosts = /\/\/([^/]+)/.exec(uri)?.[1]?.split(',') ?? [];
  return Promise.all(
    hosts.map((host) =>
      withClient(`mongodb://${host}/?directConnection=true`, async (client) => {
        const admin = client.db('admin');
        const options = await admin.command({ getCmdLineOpts: 1 });
        const dir = dirname(String(options.parsed.storage.dbPath));
        return { pid: Number((await admin.command({ serverStatus: 1 })).pid), dir };
      }),
    ),
  );
}

async function uriOf(spawned: Spawned): Promise<string> {
  return until(() => /^(mongodb:\S+)\n/.exec(spawned.stdout())?.[1], COMMAND_MS, 'a connection string');
}

test('start prints where it is, and SIGTERM, SIGINT and even SIGKILL end the server with it', async () => {
  for (const [signal, code] of [
    ['SIGTERM', 0],
    ['SIGINT', 0],
    ['SIGKILL', null],
  ] as const) {
    const spawned = spawnNode(['--import', 'tsx', 'scripts/mongod.ts', 'start', '--members', '1'], {});
    const members = await membersOf(await uriOf(spawned));
    assert.is(members.length, 1);
    spawned.child.kill(signal);
    assert.is((await endWithin(spawned, COMMAND_MS)).code, code);
    await until(() => !members.some(({ pid }) => runs(pid)), 5_000, `the end of mongod after ${signal}`);
    // Nobody is left who could remove the folder of a process that was killed.
    if (signal === 'SIGKILL') for (const { dir } of members) await rm(dir, { recursive: true });
    expectGone(members);
  }
});

test('run gives the server to a command, exits as it does, and passes on a signal', async () => {
  const words = ['--import', 'tsx', 'scripts/mongod.ts', 'run', '--members', 'standalone', '--'];
  const script = 'console.log(process.env.MONGODB_TEST_URI); process.exitCode = 7';
  const done = await endWithin(spawnNode([...words, process.execPath, '-e', script], {}), COMMAND_MS);
  assert.is(done.code, 7, done.stderr);
  assert.match(done.stdout, /^mongodb:\/\/127\.0\.0\.1:\d+\/\n$/);

  const waits = `${script}; setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(3))`;
  const spawned = spawnNode([...words, process.execPath, '-e', waits], {});
  const members = await membersOf(await uriOf(spawned));
  spawned.child.kill('SIGTERM');
  assert.is((await endWithin(spawned, COMMAND_MS)).code, 3);
  expectGone(members);
});

test('run --unless-given leaves a server that was named alone', async () => {
  const words = ['--import', 'tsx', 'scripts/mongod.ts', 'run', '--unless-given', '--', process.execPath];
  const given = 'mongodb://somewhere.example/';
  const script = 'console.log(process.env.MONGODB_TEST_URI)';
  const spawned = spawnNode([...words, '-e', script], { MONGODB_TEST_URI: given });
  assert.is((await endWithin(spawned, COMMAND_MS)).stdout, `${given}\n`);
});

test('wrong words exit with 2 and the usage', async () => {
  for (const words of [[], ['nonsense'], ['run'], ['start', '--members', '2'], ['start', '--nonsense']]) {
    const spawned = spawnNode(['--import', 'tsx', 'scripts/mongod.ts', ...words], {});
    const { code, stderr } = await endWithin(spawned, COMMAND_MS);
    assert.is(code, 2, `${words.join(' ')}: ${stderr}`);
    assert.match(stderr, /usage:/);
  }
});

test.run();
