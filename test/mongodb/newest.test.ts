/** The newest batches of all accounts from a time on: searched for, however much came later. */
import { randomUUID } from 'node:crypto';
import { type Db, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import type { JournalDocument } from '../../src/store/mongo/documents.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase } from '../support/mongodb.ts';

interface Scene {
  store: MongoStore;
  db: Db;
}

const { test, run } = fixtureSuite<Scene>('the newest batches of a database', async (defer) => {
  const database = await freshDatabase();
  defer(() => database.drop());
  const store = new MongoStore({
    ...{ uri: database.uri, incarnation: 'lister', silentAfterMs: 5_000, leaseMs: 10_000 },
    onUnusable: (reason) => assert.unreachable(reason),
    onNotice: () => {},
  });
  defer(() => store.close());
  await store.ready;
  const client = await new MongoClient(database.uri, { appName: 'test' }).connect();
  defer(() => client.close());
  return { store, db: client.db() };
});

const START = 1_700_000_000_000;
const INSERTED_TOGETHER = 2_000;

/** Journals of accounts, each with batches of these times (ms); nothing but what a list reads is right in them. */
async function fill({ store, db }: Scene, journals: ReadonlyMap<string, readonly number[]>): Promise<void> {
  const journal = db.collection<JournalDocument>('journal');
  await grow(store, `acc_${randomUUID()}`, [chargeCreated(START)]);
  const one = await journal.findOneAndDelete({});
  if (one === null) throw new Error('nothing was appended');
  for (const [account, times] of journals)
    for (let from = 0; from < times.length; from += INSERTED_TOGETHER) {
      const some = times.slice(from, from + INSERTED_TOGETHER);
      const documents = some.map((time, index) => ({
        ...one,
        ...{ _id: `${account} ${from + index}`, account, seq: from + index + 1, at: new Date(time) },
      }));
      await journal.insertMany(documents, { ordered: false });
    }
}

/** How many documents the database looked at for a work. */
async function examined(db: Db, work: () => Promise<void>): Promise<number> {
  const before = new Date();
  await db.command({ profile: 2 });
  try {
    await work();
  } finally {
    await db.command({ profile: 0 });
  }
  const asked = { ts: { $gte: before }, appName: 'pixstate' };
  const entries = await db.collection('system.profile').find(asked).toArray();
  assert.ok(entries.length > 0, 'the profile has what was asked');
  return entries.reduce((sum, { docsExamined = 0 }) => sum + Number(docsExamined), 0);
}

test('a page from an old time on costs no more where much came later', async (scene) => {
  const { store, db } = scene;
  const accounts = ['a', 'b', 'c'].map((name) => `acc_${name}`);
  const times = Array.from({ length: 10_000 }, (_, nth) => START + nth * 1_000);
  await fill(scene, new Map(accounts.map((account) => [account, times])));
  for (const [after, expected] of [
    [-1, 0],
    [5, 18],
    [5_000, 20],
    [9_990, 20],
  ] as const) {
    const cost = await examined(db, async () => {
      const place = await store.journal.placeUntil(START + after * 1_000);
      const { batches } = await store.journal.newest(place, 20);
      assert.is(batches.length, expected, `${after} s`);
      for (const { batch } of batches) assert.ok(Date.parse(batch.at) <= START + after * 1_000);
    });
    assert.ok(cost < 500, `${cost} documents are looked at for ${after} s`);
  }
  await db.collection('journal').deleteMany({});
});

test('it has the batches that all of them in order have, of many accounts and at the same times', async (scene) => {
  const { store, db } = scene;
  const journals = new Map(
    Array.from({ length: 60 }, (_, nth): [string, number[]] => {
      const length = (nth * 37) % 90;
      // Several batches of a time, and accounts that began late or ended early.
      return [`acc_${nth}`, Array.from({ length }, (_, index) => START + nth * 500 + 1_000 * (index >> 2))];
    }),
  );
  await fill(scene, journals);
  const all = [...journals].flatMap(([account, times]) =>
    times.map((at, index) => ({ account, seq: index + 1, at })),
  );
  const newestFirst = all.sort(
    (a, b) => b.at - a.at || (a.account < b.account ? 1 : a.account > b.account ? -1 : b.seq - a.seq),
  );
  for (let time = START - 500; time < START + 55_000; time += 2_500) {
    const made = newestFirst.filter(({ at }) => at <= time).map(({ account, seq }) => `${account} ${seq}`);
    const seen: string[] = [];
    for (let from = await store.journal.placeUntil(time); from !== null && seen.length < 60; ) {
      const { batches, next } = await store.journal.newest(from, 15);
      seen.push(...batches.map(({ batch }) => `${batch.account} ${batch.seq}`));
      from = next;
    }
    assert.equal(seen, made.slice(0, seen.length), `${time - START} ms`);
    assert.ok(seen.length >= Math.min(60, made.length), `${time - START} ms`);
  }
  await db.collection('journal').deleteMany({});
});

run();
