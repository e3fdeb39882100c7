/** What ops find in the database after real traffic: plain documents, dates that are dates, whole money, no secrets. */
import { BSON, type Db, type Document, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, deliveries, reaches, tell, transfer } from '../support/flows.ts';
import { text, whole } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { SECRETS_KEY, startOn } from './stage.ts';

/** Beyond what 32 bits hold: 30 million in cents. */
const OPENING = 3_000_000_000;
const DONE_MS = 15_000;

interface Scene {
  server: Server;
  /** As the driver reads it with numbers as they are stored. */
  db: Db;
  client: Merchant;
  /** Of one charge that was paid, one cashout that is done, one whose event nobody takes. */
  ids: { paid: string; completed: string; dead: string };
}

async function traffic(client: Merchant, doomed: Merchant): Promise<Scene['ids']> {
  const person = { name: 'Ana Souza', document: { type: 'CPF', number: '12345678909' } };
  const more = {
    externalRef: 'order 1',
    description: 'a chair',
    customer: person,
    metadata: { colour: 'red' },
  };
  const paid = text(await charge(client, 10_000, more), 'id');
  const completed = text(await transfer(client, 1_001, { idempotencyKey: 'key 1' }), 'id');
  const dead = text(await charge(doomed, 10_001), 'id');
  await transfer(client, 1_007);
  expectStatus(await tell(client, paid, 'PAY'), 200);
  await Promise.all([
    reaches(client, 'pix-in', paid, 'paid', DONE_MS),
    reaches(client, 'cashout', completed, 'completed', DONE_MS),
  ]);
  const isDead = async () => (await deliveries(doomed, dead)).some((one) => text(one, 'status') === 'dead');
  await until(isDead, DONE_MS, 'a dead delivery');
  const isQuiet = async () =>
    (await deliveries(client, completed)).every((one) => text(one, 'status') === 'delivered');
  await until(isQuiet, DONE_MS, 'the deliveries');
  return { paid, completed, dead };
}

const suite = fixtureSuite<Scene>('documents', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  receiver.answer('/dead', () => ({ status: 500 }));
  const database = await freshDatabase();
  defer(() => database.drop());
  const server = await startOn(database.uri);
  defer(() => server.stop());
  const reader = await new MongoClient(database.uri, { promoteValues: false, promoteLongs: false }).connect();
  defer(() => reader.close());
  const [client, doomed] = await Promise.all([
    merchant(server, [
      '--name',
      'Loja',
      '--balance',
      String(OPENING),
      '--webhook-url',
      receiver.url('/hook'),
    ]),
    merchant(server, ['--webhook-url', receiver.url('/dead')]),
  ]);
  const ids = await traffic(client, doomed);
  return { server, db: reader.db(), client, ids };
});

const { test } = suite;

/** One document, as mongosh would show it: wrapped values in their plain form. */
async function documentOf(db: Db, name: string, filter: Document): Promise<Document> {
  const found = await db.collection(name).findOne(filter);
  assert.ok(found !== null, `nothing in ${name} with ${JSON.stringify(filter)}`);
  return found as Document;
}

/** Every value below, with its path. */
function* valuesOf(value: unknown, path: string): Generator<[string, unknown]> {
  yield [path, value];
  if (Array.isArray(value)) for (const item of value) yield* valuesOf(item, `${path}[]`);
  else if (typeof value === 'object' && value !== null && !('_bsontype' in value) && !(value instanceof Date))
    for (const [name, member] of Object.entries(value)) yield* valuesOf(member, `${path}.${name}`);
}

function typeOf(value: unknown): string {
  if (value instanceof Date) return 'Date';
  return (value as { _bsontype?: string } | null)?._bsontype ?? typeof value;
}

async function all(db: Db): Promise<[string, Document][]> {
  const names = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()).map((info) =>
    String(info.name),
  );
  const found: [string, Document][] = [];
  for (const name of names.filter((one) => !one.startsWith('system.')))
    for (const document of await db.collection(name).find().toArray()) found.push([name, document]);
  return found;
}

test('collections have the names that ops are told, and a view of the balances', async ({ db }) => {
  const infos = await db.listCollections({}, { nameOnly: false }).toArray();
  const names = infos
    .filter(({ name }) => !String(name).startsWith('system.'))
    .map(({ name }) => String(name));
  for (const name of ['accounts', 'transactions', 'journal', 'deliveries', 'balances'])
    assert.ok(names.includes(name), `no ${name} among ${names.join(', ')}`);
  assert.is(String(infos.find(({ name }) => String(name) === 'balances')?.type), 'view');
});

test('a transaction is {_id, account, type, status, machine, version, snapshot, times}', async ({
  db,
  client,
  ids,
}) => {
  const paid = await documentOf(db, 'transactions', { _id: ids.paid });
  assert.is(paid.account, client.accountId);
  assert.is(paid.type, 'pix-in');
  assert.is(paid.status, 'paid');
  assert.is(paid.machine, 'pix-in');
  assert.match(paid.version, /^\d+$/);
  assert.is(paid.snapshot.value, 'paid');
  assert.is(paid.snapshot.context.externalRef, 'order 1');
  assert.equal(paid.snapshot.context.metadata, { colour: 'red' });
  for (const name of ['createdAt', 'updatedAt']) assert.is(typeOf(paid[name]), 'Date', name);
  for (const name of ['createdAt', 'paidAt', 'expiresAt'])
    assert.is(typeOf(paid.snapshot.context[name]), 'Date', `snapshot.context.${name}`);
  const completed = await documentOf(db, 'transactions', { _id: ids.completed });
  assert.is(completed.type, 'cashout');
  assert.is(completed.status, 'completed');
});

