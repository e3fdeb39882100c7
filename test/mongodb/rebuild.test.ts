/** `rebuild` on MongoDB: each document that was changed or lost comes back as the journal says, with what is due. */
import { BSON, type Db, type Document } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Core } from '../../src/core.ts';
import { refusalsOf } from '../../src/engine/history.ts';
import type { RefusalDocument } from '../../src/store/mongo/documents.ts';
import {
  close,
  contentOf,
  createCharge,
  isSound,
  type Life,
  live,
  openOn,
  rebuilt,
  tell,
} from '../audit/scene.ts';
import { cliJson } from '../support/cli.ts';
import { at } from '../support/json.ts';
import { type Database, freshDatabase } from '../support/mongodb.ts';
import { copyDatabase } from '../support/older-database.ts';
import { envOn, withDb } from './stage.ts';

const test = suite('rebuild on mongodb');
const FAR = Date.UTC(2040, 0, 1);

let database: Database;
let core: Core;
let life: Life;
let whole = '';
/** The documents of the account as the live path wrote them. */
let documents: Document[] = [];

async function stored(db: Db): Promise<Document[]> {
  const all = ['transactions', 'refusals'].map((name) => db.collection(name).find({}).sort({ _id: 1 }));
  return (await Promise.all(all.map((cursor) => cursor.toArray()))).flat();
}

function isTransaction(document: Document): boolean {
  return 'snapshot' in document;
}

test.before(async () => {
  database = await freshDatabase();
  core = await openOn(envOn(database.uri) as Record<string, string>);
  life = await live(core);
  whole = await contentOf(core, life.account);
  documents = await withDb(database.uri, stored);
});

test.after(async () => {
  await close(core);
  await database.drop();
});

type Damage = (db: Db) => Promise<unknown>;

const changes = (db: Db, id: string, update: Document): Promise<unknown> =>
  db.collection<Document & { _id: string }>('transactions').updateOne({ _id: id }, update);

const STRANGER = '00000000-0000-4000-8000-000000000000';

const DAMAGES: Record<string, Damage> = {
  'a record that differs': (db) =>
    changes(db, life.charge, { $set: { 'snapshot.value': 'refunded', seq: 9_999 } }),
  'a record that is missing': (db) =>
    db.collection<{ _id: string }>('transactions').deleteOne({ _id: life.transfer }),
  'a record too many': async (db) => {
    const { _id, lookups: _lookups, externalRef: _externalRef, ...known } = documents[0] ?? {};
    const stranger = { _id: STRANGER, ...known };
    await db.collection<{ _id: string }>('transactions').insertOne(stranger);
  },
  'a lookup that is missing': (db) => changes(db, life.transfer, { $unset: { lookups: '' } }),
  'a lookup too many': (db) =>
    changes(db, life.transfer, { $push: { lookups: { name: 'payment', key: 'E-nobody', order: 1 } } }),
  'a newest charge that is another': (db) => changes(db, life.charge, { $set: { order: 2 ** 40 } }),
  'an adjustment that is missing, and one too many': async (db) => {
    const adjustments = db.collection<{ _id: string }>('adjustments');
    await adjustments.deleteOne({ _id: `${life.account}:opening` });
    const extra = { _id: `${life.account}:nobody`, account: life.account, key: 'nobody', digest: 'x' };
    await adjustments.insertOne(extra);
  },
  'a refused message that no list has': (db) =>
    db.collection('refusals').deleteOne({ transaction: life.charge }),
  'a refused message that is said to be of another batch, and one too many': async (db) => {
    const refusals = db.collection<RefusalDocument>('refusals');
    const known = await refusals.findOneAndUpdate({ transaction: life.charge }, { $set: { seq: 9_999 } });
    assert.ok(known !== null);
    await refusals.insertOne({ ...known, _id: `${life.account}:refusal:nobody`, key: 'nobody' });
  },
  'an open transfer that is listed no more': (db) => changes(db, life.open, { $unset: { open: '' } }),
  'a charge that is listed as one with a pending refund': (db) =>
    changes(db, life.charge, { $set: { refunding: true } }),
  'a charge that is listed as under protest': (db) =>
    changes(db, life.charge, { $set: { status: 'in_protest' } }),
  'a transfer that has ended, and is listed as open': (db) =>
    changes(db, life.transfer, { $set: { open: true } }),
  'all documents gone': async (db) => {
    await db.collection('refusals').deleteMany({});
    await db.collection('transactions').deleteMany({});
    await db.collection('adjustments').deleteMany({});
  },
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  test(`${name} is cured`, async () => {
    await withDb(database.uri, damage);
    assert.is(await isSound(core), false, 'verify says so');
    const report = await rebuilt(core, name === 'a record too many' ? undefined : life.account);
    assert.is(report.ok, true);
    assert.is(await isSound(core), true);
    assert.is(await contentOf(core, life.account), whole, 'everything is as it was');
  });
}

test('a document of a former build, which holds its refused messages itself, is sound, and gets shorter', async () => {
  const former = async (db: Db): Promise<void> => {
    const refusals = db.collection<RefusalDocument>('refusals');
    const own = await refusals.find({ transaction: life.charge }).toArray();
    const document = documents.find(({ _id }) => _id === life.charge) ?? {};
    const seqs = [...new Set([...document.seqs, ...own.map(({ seq }) => seq)])].sort((a, b) => a - b);
    const lookups = own.map(({ name, key, seq }) => ({ name, key, order: seq * 65_536 }));
    assert.ok(seqs.length > document.seqs.length);
    await changes(db, life.charge, {
      $set: { seqs, lookups: [...(document.lookups ?? []), ...lookups] },
      $unset: { refusals: '' },
    });
    await refusals.deleteMany({ transaction: life.charge });
  };
  await withDb(database.uri, former);
  assert.is(await isSound(core), true);
  assert.is((await rebuilt(core, life.account)).ok, true);
  assert.is(await isSound(core), true);
  assert.is(await contentOf(core, life.account), whole);
});

