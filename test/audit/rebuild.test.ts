/** `rebuild` makes again what was lost or changed beside the journal, whatever it was, also beside an engine that writes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BrokenJournal } from '../../src/audit/broken-journal.ts';
import { rebuild } from '../../src/audit/rebuild.ts';
import type { Core } from '../../src/core.ts';
import { openTemporaryTable } from '../../src/store/scratch.ts';
import { grow, refused } from '../store/contract/builders.ts';
import { changeRecord, type StoredTables } from '../support/stored-tables.ts';
import {
  close,
  contentOf,
  createCharge,
  folderOf,
  isSound,
  type Life,
  live,
  openOn,
  rebuilt,
  rebuiltApart,
  tell,
  withCopyOf,
} from './scene.ts';

const test = suite('rebuild');
const FAR = Date.UTC(2040, 0, 1);

let folder = '';
let life: Life;
/** All projections of the store as they should be. */
let whole = '';

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pixstate-rebuild-'));
  const core = await openOn({ DATA_DIR: folder });
  life = await live(core);
  whole = await contentOf(core, life.account);
  await close(core);
});

test.after(() => rm(folder, { recursive: true, force: true }));

/** Works on a copy of the store in which something was changed. */
function withDamage(damage: (tables: StoredTables) => unknown, work: (core: Core) => Promise<void>) {
  return withCopyOf(folder, damage, work);
}

/** Batches of refused messages to the charge. */
function refusedIn({ refusals }: StoredTables): number[] {
  return refusals.rows(life.charge).map(({ key }) => Number(key.split(' ')[1]));
}

const STRANGER = '00000000-0000-4000-8000-000000000000';

/** Everything that can be wrong beside a sound journal. */
const DAMAGES: Record<string, (tables: StoredTables) => unknown> = {
  'a record that differs': (tables) =>
    changeRecord(tables, life.charge, (record) => {
      record.snapshot.value = 'refunded';
      record.seqs.push(1_000);
    }),
  'a record that is missing': (tables) => tables.records.remove(life.transfer),
  'an open cashout that is missing, and not listed any more': (tables) => {
    void tables.records.remove(life.open);
    tables.waits.clear();
  },
  'a record that is no JSON': (tables) => tables.records.put([life.charge], '{"rotten'),
  'a record too many': (tables) =>
    tables.records.put(
      [STRANGER],
      JSON.stringify({ ...JSON.parse(tables.records.get(life.charge) ?? ''), id: STRANGER }),
    ),
  'a lookup that is missing': (tables) => tables.lookups.remove(life.account, 'idempotencyKey', 'k-1'),
  'a lookup that is another': (tables) =>
    tables.lookups.put([life.account, 'externalRef', 'same'], life.charge),
  'a lookup too many': (tables) => tables.lookups.put([life.account, 'externalRef', 'other'], life.charge),
  'an adjustment that is missing': (tables) => tables.lookups.remove(life.account, 'adjustment', 'opening'),
  'an adjustment too many': (tables) => tables.lookups.put([life.account, 'adjustment', 'nobody'], 'x'),
  'a refused message that no list has': (tables) =>
    tables.refusals.remove(life.charge, refusedIn(tables)[0] ?? 0),
  'refused messages that are not counted': (tables) =>
    changeRecord(tables, life.charge, (record) => {
      delete record.refusals;
    }),
  'where the batches lie is not known': ({ places }) => places.clear(),
  'some batches are not found': ({ places }) => {
    const [row] = places.rows(life.account);
    const [first = 0, ...rest]: number[] = JSON.parse(row?.value ?? '');
    places.put(row?.key.split(' ') ?? [], JSON.stringify([first, ...rest.slice(0, 2)]));
  },
  'a batch is looked for in the row of another': ({ places }) => {
    const [row] = places.rows(life.account);
    const numbers: number[] = JSON.parse(row?.value ?? '');
    places.put(row?.key.split(' ') ?? [], JSON.stringify(numbers.map((number) => number + 1)));
  },
  'a place that is no JSON': ({ places }) => places.put([life.account, 3], '[rotten'),
  'a place that hides those behind it': ({ places }) => {
    const row = places.rows(life.account).find(({ value }) => JSON.parse(value).length > 2);
    const first = Number(row?.key.split(' ')[1]);
    places.put([life.account, first + 1], JSON.stringify([1]));
  },
  'a place too many': ({ places }) => places.put([life.account, 1_000], '[1]'),
  'all of it': ({ records, lookups, refusals }) => {
    for (const table of [records, lookups, refusals]) table.clear();
  },
};