test('the journal and deliveries tell in plain words what happened', async ({ db, client, ids }) => {
  const batch = await documentOf(db, 'journal', {
    account: client.accountId,
    'entries.transaction': ids.paid,
  });
  assert.is(typeOf(batch.at), 'Date');
  assert.match(batch.hash, /^[0-9a-f]{64}$/);
  assert.is(batch.entries[0].transaction, ids.paid);
  const paying = await documentOf(db, 'journal', { 'entries.transaction': ids.paid, 'entries.to': 'paid' });
  const entry = paying.entries.find(({ to }: Document) => to === 'paid');
  assert.is(entry.message.type, 'PAY');
  assert.is(entry.from, 'waiting_payment');
  assert.is(typeOf(entry.message.data.paidAt), 'Date');
  assert.equal(entry.postings.map(({ leg }: Document) => leg).sort(), ['available', 'bank', 'fees']);
  const dead = await documentOf(db, 'deliveries', { transaction: ids.dead, status: 'dead' });
  assert.match(dead.url, /^http:\/\/127\.0\.0\.1:\d+\/dead$/);
  assert.match(dead.event, /^pix-in\./);
  assert.is(dead.attempts.length, 5);
  assert.is(typeOf(dead.attempts[0].at), 'Date');
  assert.is(Number(dead.attempts[0].statusCode), 500);
  const delivered = await documentOf(db, 'deliveries', { transaction: ids.completed, status: 'delivered' });
  assert.is(typeOf(delivered.deliveredAt), 'Date');
});

test('money is whole numbers, beyond 32 bits as well, and no number anywhere is a double', async ({
  db,
  client,
}) => {
  const doubles: string[] = [];
  let longs = 0;
  for (const [name, document] of await all(db)) {
    for (const [path, value] of valuesOf(document, name)) {
      if (typeOf(value) === 'Double' || typeof value === 'number') doubles.push(path);
      if (typeOf(value) === 'Long') longs += 1;
    }
  }
  // Agenda's own documents are not money.
  assert.equal(
    [...new Set(doubles)].filter((path) => !path.startsWith('jobs.')),
    [],
  );
  assert.ok(longs > 0, 'nothing is beyond 32 bits');
  const balance = await documentOf(db, 'balances', { _id: client.accountId });
  assert.is(typeOf(balance.available), 'Long');
  assert.is(Number(balance.available), OPENING + 9_900 - 1_051 - 1_057);
  assert.is(await client.balance(), Number(balance.available));
  assert.is(typeOf(balance.at), 'Date');
  const sum = ['available', 'clearing', 'fees', 'bank']
    .map((leg) => Number(balance[leg]))
    .reduce((a, b) => a + b, 0);
  assert.is(sum, 0);
});

/** A time as text, where a date should be. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

test('no time lies about as a text, and nothing is encoded', async ({ db }) => {
  const texts = new Set<string>();
  const blobs = new Set<string>();
  for (const [name, document] of await all(db)) {
    for (const [path, value] of valuesOf(document, name)) {
      if (typeof value === 'string' && TIME.test(value)) texts.add(path);
      if (['Binary', 'Code'].includes(typeOf(value))) blobs.add(path);
      if (typeof value === 'string' && /^[[{]"/.test(value)) blobs.add(path);
    }
  }
  assert.equal([...texts], []);
  assert.equal([...blobs], []);
});

test('no secret is anywhere in clear', async ({ server, db, client }) => {
  const rotated = await cliJson(server, [
    ...['account', 'rotate-webhook-secret', client.accountId, client.webhooks[0]?.url ?? ''],
  ]);
  const renewed = await cliJson(server, ['account', 'rotate-secret', client.accountId]);
  const secrets = [
    client.clientSecret,
    text(renewed, 'clientSecret'),
    ...client.webhooks.map(({ secret }) => secret),
    text(rotated, 'secret'),
    SECRETS_KEY,
  ];
  const documents = await all(db);
  const found: string[] = [];
  for (const [name, document] of documents) {
    const bytes = Buffer.from(BSON.serialize(document));
    for (const secret of secrets) {
      const [, bare = secret] = secret.split('whsec_');
      const raw = Buffer.from(bare, 'base64');
      const shapes = [
        Buffer.from(bare),
        raw,
        Buffer.from(raw.toString('hex')),
        Buffer.from(raw.toString('base64url')),
      ];
      if (shapes.some((shape) => shape.length >= 16 && bytes.includes(shape))) found.push(name);
    }
  }
  assert.ok(secrets.every((secret) => secret.length >= 32));
  assert.equal(found, []);
  assert.ok(documents.length > 20, `${documents.length} documents`);
});

test('the view has every account', async ({ server, db }) => {
  const accounts = await cliJson(server, ['account', 'list']);
  const shown = new Map(
    (accounts as { accounts: { accountId: string; balance: number }[] }).accounts.map((one) => [
      one.accountId,
      one.balance,
    ]),
  );
  const viewed = await db.collection('balances').find().toArray();
  for (const balance of viewed) assert.is(Number(balance.available), shown.get(String(balance._id)));
  assert.ok(viewed.length >= 2);
  assert.ok(whole(accounts as never, 'accounts.0.balance') >= 0);
});

suite.run();
