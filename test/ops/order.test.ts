/** What ops do stands in the journal before it is done: whoever dies in between leaves it said, and not done. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChangeForgotten, DoneBefore } from '../../src/accounts/last-changes.ts';
import type { Core } from '../../src/core.ts';
import type { JournalMessage } from '../../src/engine/journal.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import { itemOf, type Store } from '../../src/engine/store.ts';
import { type Acting, ActionRefused, record } from '../../src/ops/acting.ts';
import { finish } from '../../src/ops/attention.ts';
import { retry } from '../../src/ops/retry.ts';
import { changeSettings, rotateSecret } from '../../src/ops/settings.ts';
import { Folder } from '../cli/support.ts';
import { but } from '../support/but.ts';

const test = suite('order of acts');
const URL = 'http://127.0.0.1:9/hook';
const BY = { name: 'Ana', reason: null, role: 'operator' } as const;
const RULE = { now: 0, stuckAfterMs: 1_000, says: () => null };
let folder: Folder;
let account = '';

test.before(async () => {
  folder = await Folder.make();
  account = await folder.account('--webhook-url', URL);
});
test.after(() => folder.remove());

class Died extends Error {}

function dies(): never {
  throw new Died('the process dies here');
}

/** What the account's journal says of acts under an id. */
async function said({ store }: Core, id: string): Promise<JournalMessage[]> {
  const batches = await store.journal.batchesFrom(account, 1, 1_000);
  return batches
    .flatMap(({ entries }) => entries.map(({ message }) => message))
    .filter((message) => message.type === 'OPS' && message.id === id);
}

function dataOf(messages: readonly JournalMessage[]): unknown[] {
  return messages.map(({ data }) => (data as { data: unknown }).data);
}

/** Runs an act that dies at its effect, then the same one again: it was said once, and is done then. */
async function dyingThenDone<Value>(
  core: Core,
  broken: Partial<Core>,
  act: (parts: Core, acting: Acting) => Promise<Value>,
  state: () => Promise<unknown>,
): Promise<Value> {
  const acting = { id: `act ${(await core.store.journal.head(account)).seq}`, by: BY };
  const before = await state();
  await act({ ...core, ...broken }, acting).then(
    () => assert.unreachable('it must die'),
    (error: unknown) => assert.instance(error, Died),
  );
  assert.equal(await state(), before, 'nothing is done');
  const entries = await said(core, acting.id);
  assert.is(entries.length, 1, 'and it is said');
  const value = await act(core, acting);
  assert.not.equal(await state(), before, 'it is done');
  assert.equal(await said(core, acting.id), entries, 'and said once');
  return value;
}

function storeWith(store: Store, parts: Partial<Store>): { store: Store } {
  const roles = {
    journal: store.journal,
    due: store.due,
    backlog: store.backlog,
    attention: store.attention,
  };
  return {
    store: {
      ...roles,
      ...{ accounts: store.accounts, marks: store.marks },
      ...{ ping: () => store.ping(), close: () => store.close(), ...parts },
    },
  };
}

/** A charge whose delivery has failed at a time. */
async function failed(core: Core, transaction: string, at: string): Promise<string> {
  const record = await core.store.journal.transaction(transaction);
  const [id = ''] = Object.values(record?.lastDeliveries ?? {});
  const attempts = [{ at, statusCode: 400, error: null, durationMs: 1 }];
  const parts = { id, account, transaction, status: 'rejected', failures: 1, attempts } as const;
  const rejected: DeliveryRecord = { ...parts, attempts, nextAttemptAt: null, deliveredAt: null };
  await core.store.due.settle([{ claim: null, next: null, record: rejected }]);
  return id;
}

test('deliveries start anew after the entry, and what failed since waits for another act', async () => {
  const charges = [await folder.charge(account), await folder.charge(account)];
  await folder.withCore(async (core) => {
    const { store } = core;
    const [first = '', second = ''] = charges;
    const id = await failed(core, first, '2026-01-05T12:00:00.000Z');
    const status = async () => (await store.journal.deliveries(first)).map(({ status }) => status);
    const due = but(store.due, { settle: async () => dies() });
    let used: Acting | null = null;
    const retried = await dyingThenDone(
      core,
      storeWith(store, { due }),
      (parts, acting) => {
        used = acting;
        return retry(parts, [], { account }, acting);
      },
      status,
    );
    assert.equal(retried, { kind: 'retried', count: 1, deliveries: [id] });
    await failed(core, second, new Date(Date.now() + 60_000).toISOString());
    if (used === null) throw new Error('nothing was done');
    assert.equal(await retry(core, [], { account }, used), { kind: 'retried', count: 0, deliveries: [] });
    await retry(core, [second], {}, used).then(
      () => assert.unreachable('the id is another act'),
      (error: unknown) => assert.instance(error, ActionRefused),
    );
  });
});

