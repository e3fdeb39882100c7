import { rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { cliJson } from '../support/cli.ts';
import { basic, fetchReply, type Merchant, merchant } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { askTransfer, charge, events, reaches, shown, transfer } from '../support/flows.ts';
import { at, isObject, type Json, list, parseJson, text } from '../support/json.ts';
import { type Env, endWithin, type Outcome, spawnNode, temporaryFolder } from '../support/process.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import { type Server, type ServerOptions, serverEnv, startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';

const test = suite('lifecycle');

/** For what is about the data folder, whichever store the other tests are on. */
const embedded: Env = { MONGODB_URI: '' };

/** What was claimed by a process that died goes on within 5 seconds of readiness. */
const resumedMs = 5_000;

async function withServer(options: ServerOptions, body: (server: Server) => Promise<void>): Promise<void> {
  const server = await startServer(options);
  try {
    await body(server);
  } finally {
    await server.stop();
  }
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts a server that must not come up, and waits for its end. */
async function failsToStart(dataDir: string, env: Env, timeoutMs: number): Promise<Outcome> {
  const spawned = spawnNode(
    ['dist/src/main.js'],
    serverEnv(dataDir, await freePort(), await freePort(), env),
  );
  const outcome = await endWithin(spawned, timeoutMs);
  assert.is.not(outcome.code, 0, 'it ended as if all were well');
  assert.is.not(outcome.code, null, 'a signal ended it');
  return outcome;
}

async function expectVerified(server: Server): Promise<void> {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
}

test('all mistakes of the configuration are listed at once', async () => {
  await withFolder(async (folder) => {
    const mistakes: Env = {
      PORT: 'abc',
      LOG_LEVEL: 'loud',
      BANK: 'no such bank',
      SANDBOX_DELAY_MS: '-5',
      ALLOW_PRIVATE_WEBHOOKS: 'perhaps',
      TRUSTED_PROXY_HOPS: 'two',
      CHARGE_EXPIRY_S: 'tomorrow',
      STUCK_AFTER_S: '-1',
      BANK_CALLBACK_SECRET: 'not a secret',
      SECRETS_KEY: 'too short',
      ADMIN_PORT: '70000',
      WEBHOOK_RETRY_SCALE: 'fast',
    };
    const { stdout, stderr } = await failsToStart(folder, mistakes, 10_000);
    for (const name of Object.keys(mistakes)) {
      assert.ok(`${stderr}${stdout}`.includes(name), `${name} is not named in: ${stderr}${stdout}`);
    }
  });
});

test('a port that is taken ends the server with a word on it', async () => {
  await withServer({}, async (server) => {
    await withFolder(async (folder) => {
      const { stdout, stderr } = await failsToStart(folder, { PORT: String(server.port) }, 15_000);
      assert.ok(`${stderr}${stdout}`.includes(String(server.port)), `${stderr}${stdout}`);
    });
    assert.is((await fetchReply('GET', `${server.root}/readyz`)).status, 200);
  });
});

test('a data folder that cannot be written ends the server with a word on it', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'file');
    await writeFile(file, 'in the way');
    const below = join(file, 'data');
    const { stdout, stderr } = await failsToStart(below, embedded, 15_000);
    assert.ok(`${stderr}${stdout}`.includes(below), `${stderr}${stdout}`);
  });
});

test('a second server on a data folder exits at once and names the folder and the holder', async () => {
  await withServer({ env: embedded }, async (server) => {
    const { stdout, stderr } = await failsToStart(server.dataDir, embedded, 10_000);
    assert.ok(`${stderr}${stdout}`.includes(server.dataDir), `no folder in: ${stderr}${stdout}`);
    assert.match(`${stderr}${stdout}`, new RegExp(`\\b${server.pid}\\b`));
    assert.is((await fetchReply('GET', `${server.root}/readyz`)).status, 200);
    const client = await merchant(server);
    await charge(client);
  });
});

