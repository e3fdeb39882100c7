/** A server's data folder moves to MongoDB, and a server there goes on with it: what merchants and ops see is the same. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { cli, cliJson } from '../support/cli.ts';
import { type Client, type Merchant, merchant } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { askTransfer, charge, deliveries, reaches, shown, told, transfer } from '../support/flows.ts';
import { at, type Json, list, object, text } from '../support/json.ts';
import { type Database, freshDatabase } from '../support/mongodb.ts';
import type { Env } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { isSignedWith } from '../support/signature.ts';
import { until } from '../support/wait.ts';
import { elsewhere } from './stage.ts';

const test = suite('migrate-store to mongodb');
const SECRETS_KEY = Buffer.alloc(32, 'migrated ').toString('base64');
const EXPIRES_S = 25;
const DEAD_MS = 20_000;
const EXPIRED_MS = 90_000;

interface Filled {
  client: Merchant;
  other: Merchant;
  /** Each transaction as its GET showed it. */
  transactions: { kind: 'pix-in' | 'cashout'; id: string; shown: Json }[];
  waiting: string;
  stuck: string;
  dead: string;
  balance: number;
}

/** One of a charge's dead deliveries, once another is dead as well. */
async function deadDelivery(client: Client, id: string): Promise<string> {
  const [found] = await until(
    async () => {
      const dead = (await deliveries(client, id)).filter((delivery) => text(delivery, 'status') === 'dead');
      return dead.length > 1 ? dead : null;
    },
    DEAD_MS,
    'two dead deliveries',
  );
  return text(found ?? null, 'id');
}

/** Everything that a merchant does; one of its two receivers takes nothing. */
async function fill(server: Server, receiver: Receiver): Promise<Filled> {
  receiver.answer('/bad', () => ({ status: 500 }));
  const urls = ['/good', '/bad'].flatMap((path) => ['--webhook-url', receiver.url(path)]);
  const client = await merchant(server, ['--balance', '500000', '--expires-in', String(EXPIRES_S), ...urls]);
  const other = await merchant(server, ['--balance', '1000']);
  const paid = text(await charge(client, 10_000, { externalRef: 'an order' }), 'id');
  await told(client, paid, 'PAY');
  const refunded = text(await charge(client, 10_001), 'id');
  await reaches(client, 'pix-in', refunded, 'paid');
  await told(client, refunded, 'REFUND');
  const completed = text(await transfer(client, 1_001, { idempotencyKey: 'a key' }), 'id');
  await reaches(client, 'cashout', completed, 'completed');
  const stuck = text(await transfer(client, 1_007), 'id');
  const dead = await deadDelivery(client, paid);
  // The last one, so that its time is yet to come.
  const waiting = text(await charge(client, 30_000), 'id');
  const kinds = [
    ...[paid, refunded, waiting].map((id) => ({ kind: 'pix-in' as const, id })),
    ...[completed, stuck].map((id) => ({ kind: 'cashout' as const, id })),
  ];
  const transactions: Filled['transactions'] = [];
  for (const { kind, id } of kinds) transactions.push({ kind, id, shown: await shown(client, kind, id) });
  return { client, other, transactions, waiting, stuck, dead, balance: await client.balance() };
}

const heads = async (target: Server | string, env: Env): Promise<Json> => {
  const report = await cliJson(target, ['verify', '--heads', '--decide'], env);
  assert.is(at(report, 'ok'), true);
  return list(report, 'heads').sort((a, b) => (text(a, 'account') < text(b, 'account') ? -1 : 1));
};

/** Moves with the command line; the connection string must not show. */
async function move(
  dataDir: string,
  uri: string,
  args: string[] = [],
  key: string = SECRETS_KEY,
): Promise<Json[]> {
  // A set MONGODB_URI doesn't make it read another store than the data folder's.
  const env = { MONGODB_URI: uri, SECRETS_KEY: key };
  const result = await cli(dataDir, ['migrate-store', '--to', uri, ...args, '--json'], env);
  assert.is(result.code, 0, `${result.stdout}${result.stderr}`);
  assert.not.match(result.stdout + result.stderr, 'mongodb://');
  return list(result.json, 'accounts');
}

interface Moved {
  embedded: Server;
  database: Database;
  receiver: Receiver;
  filled: Filled;
  on: Env;
}

/** Fills a server of its own, stops it and moves all that it has. */
async function withMoved(body: (moved: Moved) => Promise<void>): Promise<void> {
  const database = await freshDatabase();
  const receiver = await startReceiver();
  // It has a key of its own, in its folder.
  const embedded = await startServer({ env: { MONGODB_URI: '' } });
  try {
    const filled = await fill(embedded, receiver);
    assert.is(await embedded.terminate(), 0);
    const before = await heads(embedded, {});
    const accounts = await move(embedded.dataDir, database.uri);
    assert.ok(accounts.every((account) => at(account, 'moved') === true));
    const on = { MONGODB_URI: database.uri, SECRETS_KEY };
    assert.equal(await heads(embedded, {}), before, 'the heads here');
    assert.equal(await heads(embedded.dataDir, on), before, 'the heads there');
    const told = accounts.map((account) => {
      const { accountId = '', seq = 0, hash = '' } = object(account);
      return { account: accountId, seq, hash };
    });
    assert.equal(told, before, 'the heads as it tells them');
    await body({ embedded, database, receiver, filled, on });
  } finally {
    await embedded.stop();
    await receiver.close();
  }
}