test('items leave the list after the entry', async () => {
  await folder.withCore(async (core) => {
    const { store } = core;
    const item = itemOf({ kind: 'hanging', id: 'h', what: 'w', next: 'n' }, '2026-01-05T12:00:00.000Z', {
      account,
    });
    await store.attention.note([item]);
    const attention = but(store.attention, { dismiss: async () => dies() });
    await dyingThenDone(
      core,
      storeWith(store, { attention }),
      (parts, acting) => finish(parts, RULE, [], { kind: 'hanging' }, acting),
      () => store.attention.find('h'),
    );
  });
});

test('an item is named by kind and id, or all that have an id: the entry has it once', async () => {
  await folder.withCore(async (core) => {
    const { attention } = core.store;
    const items = (['hanging', 'refused', 'unknown'] as const).map((kind) =>
      itemOf({ kind, id: 'one', what: 'w', next: 'n' }, '2026-01-05T12:00:00.000Z', { account }),
    );
    const kinds = async () => (await attention.find('one')).map(({ kind }) => kind).sort();
    await attention.note(items);
    const acting = (id: string, reason: string | null = null): Acting => ({ id, by: { ...BY, reason } });
    const hanging = { kind: 'hanging', id: 'one' } as const;
    const first = await finish(core, RULE, [hanging, hanging], {}, acting('first', 'seen'));
    assert.equal(first, { kind: 'done', ids: ['one'], again: false });
    assert.equal(await kinds(), ['refused', 'unknown']);
    assert.equal(dataOf(await said(core, 'first')), [{ ids: ['one'], count: 1 }]);
    const late = await finish(core, RULE, [hanging], {}, acting('late'));
    assert.is(late.kind === 'notOnList' && late.by?.reason, 'seen');
    const unknown = { kind: 'unknown', id: 'one' } as const;
    await finish(core, RULE, [unknown], { kind: 'refused' }, acting('odd'));
    assert.equal(await kinds(), ['refused', 'unknown'], 'what does not fit stays');
    assert.equal(await finish(core, RULE, ['one'], {}, acting('rest')), {
      kind: 'done',
      ids: ['one'],
      again: false,
    });
    assert.equal(await kinds(), []);
    assert.equal(dataOf(await said(core, 'rest')), [{ ids: ['one'], count: 2 }]);
  });
});

test('settings change, and secrets rotate, after the entry', async () => {
  await folder.withCore(async (core) => {
    const settings = () => core.store.accounts.get(account);
    for (const act of [
      (parts: Core, acting: Acting): Promise<unknown> =>
        changeSettings(parts, account, { maxAmount: 77 }, acting),
      (parts: Core, acting: Acting): Promise<unknown> => rotateSecret(parts, account, acting),
    ]) {
      const accounts = but(core.accounts, { set: dies, rotateSecret: dies });
      await dyingThenDone(core, { accounts }, act, settings);
    }
  });
});