/** What is cured by a thread that only reads, as well: what it read before must not be what it goes by. */
const APART = ['a record that is no JSON', 'where the batches lie is not known', 'all of it'];

for (const [name, by, damage] of [
  ...Object.entries(DAMAGES).map(([each, damaged]) => [each, rebuilt, damaged] as const),
  ...APART.map((each) => [each, rebuiltApart, DAMAGES[each] ?? (() => {})] as const),
]) {
  test(`${name} is cured${by === rebuilt ? '' : ' by a thread of its own'}`, async () => {
    await withDamage(damage, async (core) => {
      assert.is(await isSound(core), false, 'verify says so');
      const report = await by(core, name === 'all of it' ? undefined : life.account);
      assert.is(report.ok, true);
      assert.ok(report.entries > 20);
      assert.is(await isSound(core), true);
      assert.ok((await contentOf(core, life.account)) === whole, 'everything is as it was');
    });
  });
}

test('an account that a question to all of them passes over is asked again', async () => {
  const lookups = [
    { name: 'idempotencyKey', key: 'k-1' },
    { name: 'externalRef', key: 'same' },
  ] as const;
  const finds = async ({ store: { journal } }: Core) =>
    (await journal.quoted(lookups, '', 100)).rows.map(({ name }) => name).sort();
  const damages: [(tables: StoredTables) => void, string[]][] = [
    [({ names }) => names.clear(), []],
    [({ names }) => names.put([life.account], 'externalRef'), ['externalRef']],
  ];
  for (const [damage, found] of damages) {
    await withDamage(damage, async (core) => {
      assert.equal(await finds(core), found);
      assert.is((await rebuilt(core, life.account)).ok, true);
      assert.equal(await finds(core), ['externalRef', 'idempotencyKey']);
    });
  }
});

test('a record of a former build, which names its refused messages itself, is sound, and gets shorter', async () => {
  const former = (tables: StoredTables): unknown => {
    const refused = refusedIn(tables);
    for (const seq of refused) void tables.refusals.remove(life.charge, seq);
    return changeRecord(tables, life.charge, (record) => {
      record.seqs = [...new Set([...record.seqs, ...refused])].sort((a, b) => a - b);
      delete record.refusals;
    });
  };
  await withDamage(former, async (core) => {
    const before = await core.store.journal.transaction(life.charge);
    assert.is(await isSound(core), true);
    assert.is((await rebuilt(core)).ok, true);
    assert.is(await isSound(core), true);
    assert.ok((await contentOf(core, life.account)) === whole);
    const after = await core.store.journal.transaction(life.charge);
    assert.ok((after?.seqs.length ?? 0) < (before?.seqs.length ?? 0));
  });
});

test('what is sound stays as it is, to the byte', async () => {
  await withDamage(
    () => {},
    async (core) => {
      const { journal } = core.store;
      let mended = 0;
      const scratch = await openTemporaryTable();
      const counting = {
        ...boundReads(core),
        restore: async (restoration: Parameters<typeof journal.restore>[0]) => {
          const count = await journal.restore(restoration);
          mended += count;
          return count;
        },
      };
      const report = await rebuild(counting, { scratch });
      await scratch.close();
      assert.equal([report.ok, report.accounts, mended], [true, 2, 0]);
      assert.ok((await contentOf(core, life.account)) === whole);
    },
  );
});

/** The journal's reads as an object's own members: a class keeps them on its prototype. */
function boundReads({ store: { journal } }: Core) {
  return {
    head: journal.head.bind(journal),
    read: journal.read.bind(journal),
    transaction: journal.transaction.bind(journal),
    batches: journal.batches.bind(journal),
    entries: journal.entries.bind(journal),
    refusals: journal.refusals.bind(journal),
    batchesFrom: journal.batchesFrom.bind(journal),
    accountIds: journal.accountIds.bind(journal),
    records: journal.records.bind(journal),
    lookups: journal.lookups.bind(journal),
    deliveries: journal.deliveries.bind(journal),
    waiting: journal.waiting.bind(journal),
  };
}

