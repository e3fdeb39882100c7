/** What dead processes left without its projection, and what this one failed at: finished, each batch by itself. */
import { randomUUID } from 'node:crypto';
import type { Document } from 'mongodb';
import * as assert from 'uvu/assert';
import type { AttentionItem, Store } from '../../src/engine/store.ts';
import { documentId } from '../../src/store/mongo/appends/numbers.ts';
import { appendAfter, cashoutCreated, chargeCreated, grow } from '../store/contract/builders.ts';
import { first, same } from '../store/contract/harness.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { sleep, until } from '../support/wait.ts';
import { type OwnDatabase, onDatabase, ownServer } from './own-server.ts';
import { collection } from './stage.ts';

const DONE_MS = 15_000;
const HOUR_MS = 3_600_000;
const POISON = 'poison';
/** Turns the projection of such a charge down, for good. */
const NO_POISON = { externalRef: { $ne: POISON } };

const suite = fixtureSuite('recovery', async (defer) => ownServer(defer));
const { test } = suite;

type TestStore = Store & { now(): number };

/** A charge of an account of its own, its batch committed and projected; ids of account and charge. */
async function charged(store: TestStore, externalRef: string | null = null): Promise<[string, string]> {
  const account = randomUUID();
  const entry = chargeCreated(store.now(), { externalRef });
  await grow(store, account, [entry]);
  return [account, entry.transaction];
}

/** Leaves what a process leaves that is killed between insert and projection. */
async function killed({ db }: OwnDatabase, incarnation: string, transactions: string[]): Promise<void> {
  await collection(db, 'transactions').deleteMany({ _id: { $in: transactions } });
  const dead = { beatAt: new Date(0), projected: 0 };
  await collection(db, 'processes').updateOne({ _id: incarnation }, { $set: dead });
}

/** Beats until something is so. */
async function beatUntil(store: TestStore, what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(
    async () => {
      await store.due.beat(store.now());
      return isSo();
    },
    DONE_MS,
    what,
  );
}

test('a batch that can’t be projected stops no other, is noted, and goes once it can', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const dead = [await database.open('dead1'), await database.open('dead2')];
    const unprojectable: AttentionItem[] = [];
    const heir = await database.open('heir', { unprojectable });
    const [poisoned, poison] = await charged(first(dead), POISON);
    const innocent: string[] = [];
    for (const store of dead) for (let n = 0; n < 3; n += 1) innocent.push((await charged(store))[1]);
    await killed(database, 'dead1', [poison, ...innocent]);
    await killed(database, 'dead2', []);
    await database.takeOnly('transactions', NO_POISON);

    const processes = (): Promise<Document[]> => db.collection('processes').find({}).toArray();
    await beatUntil(heir, 'nothing left', async () => (await processes()).length === 1);
    assert.is(await db.collection('transactions').countDocuments({}), 6, 'the innocent ones');
    const [item] = await heir.attention.find(`${poisoned}#1`);
    const batch = first(await heir.journal.batches(poisoned, [1]));
    same(
      [item?.kind, item?.id, item?.since, item?.about.account],
      ['projection', `${poisoned}#1`, batch.at, poisoned],
    );
    same(
      unprojectable.map(({ id }) => id),
      [`${poisoned}#1`],
    );

    await heir.due.tidy(heir.now());
    assert.is((await heir.attention.find(`${poisoned}#1`)).length, 1, 'as long as it can not be projected');
    await database.takeOnly('transactions');
    await heir.due.tidy(heir.now());
    same(await heir.attention.find(`${poisoned}#1`), []);
    assert.is((await heir.journal.transaction(poison))?.id, poison);
  }));

test('what comes to the database once its process is dead and silent for long is finished, too', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const dead = await database.open('dead');
    const heir = await database.open('heir');
    const [account, id] = await charged(dead);
    // A network that was cut holds the insert back.
    const held = await db.collection('journal').findOne({ account });
    await db.collection('journal').deleteMany({ account });
    await collection(db, 'transactions').deleteMany({ _id: id });
    const beatAt = new Date(heir.now() - 60_000);
    await collection(db, 'processes').updateOne({ _id: 'dead' }, { $set: { beatAt, projected: 0 } });
    const looked = until(async () => heir.due.beat(heir.now()).then(() => false), 3_000, 'nothing');
    await looked.catch(() => {});
    assert.is(await db.collection('processes').countDocuments(), 2, 'it is listed still');
    assert.ok(held);
    await db.collection('journal').insertOne(held);
    await beatUntil(heir, 'it is finished', async () => (await heir.journal.transaction(id)) !== null);
    assert.is((await heir.journal.head(account)).seq, 1);
    // Of one that knew what had become of all nothing can come.
    await dead.close();
    assert.is((await collection(db, 'processes').findOne({ _id: 'dead' }))?.left, true);
    await beatUntil(
      heir,
      'it is gone',
      async () => (await db.collection('processes').countDocuments()) === 1,
    );
  }));