test('what comes again under its id is done, after a restart and after half of it, too', async () => {
  const transaction = await folder.charge(account);
  const delivery = await folder.withCore((core) => failed(core, transaction, '2026-01-05T12:00:00.000Z'));
  const itemsOf = (about: { account: string; transaction: string }) => [
    itemOf({ kind: 'dead', id: delivery, what: 'w', next: 'n' }, '2026-01-05T12:00:00.000Z', about),
    itemOf({ kind: 'return', id: 'ret_1', what: 'w', next: 'n' }, '2026-01-05T12:00:00.000Z', about),
  ];
  const items = itemsOf({ account, transaction });
  const wishes = [
    { named: [{ kind: 'dead' as const, id: delivery }], acting: { id: 'done with one', by: BY } },
  ];
  const both = { named: [delivery, 'ret_1'], acting: { id: 'done with both', by: BY } };
  await folder.withCore(async (core) => {
    await core.store.attention.note(items);
    for (const { named, acting } of wishes)
      assert.equal(await finish(core, RULE, named, {}, acting), {
        kind: 'done',
        ids: [named[0]?.id],
        again: false,
      });
    await core.store.attention.note(items);
    const half = but(core.store.attention, {
      withdraw: async ([first]) => {
        if (first !== undefined) await core.store.attention.withdraw([first]);
        dies();
      },
    });
    const broken = { ...core, ...storeWith(core.store, { attention: half }) };
    await throws(finish(broken, RULE, both.named, {}, both.acting), Died);
  });
  await folder.withCore(async (core) => {
    const rest = await finish(core, RULE, both.named, {}, both.acting);
    assert.is(rest.kind === 'done' && rest.ids.length, 1, 'the other half is done');
    const entries = (await core.store.journal.head(account)).seq;
    for (const { named, acting } of [...wishes, both]) {
      assert.equal(await finish(core, RULE, named, {}, acting), { kind: 'done', ids: [], again: true });
      const other = await finish(core, RULE, named, {}, { ...acting, id: `${acting.id} by another` });
      assert.is(other.kind, 'notOnList');
    }
    assert.is((await core.store.journal.head(account)).seq, entries, 'nothing was written');
  });
});

test('what comes again under its id is done after a restart, whatever names it', async () => {
  const since = '2026-01-05T12:00:00.000Z';
  const transaction = await folder.charge(account);
  const note = { what: 'w', next: 'n' };
  const items = [
    itemOf({ kind: 'hanging', id: 'https://one.example', ...note }, since, { account }),
    itemOf({ kind: 'unknown', id: 'nobody', ...note }, since),
    itemOf({ kind: 'payment', id: transaction, ...note }, since, { account, transaction }),
    itemOf({ kind: 'refused', id: 'msg_77', ...note }, since, { account }),
  ];
  const all = items.map(({ id }) => id);
  const wishes = [['https://one.example'], ['nobody'], ['msg_77', transaction], [transaction, 'msg_77'], all];
  for (const [nth, named] of wishes.entries()) {
    const acting = { id: `whatever ${nth}`, by: BY };
    await folder.withCore(async (core) => {
      await core.store.attention.withdraw(items);
      await core.store.attention.note(items);
      assert.equal(await finish(core, RULE, named, {}, acting), { kind: 'done', ids: named, again: false });
    });
    await folder.withCore(async (core) => {
      assert.equal(
        await finish(core, RULE, named, {}, acting),
        { kind: 'done', ids: [], again: true },
        `${named}`,
      );
      const other = await finish(core, RULE, named, {}, { ...acting, id: `${acting.id} by another` });
      assert.is(other.kind, 'notOnList');
    });
  }
});

test('what comes again under its id leaves what was noted since, whoever that belongs to', async () => {
  const [own, other] = [await folder.account(), await folder.account()];
  const note = (core: Core, id: string, of: string | null, since: string) => {
    const item = itemOf({ kind: 'refused', id, what: 'w', next: 'n' }, since, { account: of });
    return core.store.attention.note([item]);
  };
  const acting = { id: 'all that is there', by: BY };
  const done = (core: Core) => finish(core, RULE, [], { kind: 'refused' }, acting);
  const later = new Date(Date.now() + 60_000).toISOString();
  const before = '2026-01-05T12:00:00.000Z';
  const heads = async (core: Core) =>
    Promise.all([own, other].map(async (id) => (await core.store.journal.head(id)).seq));
  await folder.withCore(async (core) => {
    await note(core, "nobody's", null, before);
    await note(core, 'own', own, before);
    const first = await done(core);
    assert.equal(first.kind === 'done' && first.ids.includes('own') && first.ids.includes("nobody's"), true);
    const at = await heads(core);
    await note(core, "nobody's later", null, later);
    await note(core, "other's later", other, later);
    assert.equal(await done(core), { kind: 'done', ids: [], again: true }, 'its mark tells');
    assert.equal(await heads(core), at, 'nothing was written');
  });
  await folder.withCore(async (core) => {
    const at = await heads(core);
    await note(core, 'own later', own, later);
    assert.equal(await done(core), { kind: 'done', ids: [], again: true }, 'its mark tells');
    assert.equal(await heads(core), at, 'nothing was written');
    const rest = await finish(core, RULE, [], { kind: 'refused' }, { ...acting, id: 'the rest' });
    assert.equal(rest.kind === 'done' && [...rest.ids].sort(), [
      "nobody's later",
      "other's later",
      'own later',
    ]);
  });
});

