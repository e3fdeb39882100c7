/** What comes to a database, as one who watches it reads it: also of processes that left meanwhile, and much at once. */
import { randomUUID } from 'node:crypto';
import { type Db, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import type { Tail, Watched } from '../../src/engine/store/tail.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { sleep, until } from '../support/wait.ts';

interface Scene {
  db: Db;
  open(incarnation: string): Promise<MongoStore>;
  /** Beats, and forgets who is gone. */
  stays: MongoStore;
}

/** A look at the processes is a second after the one before. */
const LOOK_MS = 1_050;
const ALL: Watched = { all: true, accounts: new Set(), transactions: new Set() };

const { test, run } = fixtureSuite<Scene>('the tail of a database', async (defer) => {
  const database = await freshDatabase();
  defer(() => database.drop());
  const open = async (incarnation: string): Promise<MongoStore> => {
    const store = new MongoStore({
      ...{ uri: database.uri, incarnation, silentAfterMs: 5_000, leaseMs: 10_000 },
      onUnusable: (reason) => assert.unreachable(reason),
      onNotice: () => {},
    });
    defer(() => store.close());
    await store.ready;
    return store;
  };
  const client = await new MongoClient(database.uri).connect();
  defer(() => client.close());
  const stays = await open('stays');
  await stays.due.beat(stays.now());
  return { db: client.db(), open, stays };
});

/** A charge of a new account; the account. */
async function charged(store: MongoStore): Promise<string> {
  const account = randomUUID();
  await grow(store, account, [chargeCreated(store.now())]);
  return account;
}

/** The accounts of what the next look finds. */
async function found(tail: Tail): Promise<string[]> {
  await sleep(LOOK_MS);
  const { batches, passed } = await tail.next(ALL);
  assert.is(passed, 0);
  return batches.map(({ account }) => account);
}

function listed(db: Db): Promise<string[]> {
  return db.collection<{ _id: string }>('processes').distinct('_id');
}

test('a process that came, wrote and left between two looks is heard, once', async ({ db, open, stays }) => {
  const tail = stays.tail();
  await tail.next(ALL);
  const brief = await open('brief');
  const account = await charged(brief);
  await brief.close();
  await stays.due.beat(stays.now());
  await stays.due.beat(stays.now());
  assert.equal(await found(tail), [account]);
  await until(
    async () => {
      await stays.due.beat(stays.now());
      return !(await listed(db)).includes('brief');
    },
    10_000,
    'it is forgotten',
  );
  assert.equal(await found(tail), []);
});

test('what a process wrote last is read though it is forgotten', async ({ db, open, stays }) => {
  const tail = stays.tail();
  const dead = await open('dead');
  const before = await charged(dead);
  await tail.next(ALL);
  const last = [await charged(dead), await charged(dead)];
  await db.collection<{ _id: string }>('processes').deleteOne({ _id: 'dead' });
  const accounts = await found(tail);
  assert.equal(accounts, last);
  assert.not(accounts.includes(before));
  assert.equal(await found(tail), []);
});

test('what a process writes is heard where 200 died before it', async ({ db, open }) => {
  const beatAt = new Date(Date.now() - 600_000);
  const dead = Array.from({ length: 200 }, (_, n) => ({ _id: `killed${n}`, beatAt, projected: 0 }));
  const processes = db.collection<{ _id: string; beatAt: Date }>('processes');
  await processes.insertMany(dead);
  try {
    const lives = await open('lives');
    await lives.due.beat(lives.now());
    const tail = lives.tail();
    await tail.next(ALL);
    const account = await charged(lives);
    assert.equal(await found(tail), [account]);
  } finally {
    await processes.deleteMany({ _id: /^killed/ });
  }
});

test('1,800 batches of a process come with one look', async ({ stays }) => {
  const tail = stays.tail();
  await tail.next(ALL);
  const accounts = await Promise.all(Array.from({ length: 1_800 }, () => charged(stays)));
  assert.equal((await found(tail)).sort(), accounts.sort());
  assert.equal(await found(tail), []);
});

run();