async function expectSame(client: Merchant, { transactions, balance, waiting }: Filled): Promise<void> {
  assert.is(await client.balance(), balance);
  for (const { kind, id, shown: before } of transactions) {
    const now = await shown(client, kind, id);
    if (id !== waiting || text(now, 'status') !== 'expired') assert.equal(now, before);
  }
}

test('merchants and ops find everything, and all goes on', async () => {
  await withMoved(async ({ embedded, receiver, filled, on, database }) => {
    const server = await startServer({ env: on });
    try {
      const client = elsewhere(server, filled.client);
      await expectSame(client, filled);
      const again = await askTransfer(client, 1_001, { idempotencyKey: 'a key' });
      expectError(again, 409, 'DUPLICATE_REQUEST');

      // Its secret still signs, under another key at rest.
      receiver.answer('/bad', () => ({ status: 200 }));
      await cliJson(server, ['deliveries', 'retry', filled.dead]);
      const received = await receiver.waitFor(
        ({ path, status, headers }) =>
          path === '/bad' && status === 200 && headers['webhook-id'] !== undefined,
        10_000,
      );
      const secret = filled.client.webhooks.find(({ url }) => url.endsWith('/bad'))?.secret ?? '';
      assert.ok(isSignedWith(secret, received.headers, received.rawBody), 'signed as before');

      await reaches(client, 'pix-in', filled.waiting, 'expired', EXPIRED_MS);
      await told(client, filled.stuck, 'SETTLE');
      await charge(client, 12_300);
      const attention = list(await cliJson(server, ['attention']), 'items');
      assert.ok(attention.some((item) => text(item, 'kind') === 'dead' && text(item, 'id') !== filled.dead));

      // What was moved before is left alone, while the server there goes on.
      const second = await move(embedded.dataDir, database.uri);
      assert.ok(second.every((account) => at(account, 'moved') === false));
      assert.is(text(await shown(client, 'pix-in', filled.waiting), 'status'), 'expired');
      await heads(server, {});

      await embedded.restart();
      const old = elsewhere(embedded, filled.client);
      expectError(await old.get('/balance'), 403, 'USER_INACTIVE');
      await embedded.terminate();
    } finally {
      await server.stop();
    }
  });
});

test('one account moves to a database that others are served from', async () => {
  const database = await freshDatabase();
  const receiver = await startReceiver();
  const on = { MONGODB_URI: database.uri, SECRETS_KEY };
  const embedded = await startServer({ env: { MONGODB_URI: '' } });
  const server = await startServer({ env: on });
  try {
    const filled = await fill(embedded, receiver);
    await embedded.terminate();
    const { accountId } = filled.client;
    const moved = await move(embedded.dataDir, database.uri, ['--account', accountId]);
    assert.equal(
      moved.map((account) => text(account, 'accountId')),
      [accountId],
    );
    const client = elsewhere(server, filled.client);
    await until(async () => (await client.get('/balance')).status === 200, 5_000, 'the server knows it');
    await expectSame(client, filled);
    expectStatus(await client.get('/balance'), 200);
    await reaches(client, 'pix-in', filled.waiting, 'expired', EXPIRED_MS);
    const unknown = await elsewhere(server, filled.other).get('/balance');
    expectError(unknown, 401, 'INVALID_CREDENTIALS');
    await embedded.restart();
    assert.is(await elsewhere(embedded, filled.other).balance(), 1_000);
    assert.is((await elsewhere(embedded, filled.client).get('/balance')).status, 403);
    await heads(server, {});
    await heads(embedded, {});
  } finally {
    await server.stop();
    await embedded.stop();
    await receiver.close();
  }
});

test('a database whose secrets are sealed with another key takes none', async () => {
  const database = await freshDatabase();
  const folder = await Folder.make();
  try {
    const hook = ['--webhook-url', 'http://127.0.0.1:9/hook'];
    const create = ['account', 'create', ...hook];
    const own = Buffer.alloc(32, 'own ').toString('base64');
    await folder.json(create, 0, { MONGODB_URI: '', SECRETS_KEY: own });
    const theirs = Buffer.alloc(32, 'theirs ').toString('base64');
    await folder.json(create, 0, { MONGODB_URI: database.uri, SECRETS_KEY: theirs });
    const migrate = ['migrate-store', '--to', database.uri];
    const told = await folder.json(migrate, 1, { MONGODB_URI: '', SECRETS_KEY });
    assert.is(text(told, 'error'), 'SECRET_NOT_OPENED');
    assert.match(text(told, 'message'), /^SECRETS_KEY is not the key .* --to /);
    const [account] = list(
      await folder.json(['account', 'list'], 0, { MONGODB_URI: '', SECRETS_KEY: own }),
      'accounts',
    );
    assert.is(text(account ?? null, 'status'), 'active', 'the folder still has it');
    // As the guide says, where both have a key: the folder's own as its file.
    await writeFile(join(folder.path, 'secrets.key'), own, { mode: 0o600 });
    assert.is((await move(folder.path, database.uri, [], theirs)).length, 1);
  } finally {
    await folder.remove();
  }
});

test.run();
