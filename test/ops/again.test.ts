/** Ops are done with items, and it comes again under its id: it does the rest of what it was told of, and nothing else. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Core } from '../../src/core.ts';
import { timeOfText } from '../../src/domain/time.ts';
import type { StuckRule } from '../../src/engine/attention/stuck.ts';
import type { AttentionKind } from '../../src/engine/journal.ts';
import { type AttentionItem, itemOf } from '../../src/engine/store.ts';
import type { Acting, OpsParts } from '../../src/ops/acting.ts';
import { type Finished, finish } from '../../src/ops/attention.ts';
import { Folder } from '../cli/support.ts';
import { but } from '../support/but.ts';
import { sleep } from '../support/wait.ts';

const test = suite('again');
const RULE: StuckRule = { now: 0, stuckAfterMs: 1_000, says: () => null };
/** So many one action takes off at the most. */
const MOST_ITEMS = 100_000;
let folder: Folder;
let account = '';

test.before.each(async () => {
  folder = await Folder.make();
  account = await folder.account('--balance', '100000');
});
test.after.each(() => folder.remove());

function acting(id: string): Acting {
  return { id, by: { name: 'Ana', reason: null, role: 'operator' } };
}

function done(ids: string[]): Finished {
  return { kind: 'done', ids, again: false };
}

function again(ids: string[]): Finished {
  return { kind: 'done', ids, again: true };
}

/** An item of a time so many ms from now. */
function item(kind: AttentionKind, id: string, of: string | null = account, inMs = -60_000): AttentionItem {
  const since = new Date(Date.now() + inMs).toISOString();
  return itemOf({ kind, id, what: 'w', next: 'n' }, since, { account: of });
}

async function listed({ store }: Core): Promise<string[]> {
  return (await store.attention.page({}, null, 100)).map(({ kind, id }) => `${kind} ${id}`);
}

function partsOf(core: Core, broken: Partial<OpsParts>): OpsParts {
  const { store, engine, now } = core;
  return { store, engine, now: () => now(), acted: () => {}, ...broken };
}

test('a transfer that gets stuck since then stays on the list, though it waits since before', async () => {
  const first = await folder.transfer(account);
  await sleep(5);
  const second = await folder.transfer(account);
  const finished = (core: Core, rule: StuckRule, id = 'monday') =>
    finish(core, rule, [], { kind: 'stuck' }, acting(id));
  const later = await folder.withCore(async (core) => {
    const record = await core.store.journal.transaction(second);
    const rule = { ...RULE, now: timeOfText(record?.updatedAt ?? '') + RULE.stuckAfterMs };
    assert.equal(await finished(core, rule), done([first]));
    return { ...rule, now: rule.now + 1 };
  });
  await folder.withCore(async (core) => {
    assert.equal(await finished(core, later), again([]));
    assert.equal(await finished(core, later, 'tuesday'), done([second]));
  });
});

test('what is noted while the entry waits is left, after a restart, too', async () => {
  const finished = (parts: OpsParts) => finish(parts, RULE, [], {}, acting('all'));
  await folder.withCore(async (core) => {
    await core.store.attention.note([item('refused', 'msg_old')]);
    const engine = but(core.engine, {
      send: async (...given) => {
        await core.store.attention.note([item('refused', 'msg_news', account, 0)]);
        await sleep(20);
        return core.engine.send(...given);
      },
    });
    assert.equal(await finished(partsOf(core, { engine })), done(['msg_old']));
  });
  await folder.withCore(async (core) => {
    assert.equal(await finished(core), again([]));
    assert.equal(await listed(core), ['refused msg_news']);
  });
});

test('what failed at the entry is done when it comes again, whatever clock dated the items', async () => {
  const finished = (parts: OpsParts) => finish(parts, RULE, ['ahead', 'nobody'], {}, acting('both'));
  await folder.withCore(async (core) => {
    const hour = 3_600_000;
    await core.store.attention.note([
      item('hanging', 'ahead', account, hour),
      item('bank', 'nobody', null, hour),
    ]);
    const engine = but(core.engine, {
      send: async () => {
        throw new Error('no answer');
      },
    });
    await finished(partsOf(core, { engine })).then(
      () => assert.unreachable('it must fail'),
      ({ message }: Error) => assert.is(message, 'no answer'),
    );
    assert.is((await listed(core)).length, 2);
    assert.equal(await finished(core), again(['ahead', 'nobody']));
    assert.equal(await listed(core), []);
  });
});