test('a journal that was changed is followed nowhere', async () => {
  const damage = ({ journal, records }: StoredTables): void => {
    const value = journal.get([life.account, 3]) ?? '';
    void journal.put([life.account, 3], value.replace('"at":"20', '"at":"19'));
    void records.remove(life.charge);
  };
  await withDamage(damage, async (core) => {
    const error = await rebuilt(core).catch((thrown: unknown) => thrown);
    assert.instance(error, BrokenJournal);
    assert.match(String(error), new RegExp(`batch 3 of ${life.account} is not what its hash says`));
    assert.is(await core.store.journal.transaction(life.charge), null, 'nothing was put in place');
  });
});

test('nor one whose text comes to the same, and is another one than was hashed', async () => {
  const damage = ({ journal, records }: StoredTables): void => {
    const value = journal.get([life.account, 3]) ?? '';
    journal.put([life.account, 3], value.replace('"balances":{', '"balances":{"available":1},"balances":{'));
    void records.remove(life.charge);
  };
  await withDamage(damage, async (core) => {
    for (const by of [rebuilt, rebuiltApart])
      for (const account of [undefined, life.account]) {
        const error = await by(core, account).catch((thrown: unknown) => thrown);
        assert.instance(error, BrokenJournal);
        assert.match(String(error), new RegExp(`batch 3 of ${life.account} is not what its hash says`));
      }
    assert.is(await core.store.journal.transaction(life.charge), null, 'nothing was put in place');
  });
});

test('a record of another account that can not be read is no matter of this one', async () => {
  const rotten = (owner: string) => (tables: StoredTables) =>
    tables.records.put([STRANGER], `{"id":"${STRANGER}","account":"${owner}","rotten`);
  await withDamage(rotten('nobody'), async (core) => {
    assert.is((await rebuilt(core, life.account)).ok, true);
    assert.is((await rebuilt(core)).ok, false);
  });
  await withDamage(rotten(life.account), async (core) => {
    assert.is((await rebuilt(core, life.account)).ok, false);
  });
});

test('an account whose journal can’t be followed keeps no other from being made again', async () => {
  const { folder: two, lives } = await folderOf(2);
  const [broken, sound] = lives.sort((a, b) => (a.account < b.account ? -1 : 1)) as [Life, Life];
  for (const value of ['rotten', null])
    await withCopyOf(
      two,
      ({ journal, records }) => {
        const stored = journal.get([broken.account, 4]) ?? '';
        void journal.put([broken.account, 4], value ?? stored.replace('"at":"20', '"at":"19'));
        for (const { charge } of [broken, sound]) void records.remove(charge);
      },
      async (core) => {
        const error = await rebuilt(core).catch((thrown: unknown) => thrown);
        assert.instance(error, BrokenJournal);
        assert.match(String(error), new RegExp(`batch 4 of ${broken.account}`));
        assert.is(await core.store.journal.transaction(broken.charge), null, 'nothing was put in place');
        assert.is((await core.store.journal.transaction(sound.charge))?.id, sound.charge);
      },
    );
  await rm(two, { recursive: true, force: true });
});

for (const [what, damage] of [
  ['is gone', ({ journal }, seq) => journal.remove([life.account, seq])],
  ['is none any more', ({ journal }, seq) => journal.put([life.account, seq], 'rotten')],
] as readonly (readonly [string, (tables: StoredTables, seq: number) => void])[]) {
  for (const by of [rebuilt, rebuiltApart])
    test(`a last batch that ${what} is not forgotten${by === rebuilt ? '' : ' by a thread of its own'}`, async () => {
      let seq = 0;
      await withDamage(
        () => {},
        async ({ store }) => {
          seq = (await store.journal.head(life.account)).seq;
        },
      );
      await withDamage(
        (tables) => damage(tables, seq),
        async (core) => {
          for (const account of [undefined, life.account]) {
            const error = await by(core, account).catch((thrown: unknown) => thrown);
            assert.instance(error, BrokenJournal);
            assert.match(String(error), new RegExp(`batch ${seq} of ${life.account}`));
          }
          assert.is(await isSound(core), false);
          assert.throws(() => core.store.journal.head(life.account), 'the account does not go on before it');
        },
      );
    });
}

