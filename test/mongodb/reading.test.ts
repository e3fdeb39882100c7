/** What the database sends for what is shown: of batches and records no more than is asked for. */
import { randomUUID } from 'node:crypto';
import { type Db, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import { deliveryList } from '../../src/engine/history.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { chargeCreated, chargePaid, grow } from '../store/contract/builders.ts';
import { first } from '../store/contract/harness.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase } from '../support/mongodb.ts';

const ENTRIES = 512;
const AT = Date.UTC(2026, 0, 5, 12);

interface Scene {
  store: MongoStore;
  db: Db;
}

const { test, run } = fixtureSuite<Scene>('reading', async (defer) => {
  const database = await freshDatabase();
  defer(() => database.drop());
  const store = new MongoStore({
    uri: database.uri,
    incarnation: 'a',
    localNow: () => Date.now(),
    silentAfterMs: 10_000,
    onUnusable: (reason) => assert.unreachable(reason),
    onNotice: () => {},
  });
  defer(() => store.close());
  await store.ready;
  const reader = await new MongoClient(database.uri).connect();
  defer(() => reader.close());
  return { store, db: reader.db() };
});

/** Bytes that the database sent in answers to queries on a collection meanwhile. */
async function sent(db: Db, collection: string, work: () => Promise<unknown>): Promise<number> {
  await db.command({ profile: 2 });
  const from = new Date();
  try {
    await work();
  } finally {
    await db.command({ profile: 0 });
  }
  const ns = `${db.databaseName}.${collection}`;
  const filter = { ns, op: 'query', ts: { $gte: from }, appName: 'pixstate' };
  const answers = await db.collection('system.profile').find(filter).toArray();
  assert.ok(answers.length > 0, `nothing was asked of ${collection}`);
  return answers.reduce((sum, { responseLength }) => sum + Number(responseLength), 0);
}

test('a list of webhooks costs what it shows, however large its batches are', async ({ store, db }) => {
  const account = randomUUID();
  const charges = Array.from({ length: ENTRIES }, () =>
    chargeCreated(AT, { urls: ['https://example.com/hook'] }),
  );
  const created = await grow(store, account, charges);
  const payments = charges.map(({ transaction }, index) => chargePaid(AT, transaction, `E${index}`));
  const paid = await grow(store, account, payments, { known: created.append.records });
  const record = first(paid.append.records.slice(ENTRIES / 2));
  const bytes = await sent(db, 'journal', async () =>
    assert.is((await deliveryList(store.journal, record)).length, 1),
  );
  assert.ok(bytes < 10_000, `${bytes} bytes for a list`);
});

run();
