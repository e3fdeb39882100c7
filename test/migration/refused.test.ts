/** When a migration must not go on, and what stays as it was then; and what went on in the target meanwhile. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Accounts } from '../../src/accounts/manage.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Append, Store } from '../../src/engine/store.ts';
import { MigrationRefused, type RefusalCode } from '../../src/migration/refused.ts';
import { adjusted, chargeCreated, chargePaid, grow } from '../store/contract/builders.ts';
import { first, same } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { withStoredTables } from '../support/stored-tables.ts';
import {
  A,
  ALL,
  B,
  contentOfAccounts,
  dueNow,
  EMPTY,
  fillScene,
  type Life,
  mortal,
  newKey,
  oldKey,
  openFolderStore,
  openMemory,
  Process,
  run,
  Scene,
  START,
} from './support.ts';

const test = suite('refused migration');
const scene = new Scene();
test.after(() => scene.remove());

/** Two stores in memory, the first with the scene. */
async function pair(): Promise<{ source: Store; target: Store }> {
  const source = openMemory(new MemoryState());
  await fillScene(source);
  return { source, target: openMemory(new MemoryState()) };
}

test('a target of another bank: nothing is written; one of nobody is this bank’s from then on', async () => {
  const { source, target } = await pair();
  await source.marks.keepMark('bank', 'sandbox');
  await source.marks.putMark('bank:reconciled', '1000');
  const other = openMemory(new MemoryState());
  await other.marks.keepMark('bank', 'api-pix efi x');
  await expectRefused({ source, target: other }, 'TARGET_OF_ANOTHER_BANK');
  await run({ source, target });
  assert.is(await target.marks.mark('bank'), 'sandbox');
  assert.is(await target.marks.mark('bank:reconciled'), '1000');
});

/** The run is refused, and wrote nothing unless it had to. */
async function expectRefused(
  parts: Parameters<typeof run>[0],
  code: RefusalCode,
  { writes = 0 } = {},
): Promise<MigrationRefused> {
  const life: Life = { writesLeft: 10_000, lastTakesEffect: false, isOver: false };
  const [source, target] = [mortal(parts.source, life), mortal(parts.target, life)];
  try {
    await run({ ...parts, source, target });
  } catch (error) {
    if (!(error instanceof MigrationRefused)) throw error;
    assert.is(error.code, code, error.message);
    if (writes === 0) assert.is(life.writesLeft, 10_000, 'nothing was written');
    return error;
  }
  throw new Error('it was not refused');
}

test('an account that is not there', async () => {
  const { source, target } = await pair();
  const refused = await expectRefused({ source, target, accounts: [A, 'acc_nobody'] }, 'ACCOUNT_NOT_FOUND');
  assert.match(refused.message, 'acc_nobody');
});

test('a source that verify has something against, in any of the accounts', async () => {
  const folder = await scene.copy();
  await withStoredTables(folder, ({ records }) => {
    const [row] = records.rows().filter(({ key }) => key >= 'bb');
    const record = JSON.parse(row?.value ?? '');
    records.put([record.id], JSON.stringify({ ...record, events: record.events + 1 }));
  });
  const source = await openFolderStore(folder);
  const target = openMemory(new MemoryState());
  const refused = await expectRefused({ source, target }, 'SOURCE_NOT_VERIFIED');
  same(
    refused.differences.map(({ account }) => account),
    [B],
  );
  assert.match(refused.message, 'its record differs in events');
  assert.is((await run({ source, target, accounts: [A] })).length, 1, 'the other one can be moved');
  await source.close();
});

test('a record that no journal tells of', async () => {
  const folder = await scene.copy();
  await withStoredTables(folder, ({ records }) => {
    const [row] = records.rows().filter(({ key }) => key >= 'aa');
    records.put(['zz'], JSON.stringify({ ...JSON.parse(row?.value ?? ''), id: 'zz' }));
  });
  const source = await openFolderStore(folder);
  const target = openMemory(new MemoryState());
  const refused = await expectRefused({ source, target }, 'SOURCE_NOT_VERIFIED');
  assert.match(refused.message, 'no journal tells of the record zz');
  await source.close();
});

test('a target with another journal of that name: nothing of any account is changed', async () => {
  for (const entries of [1, 30]) {
    const { source, target } = await pair();
    for (let nth = 0; nth < entries; nth++) await grow(target, B, [adjusted(START, 100)]);
    const refused = await expectRefused({ source, target }, 'TARGET_CONFLICT');
    assert.match(refused.message, `another journal for ${B}`);
  }
});

test('a journal in the target for an account that has none here', async () => {
  const { source, target } = await pair();
  await grow(target, EMPTY, [adjusted(START, 100)]);
  await expectRefused({ source, target }, 'TARGET_CONFLICT');
});

test('a client id that belongs to another account in the target', async () => {
  const { source, target } = await pair();
  const own = await source.accounts.get(A);
  if (own === null) throw new Error('no account');
  await target.accounts.put({ ...own, id: 'acc_other' });
  const refused = await expectRefused({ source, target }, 'TARGET_CONFLICT');
  assert.match(refused.message, 'acc_other');
});