test('beside an engine that goes on writing to the account nothing that it wrote is lost', async () => {
  const damage = (tables: StoredTables): unknown => {
    void tables.records.remove(life.transfer);
    void tables.lookups.remove(life.account, 'idempotencyKey', 'k-1');
    return changeRecord(tables, life.charge, (record) => {
      record.messages = {};
    });
  };
  await withDamage(damage, async (core) => {
    let going = true;
    const made: string[] = [];
    const writing = (async () => {
      while (going) {
        const id = await createCharge(core, life.account, 10_000, 'beside');
        made.push(id);
        await tell(core, id, 'PAY');
        await tell(core, life.charge, made.length % 2 === 0 ? 'PROTEST' : 'DISMISS');
      }
    })();
    const report = await rebuilt(core);
    going = false;
    await writing;
    assert.is(report.ok, true);
    assert.ok(made.length > 5, `${made.length} charges were made meanwhile`);
    assert.is(await isSound(core), true);
    for (const id of made) assert.is((await core.store.journal.transaction(id))?.snapshot.value, 'paid');
  });
});

test('where the batches lie is found beside an engine that writes to another account', async () => {
  await withDamage(
    ({ places }) => places.clear(),
    async (core) => {
      const other =
        (await core.store.accounts.after('', 100)).find(({ id }) => id !== life.account)?.id ?? '';
      let going = true;
      const made: string[] = [];
      const writing = (async () => {
        while (going) made.push(await createCharge(core, other, 10_000, 'beside'));
      })();
      const report = await rebuilt(core);
      going = false;
      await writing;
      assert.is(report.ok, true);
      assert.ok(made.length > 0);
      assert.is(await isSound(core), true);
      const { seq } = await core.store.journal.head(other);
      assert.is((await core.store.journal.batchesFrom(other, 1, seq + 1)).length, seq);
      const later = await createCharge(core, life.account, 10_000, 'later');
      assert.ok((await core.store.journal.transaction(later)) !== null);
      assert.is(await isSound(core), true);
    },
  );
});

test('a batch that was decided on a wrong record, and lands after the exchange, is put right', async () => {
  const damage = (tables: StoredTables): unknown =>
    changeRecord(tables, life.charge, (record) => {
      record.messages = { wrong: 'x' };
    });
  await withDamage(damage, async (core) => {
    const { journal } = core.store;
    const wrong = await journal.transaction(life.charge);
    assert.ok(wrong !== null);
    let landed = false;
    const landing = {
      ...boundReads(core),
      restore: async (restoration: Parameters<typeof journal.restore>[0]) => {
        const count = await journal.restore(restoration);
        if (!landed && restoration.transactions.length > 0) {
          landed = true;
          await grow(core.store, life.account, [refused(FAR, life.charge, 'paid', 'late')], {
            known: [wrong],
          });
        }
        return count;
      },
    };
    const scratch = await openTemporaryTable();
    await rebuild(landing, { scratch, writeMs: 50 });
    await scratch.close();
    assert.is(landed, true);
    assert.is(await isSound(core), true);
    assert.is((await journal.transaction(life.charge))?.messages.wrong, undefined);
  });
});

test('what a newer batch changed stays as it is', async () => {
  await withDamage(
    () => {},
    async (core) => {
      const { journal } = core.store;
      const before = await journal.transaction(life.charge);
      const { seq } = await journal.head(life.account);
      assert.ok(before !== null);
      await tell(core, life.charge, 'PROTEST');
      await createCharge(core, life.account, 10_000, 'same');
      const content = await contentOf(core, life.account);
      const count = await journal.restore({
        account: life.account,
        upTo: seq,
        transactions: [{ record: before, position: 0, lookups: [] }],
        lookups: [{ name: 'externalRef', key: 'same', value: life.charge }],
        gone: { transactions: [], lookups: [{ name: 'externalRef', key: 'same' }] },
      });
      assert.is(count, 0);
      assert.ok((await contentOf(core, life.account)) === content);
    },
  );
});

test.run();
