/** A migration that is killed at any write, here or there, and given again: it ends as one that wasn't. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Store } from '../../src/engine/store.ts';
import { same } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import {
  A,
  ALL,
  B,
  contentOfAccounts,
  drainDue,
  dueNow,
  EMPTY,
  fillScene,
  type Life,
  mortal,
  newKey,
  oldKey,
  openFolderStore,
  openMemory,
  run,
  Scene,
} from './support.ts';

const test = suite('interrupted migration');
const scene = new Scene();
test.after(() => scene.remove());

const timeless = (due: readonly string[]): string[] =>
  due.map((each) => JSON.stringify({ ...JSON.parse(each), at: 0 })).sort();

interface Expected {
  moved: readonly string[];
  stay: readonly string[];
  content: object;
  others: object;
  due: string[];
  othersDue: string[];
}

async function expected(moved: readonly string[]): Promise<Expected> {
  const store = await openFolderStore(await scene.copy());
  const stay = ALL.filter((id) => !moved.includes(id));
  const content = await contentOfAccounts(store, moved, oldKey);
  const others = await contentOfAccounts(store, stay, oldKey);
  // What was parked may have become due at once: then its time is another one.
  const all = await drainDue(store, ALL);
  const of = (accounts: readonly string[]) =>
    timeless([...all.due, ...all.parked].filter((each) => accounts.includes(JSON.parse(each).account)));
  await store.close();
  return { moved, stay, content, others, due: of(moved), othersDue: of(stay) };
}

/** Nobody acts in two places: the target does nothing for an account that isn't off in the source. */
async function expectOneOwner(source: Store, target: Store): Promise<void> {
  for (const id of ALL) {
    const [here, there] = [await source.accounts.get(id), await target.accounts.get(id)];
    if (here?.status === 'inactive' && here.userStatus === 'inactive') continue;
    same(there?.allowedIps ?? [], [], 'nobody gets in');
    same(await dueNow(target, [id]), [], 'nothing is due');
  }
}

async function expectMoved(source: Store, target: Store, wanted: Expected): Promise<void> {
  const report = await verifyStore(target.journal, { heads: true, decide: true, everyDoorSpeaks: true });
  same(report.differences, []);
  same(await contentOfAccounts(target, wanted.moved, newKey), wanted.content, 'the content');
  same(await contentOfAccounts(source, wanted.stay, oldKey), wanted.others, 'the others');
  const there = await drainDue(target, ALL);
  same(there.parked, []);
  same([...new Set(timeless(there.due))].sort(), [...new Set(wanted.due)].sort(), 'nothing due is lost');
  const here = await drainDue(source, ALL);
  same(timeless([...here.due, ...here.parked]), wanted.othersDue, 'what is due of the others');
  for (const id of wanted.moved) assert.is((await source.accounts.get(id))?.userStatus, 'inactive');
}

/** Two stores that can be opened again and again. */
interface Place {
  /** A folder's rows of due things may be read again once some of theirs have ended: those come twice then. */
  isFolder: boolean;
  openSource(): Promise<Store>;
  openTarget(): Promise<Store>;
}

/** Kills a run at its n-th write and runs again; true where the first run came to its end. */
async function round(
  life: Life,
  wanted: Expected,
  { isFolder, openSource, openTarget }: Place,
): Promise<boolean> {
  const accounts = wanted.stay.length === 0 ? null : wanted.moved;
  const first = { source: await openSource(), target: await openTarget() };
  const dying = { source: mortal(first.source, life), target: mortal(first.target, life) };
  const isWhole = await run({ ...dying, accounts }).then(
    () => true,
    () => false,
  );
  await first.source.close();
  await first.target.close();
  assert.is(isWhole, !life.isOver);
  const source = await openSource();
  const target = await openTarget();
  await expectOneOwner(source, target);
  const again = await run({ source, target, accounts });
  same(again.map(({ accountId }) => accountId).sort(), [...wanted.moved].sort());
  const { length } = await dueNow(target, ALL);
  const due = isFolder ? wanted.due : [...new Set(wanted.due)];
  if (isWhole) assert.is(length, due.length, 'nothing is due twice');
  await expectMoved(source, target, wanted);
  await source.close();
  await target.close();
  return isWhole;
}

async function killedEverywhere(
  moved: readonly string[],
  step: number,
  newPlace: () => Promise<Place>,
): Promise<void> {
  const wanted = await expected(moved);
  let kills = 0;
  for (const lastTakesEffect of [false, true]) {
    for (let writesLeft = 0; ; writesLeft += step) {
      const life = { writesLeft, lastTakesEffect, isOver: false };
      if (await round(life, wanted, await newPlace())) break;
      kills += 1;
    }
  }
  assert.ok(kills * step > 60, `${kills} kills`);
}

async function inMemory(): Promise<Place> {
  const [source, target] = [new MemoryState(), new MemoryState()];
  await fillScene(openMemory(source));
  return {
    isFolder: false,
    openSource: async () => openMemory(source),
    openTarget: async () => openMemory(target),
  };
}

async function onDisk(): Promise<Place> {
  const [source, target] = [await scene.copy(), await scene.empty()];
  return {
    isFolder: true,
    openSource: () => openFolderStore(source),
    openTarget: () => openFolderStore(target),
  };
}

test('killed at every write while all accounts move', () => killedEverywhere(ALL, 1, inMemory));

test('killed at every write while one account moves', () => killedEverywhere([B], 1, inMemory));

test('killed at some writes on disk', async () => {
  await killedEverywhere(ALL, 9, onDisk);
  await killedEverywhere([A, EMPTY], 7, onDisk);
});

test.run();