test('an empty store gets a demo account, whose credentials are printed once', async () => {
  await withServer({ env: { LOG_LEVEL: 'fatal' } }, async (server) => {
    const accounts = list(await cliJson(server, ['account', 'list']), 'accounts');
    assert.is(accounts.length, 1);
    const clientId = text(accounts[0] ?? null, 'clientId');
    await until(() => server.stdout().includes('curl'), 2_000, 'a curl to try');
    assert.ok(server.stdout().includes(clientId), server.stdout());
    const words = server.stdout().split(/[^A-Za-z0-9_+/=.~-]+/);
    const secrets = [...new Set(words)].filter((word) => word.length >= 32 && word !== clientId);
    const answers = await Promise.all(
      secrets.map((secret) =>
        fetchReply('GET', `${server.url}/balance`, null, { authorization: basic(clientId, secret) }),
      ),
    );
    assert.ok(
      answers.some(({ status }) => status === 200),
      `no credentials that work in: ${server.stdout()}`,
    );
    await server.restart();
    assert.is(server.stdout().includes(clientId), false, 'printed again');
    assert.is(list(await cliJson(server, ['account', 'list']), 'accounts').length, 1);
  });
});

test('the demo account takes a charge the moment the server is ready', async () => {
  await withServer({ env: { LOG_LEVEL: 'fatal' } }, async (server) => {
    const [, clientId = '', secret = ''] = /curl -u '([^:]+):([^']+)'/.exec(server.stdout()) ?? [];
    const headers = { authorization: basic(clientId, secret), 'content-type': 'application/json' };
    const reply = await fetchReply('POST', `${server.url}/pix-in`, '{"amount": 1001}', headers);
    assert.is(reply.status, 201, JSON.stringify(reply));
  });
});

interface HalfSent {
  socket: Socket;
  finish(): void;
  answered: Promise<string>;
}

/** Opens a request, sends half of its body, and keeps the rest until `finish`. */
async function halfSent(server: Server, client: Merchant, reference: string): Promise<HalfSent> {
  const body = JSON.stringify({ amount: 10_000, externalRef: reference });
  const head = [
    'POST /v1/pix-in HTTP/1.1',
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: ${basic(client.clientId, client.clientSecret)}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  const socket = connect(server.port, '127.0.0.1');
  let answer = '';
  const answered = new Promise<string>((resolve) => {
    socket.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk.toString();
      if (/\r\n\r\n[\s\S]*\}$/.test(answer)) resolve(answer);
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', () => resolve(answer));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(`${head}\r\n\r\n${body.slice(0, 10)}`, () => resolve());
  });
  return { socket, finish: () => socket.write(body.slice(10)), answered };
}

