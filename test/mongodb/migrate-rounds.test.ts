/** Moves from the embedded store to MongoDB, store to store: all at once, and killed at many writes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Due } from '../../src/engine/store/due.ts';
import type { Store } from '../../src/engine/store.ts';
import { openMongoStore } from '../../src/store/mongo/store.ts';
import {
  ALL,
  contentOfAccounts,
  drainDue,
  dueNow,
  type Life,
  mortal,
  NOW,
  newKey,
  oldKey,
  openFolderStore,
  run,
  Scene,
} from '../migration/support.ts';
import { same } from '../store/contract/harness.ts';
import { freshDatabase } from '../support/mongodb.ts';

const test = suite('migration to mongodb');
const scene = new Scene();
test.after(() => scene.remove());

let incarnations = 0;
let clock = NOW;

/** Whoever opened it before has fallen silent. */
async function openOn(uri: string): Promise<Store> {
  incarnations += 1;
  clock += 60_000;
  const now = clock;
  const store = openMongoStore({
    uri,
    incarnation: `mongo${incarnations}`,
    now: () => now,
    silentAfterMs: 5_000,
    leaseMs: 10_000,
    onUnusable: (reason) => {
      throw new Error(reason);
    },
    onNotice: () => {},
  });
  await store.ready;
  return store;
}

const timeless = (due: readonly (Due | string)[]): string[] =>
  [
    ...new Set(
      due.map((each) => {
        const parsed = typeof each === 'string' ? JSON.parse(each) : each;
        return JSON.stringify({ ...parsed, at: 0 }, Object.keys({ ...parsed, ...parsed.order }).sort());
      }),
    ),
  ].sort();

interface Expected {
  content: object;
  heads: object;
  due: string[];
}

/** What the target must have in the end. A timer that its transaction has no more is no use to anybody. */
async function expected(): Promise<Expected> {
  const store = await openFolderStore(await scene.copy());
  const content = await contentOfAccounts(store, ALL, oldKey);
  const { heads = [] } = await verifyStore(store.journal, {
    heads: true,
    decide: false,
    everyDoorSpeaks: true,
  });
  const all = await drainDue(store, ALL);
  const due: string[] = [];
  for (const each of [...all.due, ...all.parked]) {
    const parsed: Due = JSON.parse(each);
    const record = await store.journal.transaction(parsed.transaction);
    if (parsed.kind === 'timer' && !record?.timers.some(({ name }) => name === parsed.name)) continue;
    due.push(each);
  }
  await store.close();
  return { content, heads, due: timeless(due) };
}

async function expectMoved(target: Store, wanted: Expected): Promise<void> {
  const report = await verifyStore(target.journal, { heads: true, decide: true, everyDoorSpeaks: true });
  same(report.differences, []);
  same(report.heads, wanted.heads, 'the heads');
  same(await contentOfAccounts(target, ALL, newKey), wanted.content, 'the content');
}

/** It is killed at each of its writes that this divides: `KILL_EVERY`, 1 for all of them. */
const EVERY = Number(process.env.KILL_EVERY ?? 8);

test('all accounts move, with what is due and what needs a person', async () => {
  const wanted = await expected();
  const database = await freshDatabase();
  const source = await openFolderStore(await scene.copy());
  const items = await source.attention.page({}, null, 1_000);
  const target = await openOn(database.uri);
  const moved = await run({ source, target });
  assert.ok(moved.every((account) => account.moved));
  await expectMoved(target, wanted);
  same(timeless(await dueNow(target, ALL)), wanted.due);
  same(
    (await target.attention.page({}, null, 1_000)).map(({ id }) => id).sort(),
    items.map(({ id }) => id).sort(),
  );
  same(await drainDue(source, ALL), { due: [], parked: [] });
  same(
    (await run({ source, target })).map((account) => account.moved),
    ALL.map(() => false),
  );
  await expectMoved(target, wanted);
  await source.close();
  await target.close();
});

test('killed at many writes, it goes on where it stopped', async () => {
  const wanted = await expected();
  let kills = 0;
  for (const lastTakesEffect of [false, true]) {
    for (let writesLeft = 0; ; writesLeft += EVERY) {
      const life: Life = { writesLeft, lastTakesEffect, isOver: false };
      const database = await freshDatabase();
      const folder = await scene.copy();
      const dying = { source: await openFolderStore(folder), target: await openOn(database.uri) };
      await run({ source: mortal(dying.source, life), target: mortal(dying.target, life) }).catch(() => {});
      await dying.source.close();
      await dying.target.close();
      const [source, target] = [await openFolderStore(folder), await openOn(database.uri)];
      await run({ source, target });
      await expectMoved(target, wanted);
      same(timeless(await dueNow(target, ALL)), wanted.due, 'what is due');
      same(await drainDue(source, ALL), { due: [], parked: [] });
      await source.close();
      await target.close();
      await database.drop();
      if (!life.isOver) break;
      kills += 1;
    }
  }
  console.log(`${kills} kills, one every ${EVERY} writes`);
  assert.ok(kills > 80 / EVERY, `${kills} kills`);
});

test.run();