test('what was rebuilt is what the live path writes, but for what is in progress', async () => {
  const progress = ['timers', 'orders'];
  const plain = (all: readonly Document[]): string =>
    JSON.stringify(
      all.map((document) =>
        Object.entries(document)
          .filter(([name]) => !progress.includes(name))
          .sort(),
      ),
    );
  assert.is(plain(await withDb(database.uri, stored)), plain(documents));
});

test('a timer that went with its document is due again, and so is the order of an open transfer', async () => {
  const timers = documents.flatMap(({ _id, timers: own = [] }) =>
    own.map(({ name }: Document) => `${_id} ${name}`),
  );
  assert.ok(timers.length > 0);
  const due = await core.store.due.claim('timer', FAR, 100);
  assert.equal(due.map((claim) => `${claim.due.transaction} ${claim.due.name}`).sort(), timers.sort());
  const orders = await core.store.due.claim('bank', FAR, 100);
  assert.equal(
    orders.map((claim) => [claim.due.transaction, claim.due.order.kind]),
    [[life.open, 'payout']],
  );
});

test('what a process has in hand stays in its hands', async () => {
  const before = await withDb(database.uri, stored);
  await withDb(database.uri, (db) => changes(db, life.open, { $set: { updatedAt: new Date(0) } }));
  await rebuilt(core, life.account);
  assert.equal(JSON.stringify(await withDb(database.uri, stored)), JSON.stringify(before));
});

test('beside another process that writes to the account nothing that it wrote is lost', async () => {
  // Whether it is ahead of the rebuild is a matter of milliseconds.
  for (let round = 0; round < 4; round += 1) await rebuiltBesideAnother();
});

async function rebuiltBesideAnother(): Promise<void> {
  const other = await openOn(envOn(database.uri) as Record<string, string>);
  try {
    let going = true;
    const made: string[] = [];
    const writing = (async () => {
      while (going) {
        const id = await createCharge(other, life.account, 10_000, 'beside');
        made.push(id);
        await tell(other, id, 'PAY');
        await tell(other, life.charge, made.length % 2 === 0 ? 'DISMISS' : 'PROTEST');
      }
    })();
    await withDb(database.uri, async (db) => {
      await changes(db, life.charge, { $set: { messages: [] } });
      await changes(db, life.transfer, { $unset: { lookups: '' }, $set: { status: 'pending' } });
    });
    const report = await rebuilt(core, life.account);
    going = false;
    await writing;
    assert.is(report.ok, true);
    assert.ok(made.length > 0);
    assert.is(await isSound(core), true);
    for (const id of made) assert.is((await core.store.journal.transaction(id))?.snapshot.value, 'paid');
  } finally {
    await close(other);
  }
}

test('a message that was refused twice, since the list had lost it, stands in the list twice', async () => {
  const refuse = async (): Promise<void> => {
    const record = await core.store.journal.transaction(life.charge);
    assert.ok(record !== null);
    const message = { id: 'refused twice', type: 'CANCEL', data: {} };
    assert.is((await core.payments.tell(record, message, 'ops')).kind, 'refused');
  };
  const count = async (): Promise<number> => (await refusalsOf(core.store.journal, life.charge)).length;
  await refuse();
  const before = await count();
  const { seq } = await core.store.journal.head(life.account);
  await withDb(database.uri, (db) => db.collection('refusals').deleteOne({ transaction: life.charge, seq }));
  await refuse();
  assert.is(await isSound(core), false);
  await rebuilt(core, life.account);
  assert.is(await isSound(core), true);
  assert.is(await count(), before + 1);
});

test('documents that 70ffb18 wrote, and a part of them lost, are rebuilt by the command', async () => {
  const copy = await copyDatabase('70ffb18');
  try {
    const env = copy.env as Record<string, string>;
    const uri = env.MONGODB_URI ?? '';
    assert.is(at(await cliJson(copy.dataDir, ['verify'], copy.env), 'ok'), true);
    const before = await withDb(uri, stored);
    assert.is(at(await cliJson(copy.dataDir, ['rebuild'], copy.env), 'ok'), true);
    const shorter = await withDb(uri, stored);
    const lengthOf = (all: readonly Document[]): number =>
      BSON.calculateObjectSize({ all: all.filter(isTransaction) });
    assert.ok(lengthOf(shorter) < lengthOf(before), 'refused messages lie outside of the documents now');
    assert.is(at(await cliJson(copy.dataDir, ['verify'], copy.env), 'ok'), true);
    assert.is(at(await cliJson(copy.dataDir, ['rebuild'], copy.env), 'ok'), true);
    assert.is(JSON.stringify(await withDb(uri, stored)), JSON.stringify(shorter), 'nothing had to be mended');
    await withDb(uri, (db) => db.collection('transactions').deleteMany({ type: 'pix-in' }));
    assert.is(at(await cliJson(copy.dataDir, ['rebuild'], copy.env), 'ok'), true);
    assert.is(at(await cliJson(copy.dataDir, ['verify'], copy.env), 'ok'), true);
    assert.is((await withDb(uri, stored)).length, shorter.length);
  } finally {
    await copy.remove();
  }
});

test.run();
