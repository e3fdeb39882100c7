import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Accounts } from '../../src/accounts/manage.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import { HandedOver } from '../../src/engine/actors/host.ts';
import type { Store } from '../../src/engine/store.ts';
import { keepCharts } from '../../src/engine/versions.ts';
import { OperatorError } from '../../src/errors.ts';
import { iso } from '../store/contract/builders.ts';
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
  mortal,
  NOW,
  newKey,
  oldKey,
  openFolderStore,
  openMemory,
  Process,
  run,
  Scene,
} from './support.ts';

const test = suite('migration');
const scene = new Scene();
test.after(() => scene.remove());

const heads = async (store: Store) => {
  const report = await verifyStore(store.journal, { heads: true, decide: true, everyDoorSpeaks: true });
  same(report.differences, []);
  return (report.heads ?? []).sort((one, other) => (one.account < other.account ? -1 : 1));
};

/** The settings as they are in a source that was moved. */
async function expectOff(source: Store, accounts: readonly string[]): Promise<void> {
  for (const id of accounts) {
    const account = await source.accounts.get(id);
    assert.is(account?.status, 'inactive', id);
    assert.is(account?.userStatus, 'inactive', id);
    assert.is(account?.handedOver, true, id);
  }
}

test('all accounts move, with all that they have', async () => {
  const folder = await scene.copy();
  const before = await openFolderStore(await scene.copy());
  const source = await openFolderStore(folder);
  const target = openMemory(new MemoryState());
  const told = await run({ source, target });

  same(
    told.map(({ accountId, moved }) => ({ accountId, moved })),
    ALL.map((accountId) => ({ accountId, moved: true })),
  );
  const content = await contentOfAccounts(before, ALL, oldKey);
  same(await contentOfAccounts(target, ALL, newKey), content, 'the content');
  const headsBefore = await heads(before);
  same(await heads(source), headsBefore);
  same(await heads(target), headsBefore);
  same(
    told.map(({ accountId, seq, hash }) => ({ account: accountId, seq, hash })),
    headsBefore,
  );
  const attention = await before.attention.page({}, null, 1_000);
  assert.ok(attention.length >= 10, `${attention.length} items`);
  same(
    (await target.attention.page({}, null, 1_000)).map((item) => JSON.stringify(item)).sort(),
    attention.map((item) => JSON.stringify(item)).sort(),
  );
  const due = await drainDue(before, ALL);
  assert.ok(due.due.length > 40 && due.parked.length === 4, `${due.due.length}, ${due.parked.length}`);
  const there = await drainDue(target, ALL);
  const unparked = there.due.map((each) => JSON.stringify({ ...JSON.parse(each), at: 0 }));
  same(
    there.due.filter((each) => due.due.includes(each)),
    due.due,
    'what is due',
  );
  for (const parked of due.parked) assert.ok(unparked.includes(parked), parked);
  assert.is(there.due.length, due.due.length + due.parked.length);

  await expectOff(source, ALL);
  same(await source.attention.page({}, null, 1_000), []);
  same(await drainDue(source, ALL), { due: [], parked: [] });
  for (const store of [source, before, target]) await store.close();
});

test('one account moves, and the others stay as they are', async () => {
  const folder = await scene.copy();
  const before = await openFolderStore(await scene.copy());
  const source = await openFolderStore(folder);
  const target = openMemory(new MemoryState());
  same(
    (await run({ source, target, accounts: [B, B] })).map(({ accountId }) => accountId),
    [B],
  );
  same(await target.journal.accountIds('', 10), [B]);
  same(await contentOfAccounts(target, [B], newKey), await contentOfAccounts(before, [B], oldKey));
  same(
    await contentOfAccounts(source, [A, EMPTY], oldKey),
    await contentOfAccounts(before, [A, EMPTY], oldKey),
  );
  await expectOff(source, [B]);
  const [here, there] = [
    await source.attention.page({}, null, 1_000),
    await target.attention.page({}, null, 1_000),
  ];
  same(
    [...here, ...there].map(({ id }) => id).sort(),
    (await before.attention.page({}, null, 1_000)).map(({ id }) => id).sort(),
    'no item is lost, none is in both',
  );
  assert.ok(here.some(({ id }) => id === 'msg_of_nobody'));
  same([...new Set(there.map(({ kind }) => kind))].sort(), ['dead', 'quarantined', 'refused', 'return']);
  same(await drainDue(source, [B]), { due: [], parked: [] });
  for (const store of [source, before, target]) await store.close();
});

