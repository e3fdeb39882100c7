/** Two servers on one database share one bank. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attention, bare, doorEnv, hintPayment, payAt, SCALE } from '../bank/served/scene.ts';
import { expectVerified } from '../faults/scene.ts';
import { FakeBank } from '../support/bank/bank.ts';
import { cliJson } from '../support/cli.ts';
import { basic, clientOf, type Merchant, merchant } from '../support/client.ts';
import { charge, reaches, transfer } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { type Database, freshDatabase } from '../support/mongodb.ts';
import type { Env } from '../support/process.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const test = suite('a real bank and two servers');
/** Leases of a process that is dead run out after 10 s; the rest is for a busy machine. */
const TAKEN_OVER_MS = 40_000;

let bank: FakeBank;
let database: Database;
let servers: Server[] = [];
let client: Merchant;

/** The same merchant at the other server. */
function at(server: Server): Merchant {
  const authorization = basic(client.clientId, client.clientSecret);
  return { ...client, ...clientOf(server, { authorization }) };
}

async function open(env: Env): Promise<Server> {
  return startServer({ env: { ...bank.env, ...(await doorEnv(bank)), ...env } });
}

test.before.each(async () => {
  bank = await FakeBank.start({ profile: 'efi' });
  database = await freshDatabase();
  const SECRETS_KEY = Buffer.alloc(32, 'of two ').toString('base64');
  const env = {
    ...{ MONGODB_URI: database.uri, SECRETS_KEY, BANK_RETRY_SCALE: SCALE, BANK_RECONCILE_S: '2' },
    BANK_EXPIRY_GRACE_S: '1',
  };
  servers = [await open(env), await open(env)];
  client = await merchant(servers[0] as Server);
  await cliJson(servers[0] as Server, [
    'account',
    'adjust',
    client.accountId,
    '100000',
    '--reason',
    'opening',
  ]);
});
test.after.each(async () => {
  for (const server of servers) await server.stop();
  await bank.stop();
  await database.drop();
  assert.equal(bank.violations, []);
});

test('hints are taken by either, and a payment is credited once', async () => {
  const [one, two] = servers as [Server, Server];
  const created = await charge(client, 5_000);
  const payment = payAt({ bank }, created);
  const statuses = await Promise.all(
    [one, two, one, two].map((server) => hintPayment({ bank, server }, payment)),
  );
  assert.equal(statuses, [200, 200, 200, 200]);
  await reaches(at(two), 'pix-in', text(created, 'id'), 'paid');
  assert.is(await client.balance(), 100_000 + 4_950);
  // What nobody told of is found by whichever reconciles.
  const silent = await charge(client, 6_000);
  payAt({ bank }, silent);
  await reaches(client, 'pix-in', text(silent, 'id'), 'paid', 20_000);
  await expectVerified(one);
});

test('a server that dies with an order on its way: the other asks, and it is paid once', async () => {
  const [one, two] = servers as [Server, Server];
  bank.fault('PUT envio', { kind: 'held' });
  const id = text(await transfer(client, 5_000), 'id');
  await until(() => bank.held === 1, 20_000, 'the order on its way');
  await one.kill();
  bank.release();
  const other = at(two);
  await reaches(other, 'cashout', id, 'processing', TAKEN_OVER_MS);
  Object.assign(bank.state.sendings.get(bare(id)) ?? {}, { status: 'REALIZADO', settledAt: Date.now() });
  await reaches(other, 'cashout', id, 'completed', TAKEN_OVER_MS);
  assert.is(bank.state.sendings.size, 1);
  await expectVerified(two);
});

test('a server that is frozen with an order in hand sends it no second time', async () => {
  const [one, two] = servers as [Server, Server];
  bank.fault('PUT envio', { kind: 'held' });
  const id = text(await transfer(client, 5_000), 'id');
  await until(() => bank.held === 1, 20_000, 'the order on its way');
  process.kill(one.pid, 'SIGSTOP');
  try {
    bank.release();
    const other = at(two);
    await reaches(other, 'cashout', id, 'processing', TAKEN_OVER_MS);
    Object.assign(bank.state.sendings.get(bare(id)) ?? {}, { status: 'REALIZADO', settledAt: Date.now() });
    await reaches(other, 'cashout', id, 'completed', TAKEN_OVER_MS);
  } finally {
    process.kill(one.pid, 'SIGCONT');
  }
  assert.is(await client.balance(), 100_000 - 5_000 - 50);
  assert.is(bank.state.sendings.size, 1);
  assert.equal(await attention(two, 'refused'), []);
  await expectVerified(two);
});

test.run();
