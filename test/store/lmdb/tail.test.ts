/** The end of the log beside the one who writes it: what is watched, from when on, and what is passed over. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newIncarnation, now } from '../../../src/clock.ts';
import type { Tail, Watched } from '../../../src/engine/store/tail.ts';
import { type Follower, type OpenStore, openFolderStore, openFollower } from '../../../src/store/open.ts';
import { temporaryFolder } from '../../support/process.ts';
import { chargeCreated, deliveryRecord, grow } from '../contract/builders.ts';

interface Scene {
  folder: string;
  opened: OpenStore;
  follower: Follower;
  tail: Tail;
}

const test = suite<Scene>('the tail of the log');

test.before.each(async (context) => {
  context.folder = await temporaryFolder();
  const incarnation = newIncarnation();
  const onFatal = (error: Error): never => {
    throw error;
  };
  context.opened = await openFolderStore(context.folder, { incarnation, now, access: 'make', onFatal });
  await grow(context.opened.store, 'acc_before', [chargeCreated(now())]);
  context.follower = await openFollower({ dataDir: context.folder, mongodbUri: null }, { incarnation, now });
  context.tail = await context.follower.tail();
});
test.after.each(async ({ folder, opened, follower }) => {
  await follower.close();
  await opened.close();
  await rm(folder, { recursive: true });
});

function watched(parts: { all?: boolean; accounts?: string[]; transactions?: string[] }): Watched {
  const { all = false, accounts = [], transactions = [] } = parts;
  return { all, accounts: new Set(accounts), transactions: new Set(transactions) };
}

test('what was there before is none of it, and nothing comes twice', async ({ opened, tail }) => {
  assert.equal(await tail.next(watched({ all: true })), { batches: [], deliveries: [], passed: 0 });
  const { append } = await grow(opened.store, 'acc_before', [chargeCreated(now()), chargeCreated(now())]);
  assert.equal(await tail.next(watched({ all: true })), {
    batches: [append.batch],
    deliveries: [],
    passed: 0,
  });
  assert.equal((await tail.next(watched({ all: true }))).batches, []);
});

test('a durable batch is seen at once', async ({ opened, tail }) => {
  for (let count = 0; count < 100; count++) {
    const { append } = await grow(opened.store, 'acc_a', [chargeCreated(now())]);
    assert.equal((await tail.next(watched({ all: true }))).batches, [append.batch], `round ${count}`);
  }
});

test('an account or a transaction is watched by itself, with its deliveries', async ({ opened, tail }) => {
  const { store } = opened;
  const charge = chargeCreated(now(), { urls: ['http://127.0.0.1:9/'] });
  const own = await grow(store, 'acc_a', [charge]);
  const other = await grow(store, 'acc_b', [chargeCreated(now())]);
  assert.equal((await tail.next(watched({ accounts: ['acc_b'] }))).batches, [other.append.batch]);
  const delivery = charge.events[0]?.deliveries[0]?.id ?? '';
  const record = deliveryRecord('acc_a', charge.transaction, now(), delivery);
  await store.due.settle([{ claim: null, next: null, record }]);
  const stranger = deliveryRecord('acc_b', randomUUID(), now());
  await store.due.settle([{ claim: null, next: null, record: stranger }]);
  const later = await grow(store, 'acc_a', [chargeCreated(now())]);
  const news = await tail.next(watched({ transactions: [charge.transaction] }));
  assert.equal(news.deliveries, [record]);
  assert.not.ok(news.batches.some(({ hash }) => hash === later.append.batch.hash));
  assert.is(own.append.batch.seq, 1);
});

test('more than can be read is passed over, and said', async ({ opened, tail }) => {
  const accounts = Array.from({ length: 200 }, (_, index) => `acc_${index}`);
  const rounds = 110;
  for (let round = 0; round < rounds; round++)
    await Promise.all(accounts.map((account) => grow(opened.store, account, [chargeCreated(now())])));
  const total = rounds * accounts.length;
  const first = await tail.next(watched({ all: true }));
  assert.ok(first.passed > 0);
  assert.is(first.passed + first.batches.length, total);
  assert.is(first.batches.at(-1)?.seq, rounds, 'the newest are read');
  assert.equal(await tail.next(watched({ all: true })), { batches: [], deliveries: [], passed: 0 });
});

test.run();