/** Makes so many other changes of an account, and tells the account's greatest amount after them. */
async function changedOften(core: Core, of: string, times: number): Promise<number> {
  for (let nth = 0; nth < times; nth++)
    await changeSettings(core, of, { maxAmount: 1_000 + nth }, { id: `${of} ${randomUUID()}`, by: BY });
  return 1_000 + times - 1;
}

async function throws(work: Promise<unknown>, what: new (...given: never[]) => Error): Promise<void> {
  await work.then(
    () => assert.unreachable(`${what.name} is expected`),
    (error: unknown) => assert.instance(error, what),
  );
}

test('whether a change was made is known, however many were made before, and said to be unknown after many', async () => {
  const own = await folder.account();
  await folder.withCore(async (core) => {
    const dying = { ...core, accounts: but(core.accounts, { set: dies, rotateSecret: dies }) };
    const settings = () => core.store.accounts.get(own);
    const status = async () => (await settings())?.status;
    const off = (parts: Core, id: string) =>
      changeSettings(parts, own, { status: 'inactive' }, { id, by: BY });
    await changedOften(core, own, 25);
    for (const others of [0, 19]) {
      await throws(off(dying, `off ${others}`), Died);
      await changedOften(core, own, others);
      assert.is((await off(core, `off ${others}`))?.account.status, 'inactive', `after ${others} others`);
      const made = await settings();
      assert.is((await off(core, `off ${others}`))?.account.version, made?.version, 'and once');
      await changeSettings(core, own, { status: 'active' }, { id: `on ${others}`, by: BY });
    }
    const turning = { id: 'turn', by: BY };
    await throws(rotateSecret(dying, own, turning), Died);
    assert.not.equal((await rotateSecret(core, own, turning))?.clientId, undefined);
    await throws(rotateSecret(core, own, turning), DoneBefore);
    await throws(off(dying, 'late'), Died);
    await changedOften(core, own, 21);
    for (const id of ['late', 'off 0']) await throws(off(core, id), ChangeForgotten);
    await throws(rotateSecret(core, own, turning), ChangeForgotten);
    assert.is(await status(), 'active');
  });
});

test('an entry of a former build, which names no change before it, is made as long as all are kept', async () => {
  const own = await folder.account();
  await folder.withCore(async (core) => {
    const asked = { maxAmount: 77 };
    const entered = (id: string) => record(core, own, { action: 'settings', asked }, asked, { id, by: BY });
    await entered('early');
    await changedOften(core, own, 18);
    const { account: made } = (await changeSettings(core, own, asked, { id: 'early', by: BY })) ?? {};
    assert.is(made?.maxAmount, 77);
    await entered('late');
    const maxAmount = await changedOften(core, own, 1);
    await throws(changeSettings(core, own, asked, { id: 'late', by: BY }), ChangeForgotten);
    assert.is((await core.store.accounts.get(own))?.maxAmount, maxAmount);
  });
});

test('to be done with many at once takes no count of the rest, and lets others be heard between', async () => {
  await folder.withCore(async (core) => {
    const { attention } = core.store;
    const many = Array.from({ length: 2_500 }, (_, nth) => {
      const since = new Date(Date.parse('2026-01-05T12:00:00.000Z') + nth).toISOString();
      return itemOf({ kind: 'difference', id: `dif_${nth}`, what: 'w', next: 'n' }, since);
    });
    await attention.note(many);
    const uncounted = but(attention, { count: dies });
    let turns = 0;
    let isOver = false;
    const heard = (): void => {
      turns += 1;
      if (!isOver) setImmediate(heard);
    };
    setImmediate(heard);
    const parts = { ...core, ...storeWith(core.store, { attention: uncounted }) };
    const finished = await finish(parts, RULE, [], { kind: 'difference' }, { id: 'many', by: BY });
    isOver = true;
    assert.is(finished.kind === 'done' && finished.ids.length, many.length);
    assert.is(await attention.count({ kind: 'difference' }, null), 0);
    // Once a page when they are looked at, and again when they go.
    assert.ok(turns >= 2 * (many.length / 500), `${turns} turns`);
  });
});

test.run();