test('a folder does nothing more for what has moved, not even where all is made again from its log', async () => {
  const folder = await scene.copy();
  const source = await openFolderStore(folder);
  await run({ source, target: openMemory(new MemoryState()), accounts: [B] });
  const head = await source.journal.head(B);
  await source.close();
  await rm(`${folder}/pixstate.projections`);
  const again = await openFolderStore(folder);
  const due = await dueNow(again, ALL);
  assert.ok(due.length > 20, `${due.length} due`);
  same([...new Set(due.map(({ account }) => account))], [A]);
  const { payments } = new Process(again, 'f');
  const waiting = await again.journal.waiting('cashout', null, iso(NOW), 100);
  const own = waiting.filter(({ account }) => account === B);
  assert.ok(own.length > 0);
  for (const record of own) {
    const error = await payments
      .tell(record, { id: 'm', type: 'CANCEL', data: {} }, 'ops')
      .catch((each) => each);
    assert.instance(error, HandedOver);
  }
  same(await again.journal.head(B), head);
  // Whoever goes back to the folder says so.
  await new Accounts(again.accounts, oldKey, () => NOW).set(B, { status: 'active' });
  assert.is((await again.accounts.get(B))?.handedOver, undefined);
  await again.close();
});

test('what is due of others stays due at its time, what is parked stays parked', async () => {
  const before = await openFolderStore(await scene.copy());
  const source = await openFolderStore(await scene.copy());
  const target = openMemory(new MemoryState());
  await run({ source, target, accounts: [B] });
  same(await drainDue(source, [A]), await drainDue(before, [A]));
  for (const store of [source, before, target]) await store.close();
});

test('a stuck cashout that ops were done with stays done with', async () => {
  const source = await openFolderStore(await scene.copy());
  const target = openMemory(new MemoryState());
  const open = await source.journal.waiting('cashout', null, iso(NOW), 100);
  const marks = open.map(({ id, updatedAt }) => `${id}@${updatedAt}`);
  const dismissed = await source.attention.dismissed(marks);
  assert.is(dismissed.filter((each) => each).length, 2);
  await run({ source, target });
  same(await target.attention.dismissed(marks), dismissed);
  for (const store of [source, target]) await store.close();
});

test('what a newer build served neither gives accounts nor takes any, and an older one never serves them', async () => {
  const source = await openFolderStore(await scene.copy());
  const target = openMemory(new MemoryState());
  await keepCharts(source.marks);
  const version = await source.marks.mark('charts');
  for (const { marks } of [source, target]) {
    const before = await marks.mark('charts');
    await marks.putMark('charts', '99');
    const refused = await run({ source, target }).catch((error: unknown) => error);
    assert.instance(refused, OperatorError);
    same(await target.journal.accountIds('', 10), [], 'nothing is moved');
    await marks.putMark('charts', before ?? '0');
  }
  await run({ source, target, accounts: [B] });
  assert.is(await target.marks.mark('charts'), version);
  for (const store of [source, target]) await store.close();
});

test('a second run finds nothing to do', async () => {
  const source = await openFolderStore(await scene.copy());
  const state = new MemoryState();
  const first = await run({ source, target: openMemory(state) });
  const content = await contentOfAccounts(openMemory(state), ALL, newKey);
  const writes = { writesLeft: 1_000, lastTakesEffect: false, isOver: false };
  const second = await run({ source, target: mortal(openMemory(state), writes) });
  same(
    second,
    first.map((account) => ({ ...account, moved: false })),
  );
  assert.is(writes.writesLeft, 1_000, 'nothing is written');
  same(await contentOfAccounts(openMemory(state), ALL, newKey), content);
  await source.close();
});

test.run();
