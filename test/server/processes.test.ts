/** Servers with HTTP threads as processes: their port, their configuration, and their end. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { type ConfigError, canSharePort, readConfig } from '../../src/config.ts';
import { logIn } from '../../src/store/lmdb/files.ts';
import { withFolder, withServer } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { fetchReply, merchant, merchantOf } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { serverEnv } from '../support/server.ts';
import { until } from '../support/wait.ts';

const test = suite('processes with HTTP threads');

const THREADS = canSharePort() ? ['1', '2'] : ['1'];
const ENTRY = ['dist/src/main.js'];

for (const HTTP_THREADS of THREADS) {
  test(`a second server on the port is refused, with ${HTTP_THREADS} and with none of its own`, async () => {
    await withServer({ env: { HTTP_THREADS } }, async (server) => {
      for (const threads of ['0', HTTP_THREADS]) {
        await withFolder(async (folder) => {
          const env = serverEnv(folder, server.port, await freePort(), { HTTP_THREADS: threads });
          const { code, stderr } = await endWithin(spawnNode(ENTRY, env), 15_000);
          assert.is(code, 1, stderr);
          assert.is(
            stderr.trim().split('\n').at(-1),
            `pixstate can't start: port ${server.port} on 127.0.0.1 is in use: another process listens there`,
          );
          assert.is(existsSync(logIn(folder)), false, 'it made a store first');
        });
      }
      assert.is((await fetchReply('GET', `${server.root}/livez`)).status, 200);
    });
  });

  test(`with ${HTTP_THREADS} and PORT=0 one port is chosen, and told`, async () => {
    await withFolder(async (folder) => {
      const env = serverEnv(folder, 0, await freePort(), { HTTP_THREADS, LOG_LEVEL: 'info' });
      const spawned = spawnNode(ENTRY, env);
      try {
        const told = await until(
          () => /"port":(\d+).*"serving"/.exec(spawned.stderr())?.[1],
          15_000,
          'the port',
        );
        for (let count = 0; count < 8; count += 1) {
          const reply = await fetchReply('GET', `http://127.0.0.1:${told}/readyz`, null, {
            connection: 'close',
          });
          assert.is(reply.status, 200);
        }
      } finally {
        spawned.child.kill('SIGTERM');
        assert.is((await endWithin(spawned, 15_000)).code, 0);
      }
    });
  });

  test(`metrics count what ${HTTP_THREADS} of them answered, and the log tells of each answer`, async () => {
    await withServer({ env: { HTTP_THREADS, LOG_LEVEL: 'debug' } }, async (server) => {
      const client = await merchant(server);
      for (let count = 0; count < 20; count += 1) await charge(client);
      const reply = await client.get('/balance', { 'x-request-id': 'asked for' });
      assert.is(reply.headers['x-request-id'], 'asked for');
      const metrics = async (): Promise<string> =>
        (await fetchReply('GET', `http://127.0.0.1:${server.adminPort}/metrics`)).text;
      const counted = 'pixstate_http_request_seconds_count{method="POST",route="/v1/pix-in",status="201"} 20';
      await until(async () => (await metrics()).includes(counted), 5_000, '20 charges');
      const line =
        /"requestId":"asked for","method":"GET","route":"\/v1\/balance","status":200,"ms":[\d.]+,"msg":"answered"/;
      await until(() => line.test(server.stderr()), 5_000, 'the line');
    });
  });
}

test('an account made a moment ago gets in, and what is taken away ends within a second', async () => {
  await withServer({ env: { HTTP_THREADS: THREADS.at(-1) ?? '1' } }, async (server) => {
    // Nobody was here before: the threads know no account.
    const one = merchantOf(server, await cliJson(server, ['account', 'create']));
    await until(async () => (await one.get('/balance')).status === 200, 1_000, 'the new account');
    const changes: [string[], number][] = [
      [['account', 'set', one.accountId, '--status', 'inactive'], 403],
      [['account', 'set', one.accountId, '--status', 'active'], 200],
      [['account', 'set', one.accountId, '--allow-ip', '192.0.2.1'], 403],
      [['account', 'set', one.accountId, '--allow-ip', '127.0.0.1'], 200],
      [['account', 'rotate-secret', one.accountId], 401],
    ];
    for (const [command, status] of changes) {
      await cliJson(server, command);
      const settled = Date.now() + 1_000;
      // Every connection, whichever thread has it.
      await until(async () => (await one.get('/balance')).status === status, 1_000, command.join(' '));
      while (Date.now() < settled) await one.get('/balance');
      for (let count = 0; count < 16; count += 1)
        assert.is((await one.get('/balance', { connection: 'close' })).status, status);
    }
  });
});

const CAUSES: [string, string][] = [
  ['error', 'broken on purpose'],
  ['memory', 'Worker terminated due to reaching memory limit: JS heap out of memory'],
];
for (const [FAIL_BY, cause] of CAUSES) {
  test(`threads that die again and again end the process, with a line (${FAIL_BY})`, async () => {
    await withFolder(async (folder) => {
      const entry = ['--max-old-space-size=128', '--import', './test/server/fragile-threads.js', ...ENTRY];
      const env = serverEnv(folder, await freePort(), await freePort(), { HTTP_THREADS: '1', FAIL_BY });
      const { code, stderr } = await endWithin(spawnNode(entry, env), 40_000);
      assert.is(code, 1, stderr);
      const last = `pixstate stops: HTTP threads have died 3 times within 60 s, the last one of: ${cause}\n`;
      assert.ok(stderr.includes(last), stderr);
      assert.is(stderr.split('an HTTP thread failed and is started again').length, 3);
    });
  });
}

test('the engine has room for short-lived objects, and its threads have less', async () => {
  const entry = ['--max-semi-space-size=32', '--import', './test/server/roomy-threads.js', ...ENTRY];
  await withServer({ entry, env: { HTTP_THREADS: '1' } }, async (server) => {
    const told = (): [thread: number, megabytes: number][] =>
      [...server.stderr().matchAll(/young generation: (\d+) of (\d+)/g)].map((line) => [
        Number(line[2]),
        Number(line[1]),
      ]);
    // The engine's, and at least those of the webhooks and of HTTP.
    const sizes = await until(() => (told().length >= 3 ? told() : undefined), 10_000, 'three threads');
    for (const [thread, size] of sizes) {
      // Half of it is free for what moves out of the other half; the engine's 32 MB are reached at 64 in all.
      if (thread === 0) assert.ok(size > 16, `the engine has ${size} MB`);
      else assert.ok(size <= 16, `thread ${thread} has ${size} MB`);
    }
  });
});

test('without a word HTTP has a thread where it has a core', () => {
  assert.is(readConfig({}).httpThreads, availableParallelism() > 1 ? 1 : 0);
  assert.is(readConfig({ HTTP_THREADS: '0' }).httpThreads, 0);
});

test('a database on the same machine has a core of its own before HTTP has one', () => {
  const threadsWith = (MONGODB_URI: string, more: Record<string, string> = {}): number =>
    readConfig({ MONGODB_URI, SECRETS_KEY: Buffer.alloc(32).toString('base64'), ...more }).httpThreads;
  const here = [
    'mongodb://127.0.0.1:27017/pixstate?replicaSet=rs0',
    'mongodb://localhost',
    'mongodb://somebody:some%40thing@LOCALHOST:27017/?directConnection=true',
    'mongodb://[::1]:27017,127.0.0.2:27018',
    'mongodb://%2Ftmp%2Fmongodb-27017.sock/pixstate',
  ];
  const elsewhere = [
    'mongodb://db.example.com:27017/pixstate',
    'mongodb://localhost:27017,db.example.com:27017',
    'mongodb://localhost:secret@db.example.com/pixstate',
    'mongodb://127.0.0.1.example.com',
    'mongodb://10.0.0.7/localhost',
    'mongodb+srv://localhost.example.com',
  ];
  for (const uri of here) assert.is(threadsWith(uri), availableParallelism() > 2 ? 1 : 0, uri);
  for (const uri of elsewhere) assert.is(threadsWith(uri), availableParallelism() > 1 ? 1 : 0, uri);
  assert.is(threadsWith(here[0] ?? '', { HTTP_THREADS: '1' }), 1);
});

test('blanks at an end of DATA_DIR are a mistake, and no new store', () => {
  for (const DATA_DIR of [' ', ' data', './data ', '\u00a0data'])
    try {
      readConfig({ DATA_DIR });
      assert.unreachable(DATA_DIR);
    } catch (error) {
      assert.equal((error as ConfigError).mistakes, [
        `DATA_DIR must be a folder's name without blanks at its ends, not "${DATA_DIR}"`,
      ]);
    }
  assert.is(readConfig({ DATA_DIR: './my data' }).dataDir, './my data');
});

test('an address that is none of this machine’s is told by its variable', async () => {
  for (const HTTP_THREADS of ['0', ...THREADS])
    await withFolder(async (folder) => {
      // Of a block that is nobody's.
      const env = serverEnv(folder, 0, await freePort(), { HTTP_THREADS, HOST: '203.0.113.7' });
      const { code, stderr } = await endWithin(spawnNode(ENTRY, env), 15_000);
      assert.is(code, 1, stderr);
      assert.match(stderr, /port 0 on 203\.0\.113\.7 can't be listened on: EADDRNOTAVAIL; is HOST right\?$/m);
    });
});

test('what can be no host’s name is a mistake, which names its variable', () => {
  for (const name of ['HOST', 'ADMIN_HOST'])
    for (const value of [' ', 'a b', '127.0.0.1/24', 'http://localhost'])
      try {
        readConfig({ [name]: value });
        assert.unreachable(value);
      } catch (error) {
        assert.equal((error as ConfigError).mistakes, [
          `${name} must be the name or the address of a host, not "${value}"`,
        ]);
      }
  for (const HOST of ['::', '0.0.0.0', 'localhost', 'pix-1.internal'])
    assert.is(readConfig({ HOST }).host, HOST);
});

test('a value with the end of a Windows line is one mistake, which shows no secret', () => {
  for (const [name, value] of [
    ['DATA_DIR', './data'],
    ['PORT', '3000'],
    ['LOG_LEVEL', 'info'],
    ['SECRETS_KEY', Buffer.alloc(32).toString('base64')],
  ] as const)
    try {
      readConfig({ [name]: `${value}\r` });
      assert.unreachable(name);
    } catch (error) {
      assert.equal((error as ConfigError).mistakes, [
        `${name} must not have control characters, such as the end of a Windows line`,
      ]);
    }
});

test('what the configuration does not allow is told with all other mistakes', async () => {
  const wrong = ['17', '-1', 'x', ...(canSharePort() ? [] : ['2'])];
  for (const HTTP_THREADS of wrong) {
    const spawned = spawnNode(ENTRY, { HTTP_THREADS, PORT: 'x' });
    const { code, stderr } = await endWithin(spawned, 10_000);
    assert.is(code, 2, stderr);
    assert.match(stderr, 'the configuration has 2 mistakes');
    assert.match(
      stderr,
      HTTP_THREADS === '2' ? /HTTP_THREADS above 1 needs Node 22\.12/ : /HTTP_THREADS must be a whole number/,
    );
  }
});

test.run();