test('what comes behind many later batches of a dead process is finished, too', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const dead = await database.open('dead');
    const heir = await database.open('heir');
    await Promise.all(Array.from({ length: 1_200 }, () => charged(dead)));
    // Of two inserts that went ahead beside each other a network that was cut holds the first one back.
    const late = { _id: { $lt: documentId('dead', 100) } };
    const held = await collection(db, 'journal').find(late).toArray();
    const last = { _id: { $gt: documentId('dead', 1_190) } };
    const cut = [...held, ...(await collection(db, 'journal').find(last).toArray())];
    await collection(db, 'journal').deleteMany(late);
    const transactions = ({ entries }: Document): string[] =>
      entries.map(({ transaction }: Document) => transaction);
    await killed(database, 'dead', cut.flatMap(transactions));
    const beatAt = new Date(heir.now() - 60_000);
    await collection(db, 'processes').updateOne({ _id: 'dead' }, { $set: { beatAt } });
    const projected = (): Promise<number> => db.collection('transactions').countDocuments();
    await beatUntil(heir, 'the others are finished', async () => (await projected()) === 1_200 - held.length);
    // Whoever read the last page has said what it says of it.
    await sleep(500);
    await heir.due.beat(heir.now());
    await collection(db, 'journal').insertMany(held);
    await beatUntil(heir, 'all are finished', async () => (await projected()) === 1_200);
  }));

test('what comes late of a dead process is finished where hundreds died since', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const dead = await database.open('dead');
    const [account, id] = await charged(dead);
    const held = await db.collection('journal').findOne({ account });
    await db.collection('journal').deleteMany({ account });
    await killed(database, 'dead', [id]);
    const minutesAgo = (minutes: number): Date => new Date(dead.now() - minutes * 60_000);
    await collection(db, 'processes').updateOne({ _id: 'dead' }, { $set: { beatAt: minutesAgo(8) } });
    const others = Array.from({ length: 250 }, (_, n) => ({
      ...{ _id: `c${n}`, projected: 0 },
      beatAt: minutesAgo(7 - n / 50),
    }));
    await collection(db, 'processes').insertMany(others);
    // One that died just now waits for none of them.
    const fresh = await database.open('e');
    const [, freshId] = await charged(fresh);
    await killed(database, 'e', [freshId]);
    const heir = await database.open('heir');
    const beatAt = new Date(heir.now() - 6_500);
    await collection(db, 'processes').updateOne({ _id: 'e' }, { $set: { beatAt } });
    await heir.due.beat(heir.now());
    await until(async () => (await heir.journal.transaction(freshId)) !== null, 1_000, 'the fresh one');
    assert.ok(held);
    await db.collection('journal').insertOne(held);
    await beatUntil(heir, 'it is finished', async () => (await heir.journal.transaction(id)) !== null);
    // Those whose time is over are forgotten, however many they are.
    await collection(db, 'processes').updateMany({ _id: /^c/ }, { $set: { beatAt: minutesAgo(16) } });
    const listed = (): Promise<number> => collection(db, 'processes').countDocuments({ _id: /^c/ });
    await beatUntil(heir, 'they are forgotten', async () => (await listed()) === 0);
  }));

test('a number that failed pins nothing: it is finished at a heartbeat, or noted', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const unprojectable: AttentionItem[] = [];
    const store = await database.open('a', { unprojectable });
    const projected = async (): Promise<number> => (await db.collection('processes').findOne({}))?.projected;
    const fails = (): Promise<boolean> =>
      charged(store, POISON).then(
        () => false,
        () => true,
      );

    await store.due.beat(store.now());
    await database.takeOnly('transactions', NO_POISON);
    assert.ok(await fails(), 'its caller is told');
    for (let n = 0; n < 4; n += 1) await charged(store);
    await database.takeOnly('transactions');
    await beatUntil(store, 'all projected', async () => (await projected()) === 5);
    assert.is(await db.collection('transactions').countDocuments({}), 5);
    same(unprojectable, []);

    await database.takeOnly('transactions', NO_POISON);
    assert.ok(await fails());
    await charged(store);
    await beatUntil(store, 'all done with', async () => (await projected()) === 7);
    assert.is(unprojectable.length, 1);
  }));

test('the batches of a dead process are read in pages, those that are projected at little cost', (server) =>
  onDatabase(server, async (database) => {
    const { db } = database;
    const dead = await database.open('dead');
    const heir = await database.open('heir');
    const charges = await Promise.all(Array.from({ length: 1_200 }, () => charged(dead)));
    const cut = charges.filter((_, index) => index % 200 === 0).map(([, id]) => id);
    await killed(database, 'dead', cut);
    await db.createCollection('system.profile', { capped: true, size: 64 * 1024 * 1024 });
    await db.command({ profile: 2 });
    await beatUntil(
      heir,
      'nothing left',
      async () => (await db.collection('processes').countDocuments()) === 1,
    );
    await db.command({ profile: 0 });
    assert.is(await db.collection('transactions').countDocuments({}), 1_200);
    const asked = await db.collection('system.profile').countDocuments({
      appName: 'pixstate',
      ns: { $in: [`${db.databaseName}.journal`, `${db.databaseName}.transactions`] },
    });
    assert.ok(asked < 300, `${asked} commands for 1,200 batches`);
  }));