test('two actions on items of one id are both known when they come again', async () => {
  const kinds = ['invalid', 'unknown'] as const;
  const finished = (core: Core, kind: AttentionKind) => finish(core, RULE, ['msg_1'], {}, acting(kind));
  for (const kind of kinds) {
    await folder.withCore(async (core) => {
      await core.store.attention.note([item(kind, 'msg_1', null)]);
      assert.equal(await finished(core, kind), done(['msg_1']));
    });
  }
  await folder.withCore(async (core) => {
    for (const kind of kinds) assert.equal(await finished(core, kind), again([]), kind);
  });
});

test('who was done with an item is told in the same words where a former build wrote more', async () => {
  const { by } = acting('former');
  const told = { ...by, at: new Date().toISOString() };
  const former = { ...told, act: 'digest former' };
  await folder.withCore(async ({ store }) => {
    await store.attention.note([item('bank', 'b', null)]);
    await store.attention.dismiss([{ kind: 'bank', id: 'b' }], former);
  });
  await folder.withCore(async (core) => {
    const late = await finish(core, RULE, ['b'], {}, acting('late'));
    assert.equal(late, { kind: 'notOnList', id: 'b', by: told });
  });
});

test('what comes on the list again under its kind and id is news', async () => {
  const finished = (core: Core, id: string) => finish(core, RULE, ['dlv_1'], {}, acting(id));
  await folder.withCore(async (core) => {
    const { attention } = core.store;
    await attention.note([item('dead', 'dlv_1')]);
    assert.equal(await finished(core, 'first'), done(['dlv_1']));
    await attention.note([item('dead', 'dlv_1', account, 0)]);
    assert.equal(await finished(core, 'first'), again([]));
    assert.equal(await listed(core), ['dead dlv_1']);
    assert.equal(await finished(core, 'second'), done(['dlv_1']));
  });
});

test('of two servers that are asked at once both do what the first was told of', async () => {
  await folder.withCore(async (core) => {
    const { store } = core;
    await store.attention.note([item('difference', 'old', null)]);
    const finished = (parts: OpsParts) => finish(parts, RULE, [], {}, acting('all'));
    const first = but(store, {
      attention: but(store.attention, {
        dismiss: async () => {
          throw new Error('the first server dies');
        },
      }),
    });
    await finished(partsOf(core, { store: first })).then(
      () => assert.unreachable('it must die'),
      () => {},
    );
    await store.attention.note([item('difference', 'news', null)]);
    let isFirst = true;
    const marks = but(store.marks, {
      mark: async (name) => {
        const text = isFirst ? null : await store.marks.mark(name);
        isFirst = false;
        return text;
      },
    });
    assert.equal(await finished(partsOf(core, { store: but(store, { marks }) })), done(['old']));
    assert.equal(await listed(core), ['difference news']);
  });
});

test('one action takes off so many at the most, the oldest, and comes again for no more', async () => {
  const items = Array.from({ length: MOST_ITEMS + 3 }, (_, nth) =>
    item('difference', `dif_${nth}`, null, nth - 10_000_000),
  );
  const left = items.slice(MOST_ITEMS).map(({ id }) => `difference ${id}`);
  const finished = (core: Core) => finish(core, RULE, [], { kind: 'difference' }, acting('all'));
  await folder.withCore(async (core) => {
    for (let from = 0; from < items.length; from += 5_000)
      await core.store.attention.note(items.slice(from, from + 5_000));
    const { ids } = { ids: [], ...(await finished(core)) };
    assert.is(ids.length, MOST_ITEMS);
    assert.equal(await listed(core), left);
  });
  await folder.withCore(async (core) => {
    assert.equal(await finished(core), again([]));
    assert.equal(await listed(core), left);
  });
});

test.run();