test('SIGTERM: requests in flight are answered, then it ends with 0 within 10 s', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const references = Array.from({ length: 10 }, (_, n) => `in flight ${n}`);
    const open = await Promise.all(references.map((reference) => halfSent(server, client, reference)));
    await sleep(300);
    const started = performance.now();
    const terminated = server.terminate();
    await sleep(200);
    const readiness = await fetchReply('GET', `${server.root}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );
    assert.is.not(readiness, 200, 'still ready');
    for (const { finish } of open) finish();
    const answers = await Promise.all(open.map(({ answered }) => answered));
    assert.is(await terminated, 0);
    assert.ok(performance.now() - started <= 10_000, 'it took longer than 10 s');
    for (const { socket } of open) socket.destroy();
    await server.restart();
    for (const [n, answer] of answers.entries()) {
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
      assert.ok(status === 201 || status === 503, `request ${n} got: '${answer}'`);
      const body: Json = parseJson(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) ?? null;
      assert.ok(isObject(body), answer);
      if (status === 201) expectStatus(await client.get(`/pix-in?id=${text(body, 'id')}`), 200);
      else assert.is(text(body, 'error'), 'SERVICE_UNAVAILABLE');
    }
    await expectVerified(server);
  });
});

test('SIGTERM with nothing to do, and idle connections, ends with 0 soon', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    await Promise.all(Array.from({ length: 10 }, () => client.get('/balance')));
    const started = performance.now();
    assert.is(await server.terminate(), 0);
    assert.ok(performance.now() - started <= 10_000, 'it took longer than 10 s');
  });
});

test('kill -9: what was answered is there, and what was due goes on', async () => {
  const receiver = await startReceiver();
  try {
    const delayMs = 1_500;
    // The delay lies between the bank's steps, so that the process dies before the first one.
    await withServer({ env: { SANDBOX_DELAY_MS: String(delayMs) } }, async (server) => {
      let up = false;
      receiver.answer('/hook', () => ({ status: up ? 200 : 500 }));
      const [client, expiring] = await Promise.all([
        merchant(server, ['--balance', '10000000', '--webhook-url', receiver.url()]),
        merchant(server, ['--expires-in', '1']),
      ]);
      const [toBePaid, toBeSent, toExpire, refused] = await Promise.all([
        charge(client, 10_001),
        transfer(client, 1_001, { idempotencyKey: 'before' }),
        charge(expiring, 10_000),
        transfer(client, 1_002),
      ]);
      const [paidId, sentId, expiredId, refusedId] = [
        text(toBePaid, 'id'),
        text(toBeSent, 'id'),
        text(toExpire, 'id'),
        text(refused, 'id'),
      ];
      await receiver.waitFor(() => true, 10_000);

      const answered: Json[] = [];
      let running = true;
      const writers = Array.from({ length: 16 }, async () => {
        while (running) {
          const reply = await askTransfer(client, 1_007).catch(() => null);
          if (reply === null) break;
          if (reply.status === 201) answered.push(reply.body);
        }
      });
      await Promise.all([sleep(400), until(() => answered.length > 0, 5_000, 'an answer')]);
      await server.kill();
      running = false;
      await Promise.all(writers);
      assert.ok(answered.length > 0, 'nothing was answered before the end');
      up = true;
      await server.restart();

      const readyAt = performance.now();
      const leftMs = () => Math.max(1, resumedMs + 2 * delayMs + 2_000 - (performance.now() - readyAt));
      await reaches(expiring, 'pix-in', expiredId, 'expired', leftMs());
      await reaches(client, 'pix-in', paidId, 'paid', leftMs());
      await reaches(client, 'cashout', refusedId, 'rejected', leftMs());
      await reaches(client, 'cashout', sentId, 'completed', leftMs());
      assert.equal(await events(client, sentId), [
        'cashout.pending',
        'cashout.processing',
        'cashout.completed',
      ]);
      for (const created of answered) {
        const id = text(created, 'id');
        assert.equal(await shown(client, 'cashout', id), created);
      }
      const again = await askTransfer(client, 1_001, { idempotencyKey: 'before' });
      assert.is(text(expectError(again, 409, 'DUPLICATE_REQUEST'), 'transactionId'), sentId);

      const confirmed = () => receiver.requests.filter(({ status }) => status === 200);
      const wanted = [paidId, sentId, refusedId, ...answered.map((created) => text(created, 'id'))];
      await until(
        () => {
          const delivered = new Set(confirmed().map(({ headers }) => headers['x-transaction-id']));
          return wanted.every((id) => delivered.has(id));
        },
        20_000,
        'the webhooks of all transactions',
      );
      for (const [id, name] of [
        [sentId, 'cashout.completed'],
        [paidId, 'pix-in.paid'],
      ] as const) {
        const isIt = ({ headers }: Received) =>
          headers['x-transaction-id'] === id && headers['x-event'] === name;
        await until(() => confirmed().some(isIt), 10_000, name);
      }

      // Every transfer that stands, answered or not, was debited exactly once.
      const inspected = list(await cliJson(server, ['account', 'list']), 'accounts').find(
        (account) => text(account, 'accountId') === client.accountId,
      );
      assert.is(at(inspected ?? null, 'balance'), await client.balance());
      const spent = 10_000_000 + 9_901 - 1_051 - (await client.balance());
      assert.ok(spent >= answered.length * 1_057, 'an answered transfer was not debited');
      assert.is(spent % 1_057, 0, 'the balance is no sum of whole transfers');
      await expectVerified(server);
    });
  } finally {
    await receiver.close();
  }
});

test('killed again and again, a server loses nothing that it answered', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const ids: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      let running = true;
      const writers = Array.from({ length: 8 }, async () => {
        while (running) {
          const reply = await client.post('/pix-in', { amount: 10_000 }).catch(() => null);
          if (reply === null) break;
          if (reply.status === 201) ids.push(text(reply.body, 'id'));
        }
      });
      const before = ids.length;
      await sleep(150);
      await until(async () => ids.length > before, 20_000, 'an answer to lose');
      await server.kill();
      running = false;
      await Promise.all(writers);
      await server.restart();
    }
    assert.ok(ids.length > 0);
    for (const id of ids) assert.is(text(await shown(client, 'pix-in', id), 'status'), 'waiting_payment');
    await expectVerified(server);
  });
});

test.run();