test('a webhook secret that no key opens', async () => {
  const { source, target } = await pair();
  const reseal = (sealed: string): string => newKey.seal(newKey.open(sealed));
  const refused = await expectRefused({ source, target, reseal }, 'SECRET_NOT_OPENED');
  assert.match(refused.message, 'SECRETS_KEY');
});

/** A store whose appends are changed on the way. */
function spoiled(store: Store, spoil: (append: Append) => Append): Store {
  const journal = new Proxy(store.journal, {
    get: (target, name) => {
      if (name === 'append') return (append: Append) => target.append(spoil(append));
      const method: unknown = Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
  const { due, backlog, attention, accounts, marks } = store;
  const others = { due, backlog, attention, accounts, marks };
  return { journal, ...others, ping: () => store.ping(), close: () => store.close() };
}

test('a copy that is not what was copied: the source stays as it was, and the target does nothing', async () => {
  const { source, target } = await pair();
  const before = await contentOfAccounts(source, ALL, oldKey);
  const due = await dueNow(source, ALL);
  const loses = spoiled(target, (append) => ({ ...append, lookups: [] }));
  const refused = await expectRefused({ source, target: loses }, 'TARGET_NOT_VERIFIED', { writes: 1 });
  assert.ok(refused.differences.length > 4);
  same(await contentOfAccounts(source, ALL, oldKey), before);
  same(await dueNow(source, ALL), due);
  same(await dueNow(target, ALL), []);
  same(await target.accounts.after('', 1), []);
  same(await target.attention.page({}, null, 1_000), []);
});

test('somebody who writes to the account while it is moved stops it; the next run takes it along', async () => {
  const { source, target } = await pair();
  let wrote = false;
  const report = ({ step, account }: { step: string; account: string }): void => {
    if (step !== 'verify the copy' || account !== A || wrote) return;
    wrote = true;
    void grow(source, A, [adjusted(START, 100)]);
  };
  await expectRefused({ source, target, report }, 'SOURCE_CHANGED', { writes: 1 });
  same((await target.accounts.get(A))?.allowedIps, [], 'nobody gets in');
  const moved = await run({ source, target });
  same(
    moved.map((account) => [account.accountId, account.moved]),
    ALL.map((id) => [id, true]),
  );
  same(await source.journal.head(A), await target.journal.head(A));
  same((await target.accounts.get(A))?.allowedIps, ['127.0.0.1', '10.0.0.1']);
  assert.ok((await verifyStore(target.journal, { heads: false, decide: false, everyDoorSpeaks: true })).ok);
});

test('what went on in the target after the move stays', async () => {
  const { source, target } = await pair();
  const moved = await run({ source, target });
  const there = new Process(target, 'cc');
  await there.charge(A, 7_700);
  await there.deposit(EMPTY, 100);
  const account = await target.accounts.get(A);
  if (account === null) throw new Error('no account');
  const changed = { ...account, maxAmount: 5, allowedIps: ['*'], clientId: 'cli_new' };
  assert.ok(await target.accounts.put({ ...changed, version: account.version + 1 }));
  const content = await contentOfAccounts(target, ALL, newKey);
  const due = await dueNow(target, ALL);
  same(
    await run({ source, target }),
    moved.map((each) => ({ ...each, moved: false })),
  );
  same(await contentOfAccounts(target, ALL, newKey), content);
  same(await dueNow(target, ALL), due);
});

test('what went on here after the move is another journal, once the target went on as well', async () => {
  const { source, target } = await pair();
  await run({ source, target });
  await grow(source, A, [adjusted(START, 100)]);
  await grow(target, A, [adjusted(START, 200)]);
  await expectRefused({ source, target }, 'TARGET_CONFLICT');
});

test('an account that was taken up again here goes over again, on top of what was moved', async () => {
  const { source, target } = await pair();
  await run({ source, target });
  // As `account set` does it.
  await new Accounts(source.accounts, oldKey, () => START).set(A, { status: 'active', userStatus: 'active' });
  const here = new Process(source, 'dd');
  const charge = await here.charge(A, 8_800);
  const moved = await run({ source, target, accounts: [A] });
  same(
    moved.map((each) => each.moved),
    [true],
  );
  same(await target.journal.transaction(charge), await source.journal.transaction(charge));
  assert.is((await source.accounts.get(A))?.status, 'inactive');
  assert.ok((await dueNow(target, [A])).some(({ transaction }) => transaction === charge));
});

test('transactions that rest for long are read back from the target', async () => {
  const { source, target } = await pair();
  const account = 'acc_many';
  const ids: string[] = [];
  let records: Append['records'] = [];
  for (let batch = 0; batch < 25; batch++) {
    const charges = Array.from({ length: 100 }, () => chargeCreated(START));
    const { append } = await grow(source, account, charges);
    if (batch === 0) records = append.records;
    ids.push(...charges.map(({ transaction }) => transaction));
  }
  const paid = ids.slice(0, 50).map((id, nth) => chargePaid(START, id, `E${nth}`));
  await grow(source, account, paid, { known: records });
  const moved = first(await run({ source, target, accounts: [account] }));
  same([moved.batches, moved.entries, moved.moved], [26, 2_550, true]);
  assert.ok((await verifyStore(target.journal, { heads: false, decide: false, everyDoorSpeaks: true })).ok);
});

test.run();
