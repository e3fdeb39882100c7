/** What a start says where its database can't be used, or not safely: one clear line, and never a password. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { call, startConsole, visitor } from '../console/visitor.ts';
import { cli } from '../support/cli.ts';
import { fetchReply, merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { freshDatabase, testUri, withMongod } from '../support/mongodb.ts';
import { type Env, endWithin, type Outcome, spawnNode, temporaryFolder } from '../support/process.ts';
import { serverEnv } from '../support/server.ts';
import { withDatabase } from '../support/store.ts';
import { sleep, until } from '../support/wait.ts';
import { including } from '../support/wire.ts';
import { type User, withGuarded, withOld } from './other-servers.ts';
import { envOn, logLines, onProxiedDatabase, startOn, untilReady, withDb } from './stage.ts';

const test = suite('start on mongodb');

const SECRET = 'geh3im-und-lang';
const ENDED_MS = 15_000;

/** The environment of a process that nobody waits for. */
async function withEnv<Value>(env: Env, body: (env: Env) => Promise<Value>): Promise<Value> {
  const folder = await temporaryFolder();
  try {
    return await body(serverEnv(folder, await freePort(), await freePort(), env));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A server that can't start: how it ended. */
function failed(env: Env): Promise<Outcome> {
  return withEnv({ LOG_LEVEL: 'trace', ...env }, (all) =>
    endWithin(spawnNode(['dist/src/main.js'], all), ENDED_MS),
  );
}

function expectNoSecret(output: string, secrets: readonly string[] = [SECRET]): void {
  for (const secret of secrets) {
    assert.is(output.includes(secret), false, `a password is shown: ${output.slice(0, 1_000)}`);
    const encoded = encodeURIComponent(secret);
    assert.is(output.includes(encoded), false, `a password is shown: ${output.slice(0, 1_000)}`);
  }
}

/** One line, for a person, that says what is wrong. */
function expectOneLine({ stdout, stderr }: Outcome, what: RegExp, secrets?: readonly string[]): void {
  assert.match(stderr, what);
  assert.is(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.is(/\bat .+:\d+:\d+|node_modules/.test(stderr), false, `a stack is shown: ${stderr}`);
  assert.is(stdout, '');
  expectNoSecret(stderr, secrets);
}

/** Connection strings that are none, each with a password in it. */
const MALFORMED: readonly string[] = [
  `postgres://user:${SECRET}@127.0.0.1/pixstate`,
  `mongodb:/user:${SECRET}@127.0.0.1/pixstate`,
  `mongodb://user:${SECRET}@/pixstate`,
  `mongodb://user:${SECRET}@127.0.0.1:notaport/pixstate`,
  `mongodb://user:${SECRET}@127.0.0.1:99999/pixstate`,
  `mongodb://user:${SECRET}@127.0.0.1,/pixstate`,
  `mongodb://user:${SECRET}@127.0.0.1/pixstate?replicaSet=rs0&maxPoolSize=many`,
  `mongodb://user:${SECRET}@127.0.0.1/pixstate?nosuchoption=1`,
  `mongodb://user:${SECRET}@127.0.0.1/pixstate?tls=perhaps`,
  `mongodb://user:${SECRET}/more@127.0.0.1/pixstate`,
  `mongodb://user:${SECRET}@more@127.0.0.1/pixstate`,
  `mongodb://user:${SECRET}%zz@127.0.0.1/pixstate`,
  `mongodb+srv://user:${SECRET}@one.example.invalid:27017/pixstate`,
  `  mongodb://user:${SECRET}@127.0.0.1/pixstate`,
  `mongodb://user:${SECRET}@127.0.0.1/pixstate?minPoolSize=9&maxPoolSize=8`,
];

for (const uri of MALFORMED) {
  test(`a connection string that is none: ${uri.replace(SECRET, '...')}`, async () => {
    const outcome = await failed(envOn(uri));
    assert.ok(outcome.code === 1 || outcome.code === 2, `exit ${outcome.code}: ${outcome.stderr}`);
    assert.match(outcome.stderr, /MONGODB_URI/);
    // A mistake of the configuration has a heading of its own.
    assert.ok(outcome.stderr.trimEnd().split('\n').length <= 2, outcome.stderr);
    assert.is(/\bat .+:\d+:\d+|node_modules/.test(outcome.stderr), false, outcome.stderr);
    expectNoSecret(outcome.stderr + outcome.stdout);
  });
}

test('no SECRETS_KEY, or one that is none', async () => {
  for (const key of ['', 'short', SECRET]) {
    const outcome = await failed({ ...envOn('mongodb://127.0.0.1:1/x'), SECRETS_KEY: key });
    assert.is(outcome.code, 2, outcome.stderr);
    assert.match(outcome.stderr, /SECRETS_KEY must be/);
    expectNoSecret(outcome.stderr);
  }
});

test('a database that nobody reaches: it is said without the password, at every level of the log', async () => {
  const uri = `mongodb://user:${SECRET}@127.0.0.1:1,127.0.0.1:2/pixstate?replicaSet=rs0`;
  await withEnv(envOn(uri, { LOG_LEVEL: 'trace' }), async (env) => {
    const spawned = spawnNode(['dist/src/main.js'], env);
    const isTold = () => spawned.stderr().includes("database can't be reached");
    await until(isTold, ENDED_MS, 'a line about it');
    await sleep(2_000);
    spawned.child.kill('SIGTERM');
    const { code, stderr, stdout } = await endWithin(spawned, ENDED_MS);
    assert.is(code, 0, stderr);
    expectNoSecret(stderr + stdout);
    const command = await cli(env.DATA_DIR ?? '', ['account', 'list', '--json'], env);
    assert.is(command.code, 1);
    expectNoSecret(command.stdout + command.stderr);
  });
});

const DATABASE = 'pixstate_guarded';
const USERS = {
  writer: { name: 'writer', password: `${SECRET}-1`, roles: [{ role: 'readWrite', db: DATABASE }] },
  reader: { name: 'reader', password: `${SECRET}-2`, roles: [{ role: 'read', db: DATABASE }] },
  stranger: { name: 'stranger', password: `${SECRET}-3`, roles: [{ role: 'readWrite', db: 'another' }] },
} satisfies Record<string, User>;

test('a wrong password, an unknown user, and rights that don’t suffice end the start; a command too', async () => {
  await withGuarded(Object.values(USERS), async ({ port, uri }) => {
    const wrong: [string, string, RegExp][] = [
      ['a wrong password', uri({ name: 'writer', password: `${SECRET}-x` }, DATABASE), /user or password/],
      ['an unknown user', uri({ name: 'nobody', password: SECRET }, DATABASE), /user or password/],
      ['only read rights', uri(USERS.reader, DATABASE), /lacks rights/],
      ['rights elsewhere', uri(USERS.stranger, DATABASE), /lacks rights/],
      ['no user at all', `mongodb://127.0.0.1:${port}/${DATABASE}`, /lacks rights/],
    ];
    for (const [name, where, what] of wrong) {
      const outcome = await failed(envOn(where));
      assert.is(outcome.code, 1, `${name}: ${outcome.stderr}`);
      expectOneLine(outcome, what);
      await withEnv(envOn(where), async (env) => {
        const command = await cli(env.DATA_DIR ?? '', ['account', 'create'], env);
        assert.is(command.code, 1, `${name}: ${command.stdout}`);
        assert.match(command.stderr, what);
        expectNoSecret(command.stdout + command.stderr);
      });
    }
    const server = await startOn(uri(USERS.writer, DATABASE), { LOG_LEVEL: 'trace' });
    try {
      await charge(await merchant(server));
      expectNoSecret(server.stderr() + server.stdout());
    } finally {
      assert.is(await server.stop(), 0);
    }
  });
});

test('a start into the middle of a trouble goes on by itself', async () => {
  await onProxiedDatabase(async ({ proxy, uri, direct }) => {
    // Its collections and indexes are there.
    await (await startOn(direct)).stop();
    let since: number | null = null;
    const [indexes, accounts] = [including('listIndexes'), including('accounts')];
    const [hello, former] = [including('hello'), including('ismaster')];
    proxy.cutBefore((message) => {
      if (since === null && indexes(message) && accounts(message)) since = performance.now();
      const isTrouble = since !== null && performance.now() - since < 3_000;
      return isTrouble && (hello(message) || former(message));
    }, 100_000);
    await withEnv(envOn(uri), async (env) => {
      const server = spawnNode(['dist/src/main.js'], env);
      try {
        const root = `http://127.0.0.1:${env.PORT}`;
        await untilReady({ root }, 40_000);
        assert.ok(since !== null, 'there was no trouble');
      } finally {
        server.child.kill('SIGTERM');
        await server.ended;
      }
    });
  });
});

test('a name that can’t be a database’s ends the start', async () => {
  for (const name of ['with%20blanks', 'with.dots', 'with%24dollars', 'x'.repeat(64)]) {
    const outcome = await failed(envOn(withDatabase(testUri(), name)));
    // The driver knows of dots by itself: a mistake of the configuration, which has a heading.
    const isMistake = name === 'with.dots';
    assert.is(outcome.code, isMistake ? 2 : 1, `${name}: ${outcome.stderr}`);
    const stderr = isMistake ? outcome.stderr.replace(/^.* has a mistake\n/, '') : outcome.stderr;
    expectOneLine({ ...outcome, stderr }, isMistake ? /MONGODB_URI must be .*Database names/ : /./);
  }
});

test('a server that is too old ends the start', async () => {
  for (const [version, wire] of [
    ['4.4.29', 9],
    ['5.0.31', 13],
    ['3.6.23', 6],
  ] as const) {
    await withOld(version, wire, async (port) => {
      const outcome = await failed(envOn(`mongodb://127.0.0.1:${port}/pixstate`));
      assert.is(outcome.code, 1, `${version}: ${outcome.stderr}`);
      // Of the oldest ones the driver itself knows.
      expectOneLine(
        outcome,
        wire < 8 ? /can't be used/ : new RegExp(`6\\.0 or newer.*${version.replaceAll('.', '\\.')}`),
      );
    });
  }
});

test('whatever a connection string says of pools, the server and its console are there', async () => {
  for (const pool of ['minPoolSize=40', 'minPoolSize=10', 'maxPoolSize=4&waitQueueTimeoutMS=100']) {
    const database = await freshDatabase();
    try {
      const uri = `${database.uri}${database.uri.includes('?') ? '&' : '?'}${pool}`;
      const server = await startOn(uri, { CONSOLE: 'on' });
      try {
        await charge(await merchant(server), 1_000);
        // The console has connections of its own.
        const isThere = async (): Promise<boolean> => (await call(server, 'GET', '/me')).status === 401;
        await until(isThere, ENDED_MS, `the console's store is there, with ${pool}`);
      } finally {
        await server.stop();
      }
    } finally {
      await database.drop();
    }
  }
});

test('verify says that an index is gone, not that the store is at fault, and the next start makes it', async () => {
  const database = await freshDatabase();
  try {
    const server = await startOn(database.uri);
    try {
      await charge(await merchant(server));
    } finally {
      await server.stop();
    }
    await withDb(database.uri, (db) => db.collection('transactions').dropIndex('account_externalRef'));
    const { code, stdout, stderr } = await cli(server, ['verify']);
    assert.is(code, 1);
    assert.is(stdout, '');
    assert.match(stderr, /^error: the database lacks an index: the next start of a server/);
    assert.is(stderr.trimEnd().split('\n').length, 1, stderr);
    await server.restart();
    await server.stop();
    assert.is((await cli(server, ['verify'])).code, 0);
  } finally {
    await database.drop();
  }
});

test('a server whose console lacks an index says so in its log, and serves all else', async () => {
  const database = await freshDatabase();
  try {
    const server = await startConsole({ env: envOn(database.uri, { LOG_LEVEL: 'warn' }) });
    try {
      const client = await merchant(server);
      const { get } = await visitor(server);
      assert.is((await get('/now')).status, 200);
      await withDb(database.uri, (db) => db.collection('transactions').dropIndex('timers_due'));
      const isAway = async (): Promise<boolean> => (await get('/now')).status === 503;
      await until(isAway, ENDED_MS, 'the first page is not read');
      for (let time = 0; time < 3; time += 1) assert.is((await get('/now')).status, 503);
      const told = logLines(server.stderr()).filter(({ msg }) => /lacks an index/.test(String(msg)));
      assert.is(told.length, 1, server.stderr());
      await charge(client, 1_000);
      assert.is((await fetchReply('GET', `${server.root}/readyz`)).status, 200);
      await server.restart();
      const again = await visitor(server);
      assert.is((await again.get('/now')).status, 200);
    } finally {
      await server.stop();
    }
  } finally {
    await database.drop();
  }
});

const PARKED = 2_500;

test('a server starts whatever is parked, and nothing is parked then', async () => {
  const database = await freshDatabase();
  try {
    await (await startOn(database.uri)).stop();
    const client = await new MongoClient(database.uri).connect();
    try {
      const at = new Date(Date.now() + 3_600_000);
      const element = (index: number): object => ({ at, id: `x.${index}`, due: at, parked: true });
      const transactions = client.db(database.name).collection<{ _id: string }>('transactions');
      await transactions.insertMany(
        Array.from({ length: PARKED }, (_, index) => ({
          ...{ _id: randomUUID(), account: 'acc_x', type: 'pix-in', order: index, seq: 1, seqs: [1] },
          ...{ status: 'waiting_payment', timers: [{ name: 'later', ...element(index) }] },
        })),
      );
      const parked = (): Promise<number> => transactions.countDocuments({ 'timers.parked': true });
      assert.is(await parked(), PARKED);
      const server = await startOn(database.uri);
      try {
        assert.is(await parked(), 0);
      } finally {
        await server.stop();
      }
    } finally {
      await client.close();
    }
  } finally {
    await database.drop();
  }
});

test('a standalone server serves, with one warning that says what is not guaranteed', async () => {
  await withMongod({ members: 'standalone' }, async (mongod) => {
    const { uri } = await freshDatabase(mongod.uri);
    const server = await startOn(uri);
    try {
      await charge(await merchant(server));
      await sleep(3_000);
      const warnings = logLines(server.stderr());
      assert.is(warnings.length, 1, server.stderr());
      assert.match(String(warnings[0]?.msg), /standalone/);
      assert.match(String(warnings[0]?.msg), /lost/);
      await server.restart();
      assert.is(logLines(server.stderr()).length, 1, server.stderr());
    } finally {
      assert.is(await server.stop(), 0);
    }
  });
});

test.run();