test('a heartbeat whose answer was late sets nothing back', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const now = store.now();
    await store.due.beat(now);
    await store.due.beat(now - 3_000);
    assert.equal((await database.db.collection('processes').findOne({}))?.beatAt, new Date(now));
  }));

test('what a process left that died before the clock was set back is finished as soon as ever', (server) =>
  onDatabase(server, async (database) => {
    const dead = await database.open('dead');
    const [account, transaction] = await charged(dead);
    await collection(database.db, 'transactions').deleteMany({ _id: transaction });
    const wrong = new Date(dead.now() + 3_600_000);
    await collection(database.db, 'processes').updateOne(
      { _id: 'dead' },
      { $set: { beatAt: wrong, projected: 0 } },
    );
    const heir = await database.open('heir', { silentAfterMs: 500 });
    // As each server does that sees it.
    await heir.due.rewind(heir.now());
    await beatUntil(heir, 'the charge', async () => (await heir.journal.transaction(transaction)) !== null);
    assert.is((await heir.journal.transaction(transaction))?.account, account);
  }));

test('what a process left of an account whose time is ahead is due by the clock', (server) =>
  onDatabase(server, async (database) => {
    const dead = await database.open('dead');
    // The account's last entry was dated by a clock that was an hour ahead, and no time of an account goes back.
    const wrong = dead.now() + HOUR_MS;
    const timers = [{ name: 'expiry', at: new Date(wrong).toISOString() }];
    const charge = chargeCreated(wrong, { urls: ['https://example.com/hook'], timers });
    const cashout = cashoutCreated(wrong, { orders: [{ kind: 'payout' }] });
    await grow(dead, randomUUID(), [charge, cashout]);
    await collection(database.db, 'deliveries').deleteMany({});
    await killed(database, 'dead', [charge.transaction, cashout.transaction]);
    const heir = await database.open('heir', { silentAfterMs: 500 });
    await beatUntil(heir, 'both', async () => {
      const records = [charge, cashout].map(({ transaction }) => heir.journal.transaction(transaction));
      return (await Promise.all(records)).every((record) => record !== null);
    });
    for (const kind of ['timer', 'bank', 'delivery'] as const)
      assert.is((await heir.due.claim(kind, heir.now(), 10)).length, 1, kind);
  }));

test('a process that others are ahead of each time says so, until it was first once', (server) =>
  onDatabase(server, async (database) => {
    const [ahead, behind] = [await database.open('ahead'), await database.open('behind')];
    const account = randomUUID();
    const left = async (): Promise<unknown> =>
      (await collection(database.db, 'processes').findOne({ _id: 'behind' }))?.heldUp;
    for (let late = 1; late <= 3; late += 1) {
      assert.is(await left(), undefined);
      const head = await behind.journal.head(account);
      await grow(ahead, account, [chargeCreated(ahead.now())]);
      const append = appendAfter(account, head, [chargeCreated(behind.now())]);
      same(await behind.journal.append(append), { outcome: 'stale' });
    }
    await until(async () => (await left()) !== undefined, DONE_MS, 'it is said');
    assert.equal(await left(), [account]);
    await behind.due.beat(behind.now());
    assert.equal(await left(), [account], 'with the heartbeat, too');
    await grow(behind, account, [chargeCreated(behind.now())]);
    await behind.due.beat(behind.now());
    assert.is(await left(), undefined);
  }));

test('a process that was forgotten while it was frozen is there again before it appends', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a', { silentAfterMs: 200 });
    await charged(store);
    await database.db.collection('processes').deleteMany({});
    await sleep(250);
    await charged(store);
    assert.is(await database.db.collection('processes').countDocuments({}), 1);
  }));

for (const [name, collectionName, key] of [
  ['account_seq', 'journal', { account: 1, seq: 1 }],
  ['clientId', 'accounts', { clientId: 1 }],
] as const)
  test(`an index ${name} that isn’t unique is named, and ends the start`, (server) =>
    onDatabase(server, async (database) => {
      await database.db.collection(collectionName).createIndex(key, { name });
      const said: string[] = [];
      void database.open('a', { said });
      await until(() => said.length > 0, DONE_MS, 'a sentence');
      assert.match(said.join('\n'), new RegExp(`${collectionName}\\.${name} must be unique .*drop it`));
      assert.is(said.join('\n').includes('\n'), false);
    }));

test('an index of one of our names with other keys ends the start', (server) =>
  onDatabase(server, async (database) => {
    await database.db.collection('deliveries').createIndex({ due: 1 }, { name: 'parked_due' });
    const said: string[] = [];
    void database.open('a', { said });
    await until(() => said.length > 0, DONE_MS, 'a sentence');
    assert.match(said.join('\n'), /deliveries\.parked_due must be/);
  }));

suite.run();
