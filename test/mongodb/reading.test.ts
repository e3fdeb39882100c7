/** What the database sends for what is shown: of batches and records no more than is asked for. */
import { randomUUID } from 'node:crypto';
import { BSON, type Db, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import { deliveryList, historyOf } from '../../src/engine/history.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import type { RefusalDocument, TransactionDocument } from '../../src/store/mongo/documents.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { chargeCreated, chargePaid, grow, refused } from '../store/contract/builders.ts';
import { first } from '../store/contract/harness.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase } from '../support/mongodb.ts';

const ENTRIES = 512;
const AT = Date.UTC(2026, 0, 5, 12);

interface Scene {
  uri: string;
  store: MongoStore;
  db: Db;
}

function openOn(uri: string, incarnation: string): MongoStore {
  return new MongoStore({
    uri,
    incarnation,
    silentAfterMs: 10_000,
    leaseMs: 10_000,
    onUnusable: (reason) => assert.unreachable(reason),
    onNotice: () => {},
  });
}

const { test, run } = fixtureSuite<Scene>('reading', async (defer) => {
  const database = await freshDatabase();
  defer(() => database.drop());
  const store = openOn(database.uri, 'a');
  defer(() => store.close());
  await store.ready;
  const reader = await new MongoClient(database.uri).connect();
  defer(() => reader.close());
  return { uri: database.uri, store, db: reader.db() };
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

/** A charge with so many refused messages, a batch each; its record. */
async function refusedOften(store: MongoStore, account: string, count: number): Promise<TransactionRecord> {
  const charge = chargeCreated(AT);
  let { append } = await grow(store, account, [charge]);
  for (let nth = 1; nth <= count; nth++) {
    const entry = refused(AT, charge.transaction, 'waiting_payment', `m${nth}`);
    append = (await grow(store, account, [entry], { known: append.records })).append;
  }
  return first(append.records);
}

async function isSound(store: MongoStore): Promise<void> {
  const { ok, differences } = await verifyStore(store.journal, {
    heads: false,
    decide: false,
    everyDoorSpeaks: false,
  });
  assert.ok(ok, JSON.stringify(differences));
}

test('what is refused makes no document longer', async ({ store, db }) => {
  const sizes: number[] = [];
  for (const count of [1, 9]) {
    const { id } = await refusedOften(store, randomUUID(), count);
    const document = await db.collection<TransactionDocument>('transactions').findOne({ _id: id });
    assert.equal([document?.seqs, document?.refusals, document?.lookups], [[1], count, undefined]);
    sizes.push(BSON.calculateObjectSize(document ?? {}));
    assert.is(await db.collection('refusals').countDocuments({ transaction: id }), count);
  }
  assert.is(sizes[0], sizes[1]);
  await isSound(store);
});

test('a refused message whose process died after the commit is finished by who looks', async ({
  uri,
  store,
  db,
}) => {
  const account = randomUUID();
  const record = await refusedOften(store, account, 2);
  // As the process would have left it.
  const back = { $set: { seq: 2, refusals: 1 } };
  await db.collection<TransactionDocument>('transactions').updateOne({ _id: record.id }, back);
  await db.collection('refusals').deleteOne({ transaction: record.id, seq: 3 });
  const another = openOn(uri, 'b');
  try {
    await another.ready;
    assert.is((await another.journal.head(account)).seq, 3);
    assert.equal(await another.journal.transaction(record.id), record);
    assert.equal(await another.journal.refusals(record.id, 0, 10), [2, 3]);
  } finally {
    await another.close();
  }
});

test('a document of a former build, which holds its refused messages itself, goes on', async ({
  store,
  db,
}) => {
  const account = randomUUID();
  const { id } = await refusedOften(store, account, 2);
  const own = await db.collection<RefusalDocument>('refusals').find({ transaction: id }).toArray();
  const lookups = own.map(({ name, key, seq }) => ({ name, key, order: seq * 65_536 }));
  const former = { $set: { seqs: [1, 2, 3], lookups }, $unset: { refusals: '' as const } };
  await db.collection<TransactionDocument>('transactions').updateOne({ _id: id }, former);
  await db.collection('refusals').deleteMany({ transaction: id });
  await isSound(store);
  const keys = own.map(({ name, key }) => ({ name, key }));
  assert.equal((await store.journal.read(account, { transactions: [], lookups: keys })).lookups, [id, id]);
  const stored = await store.journal.transaction(id);
  const known = stored === null ? [] : [stored];
  const { append } = await grow(store, account, [refused(AT, id, 'waiting_payment', 'm3')], { known });
  const record = first(append.records);
  assert.equal([record.seqs, record.refusals], [[1, 2, 3], 1]);
  assert.equal(
    (await historyOf(store.journal, record)).map(({ seq }) => seq),
    [1, 2, 3, 4],
  );
  await isSound(store);
  await db.collection<TransactionDocument>('transactions').updateOne({ _id: id }, { $set: { seqs: [1, 2] } });
  const { ok } = await verifyStore(store.journal, { heads: false, decide: false, everyDoorSpeaks: false });
  assert.not.ok(ok, 'a number that is missing is a difference');
});

run();
