/** The log of all accounts, read once: what is in order is found to be, whatever is held; what isn't is told as ever. */

import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Scratch } from '../../src/audit/scratch.ts';
import { Screening } from '../../src/audit/screening/screening.ts';
import { type Difference, verifyStore } from '../../src/audit/verify.ts';
import type { Core } from '../../src/core.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { accountsIn } from '../../src/engine/store/walks.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { openTemporaryTable } from '../../src/store/scratch.ts';
import { cashoutCreated, grow } from '../store/contract/builders.ts';
import type { StoredTables } from '../support/stored-tables.ts';
import { close, folderOf, type Life, openOn, withCopyOf } from './scene.ts';

const test = suite('screening');
const LIVES = 3;
const AT = Date.UTC(2040, 0, 1);

let folder = '';
let lives: Life[] = [];

test.before(async () => {
  ({ folder, lives } = await folderOf(LIVES));
});

test.after(() => rm(folder, { recursive: true, force: true }));

/** Works on a copy of the store in which something was changed. */
function withCopy(change: (tables: StoredTables) => unknown, work: (core: Core) => Promise<void>) {
  return withCopyOf(folder, change, work);
}

interface Screened {
  /** Accounts that aren't in order. */
  others: string[];
  entries: number;
  /** The most transactions that were in hand between two pages. */
  held: number;
  explainsRecords: boolean;
  told: string[];
}

interface Bounds {
  mostHeld?: number;
  entriesAPage?: number;
  scratch?: Scratch;
}

async function screened({ store: { journal } }: Core, bounds: Bounds = {}): Promise<Screened> {
  const { log } = journal;
  assert.ok(log !== undefined);
  const told: string[] = [];
  let [entries, held] = [0, 0];
  const screening = new Screening({
    ...{ journal, log, decide: true, everyDoorSpeaks: true, ...bounds },
    report: (_account, _seq, what) => told.push(what),
    onPage: (some, _accounts, now) => {
      entries += some;
      held = Math.max(held, now);
    },
  });
  await screening.run();
  const others: string[] = [];
  for await (const account of accountsIn(journal))
    if ((await screening.sound(account)) === null) others.push(account);
  return { others, entries, held, explainsRecords: await screening.explainsRecords(), told };
}

const nothing = (): void => {};

async function differencesOf({ store }: Core, decide = false): Promise<Difference[]> {
  return (await verifyStore(store.journal, { heads: false, decide, everyDoorSpeaks: true })).differences;
}

test('all accounts of a sound store are in order, however few transactions are held', async () => {
  await withCopy(nothing, async (core) => {
    const all = await screened(core);
    assert.equal([all.others, all.explainsRecords, all.told], [[], true, []]);
    assert.ok(all.entries > LIVES * 20, `${all.entries} entries`);
    const scratch = await openTemporaryTable();
    for (const bounds of [{}, { scratch }]) {
      const few = await screened(core, { mostHeld: 2, entriesAPage: 1, ...bounds });
      assert.equal([few.others, few.explainsRecords, few.told], [[], true, []]);
      assert.is(few.entries, all.entries);
      assert.is(few.held, 2);
    }
    await scratch.close();
  });
});

test('an account that is off is left to its own replay, and no other', async () => {
  const [first, ...rest] = lives;
  assert.ok(first !== undefined);
  const faults: ((tables: StoredTables) => unknown)[] = [
    ({ records }) => records.remove(first.charge),
    ({ lookups }) => lookups.put([first.account, 'externalRef', 'other'], first.charge),
    ({ lookups }) => lookups.put([first.account, 'externalRef', 'same'], first.charge),
    ({ lookups }) => lookups.remove(first.account, 'adjustment', 'opening'),
    ({ journal }) => journal.remove([first.account, 3]),
  ];
  for (const fault of faults)
    await withCopy(fault, async (core) => {
      for (const bounds of [{}, { mostHeld: 2, entriesAPage: 1 }])
        assert.equal((await screened(core, bounds)).others, [first.account]);
      const differences = await differencesOf(core);
      assert.ok(differences.length > 0);
      assert.ok(differences.every(({ account }) => account === first.account));
    });
  assert.is(rest.length, LIVES - 1);
});

test('a record that stands where it stood before its last entries is found', async () => {
  const [{ account, charge }] = lives as [Life];
  const older = ({ records }: StoredTables): void => {
    const record: TransactionRecord = JSON.parse(records.get(charge) ?? '');
    const [first = 0] = record.seqs;
    records.put([charge], JSON.stringify({ ...record, seqs: [first] }));
  };
  await withCopy(older, async (core) => {
    for (const mostHeld of [2, 100])
      assert.equal((await screened(core, { mostHeld, entriesAPage: 1 })).others, [account]);
    assert.ok((await differencesOf(core)).some(({ what }) => what.includes(charge)));
  });
});

test('a record that is kept as the row of another batch is found', async () => {
  const [{ account, open }] = lives as [Life];
  let own = '';
  const another = ({ records }: StoredTables): void => {
    own = records.get(open) ?? '';
    records.put([open], records.rows('').find(({ value }) => /^@/.test(value) && value !== own)?.value ?? '');
  };
  await withCopy(another, async (core) => {
    assert.match(own, /^@\d+$/);
    assert.equal((await screened(core)).others, [account]);
    assert.ok((await differencesOf(core)).some(({ what }) => what.includes(open)));
  });
});

test('a record that is kept as other rows than its own is found', async () => {
  let id = '';
  let account = '';
  await withCopy(
    ({ records }) => {
      id = records.rows('').find(({ value }) => /^@\d+,\d+$/.test(value))?.key ?? '';
    },
    async ({ store }) => {
      account = (await store.journal.transaction(id))?.account ?? '';
    },
  );
  const rows = (change: (own: string[]) => string[]) => {
    return ({ records }: StoredTables): void =>
      records.put([id], `@${change((records.get(id) ?? '').slice(1).split(','))}`);
  };
  const faults = [
    rows((own) => own.slice(0, 1)),
    rows((own) => own.slice(1)),
    rows((own) => [...own, ...own.slice(-1)]),
    rows((own) => [...own].reverse()),
    rows((own) => [...own, 'x']),
    rows(() => []),
  ];
  for (const fault of faults)
    await withCopy(fault, async (core) => {
      for (const bounds of [{}, { mostHeld: 2, entriesAPage: 1 }])
        assert.equal((await screened(core, bounds)).others, [account]);
      assert.ok((await differencesOf(core)).some(({ what }) => what.includes(id)));
    });
});

test('a record that can not be read keeps no record behind it from being looked at', async () => {
  const [{ account, charge, open }] = lives as [Life];
  const stranger = 'ffffffff-ffff-4fff-8fff-ffffffffffff';
  const rotten = ({ records }: StoredTables): void => {
    const record = JSON.parse(records.get(charge) ?? '');
    records.put([stranger], JSON.stringify({ ...record, id: stranger }));
    records.put([open], `${records.get(open)},1000000`);
  };
  await withCopy(rotten, async (core) => {
    const told = await differencesOf(core);
    assert.ok(told.every((difference) => difference.account === account));
    for (const what of [
      `no journal tells of the record ${stranger}`,
      `the record ${open} can't be read: row 1000000 of the log has no batch`,
    ])
      assert.ok(told.map((difference) => difference.what).includes(what), what);
  });
});

test('a record that one batch made and that is kept whole is in order, and in hand to the end', async () => {
  const [{ account, open }] = lives as [Life];
  let record: TransactionRecord | null = null;
  await withCopy(nothing, async ({ store }) => {
    record = await store.journal.transaction(open);
  });
  const whole = (change: object) => {
    return ({ records }: StoredTables): void => records.put([open], JSON.stringify({ ...record, ...change }));
  };
  await withCopy(whole({}), async (core) => {
    const { others, explainsRecords } = await screened(core);
    assert.equal([others, explainsRecords], [[], true]);
    // What was let go meanwhile is found by the account's own replay.
    assert.equal((await screened(core, { mostHeld: 2, entriesAPage: 1 })).others, [account]);
    assert.equal(await differencesOf(core), []);
  });
  await withCopy(whole({ events: 7 }), async (core) => {
    assert.equal((await screened(core)).others, [account]);
    assert.ok((await differencesOf(core)).some(({ what }) => what.includes(open)));
  });
});

test('a record too many is found, though every account is in order', async () => {
  const stranger = '00000000-0000-4000-8000-000000000000';
  const [{ account, charge }] = lives as [Life];
  const extra = ({ records }: StoredTables): void =>
    records.put([stranger], JSON.stringify({ ...JSON.parse(records.get(charge) ?? ''), id: stranger }));
  await withCopy(extra, async (core) => {
    const { others, explainsRecords } = await screened(core);
    assert.equal([others, explainsRecords], [[], false]);
    const what = `no journal tells of the record ${stranger}`;
    assert.equal(await differencesOf(core), [{ account, seq: 0, what }]);
  });
});

test('a batch that nothing leads to, and a row that is none, are told', async () => {
  const [{ account }] = lives as [Life];
  const lost = ({ places }: StoredTables): void => {
    for (const { key } of places.rows(account)) places.remove(...key.split(' '));
  };
  await withCopy(lost, async (core) => {
    const differences = await differencesOf(core);
    assert.ok(differences.every((difference) => difference.account === account));
    assert.match(differences[0]?.what ?? '', /^nothing leads to the batch in row \d+ of the log$/);
  });
  await withCopy(
    ({ journal }) => journal.put([account, 2], 'rotten'),
    async (core) => {
      const differences = await differencesOf(core);
      assert.match(differences[0]?.what ?? '', /^row \d+ of the log can't be read: /);
      assert.ok(differences.some(({ seq, what }) => seq === 2 && /^the batch can't be read/.test(what)));
    },
  );
});

test('two cashouts under one idempotency key are found by deciding again', async () => {
  const [{ account }] = lives as [Life];
  await withCopy(nothing, async (core) => {
    for (let n = 0; n < 2; n++)
      await grow(core.store, account, [cashoutCreated(AT, { idempotencyKey: 'twice' })]);
    assert.ok((await differencesOf(core, true)).some(({ what }) => /decided again/.test(what)));
  });
});

test('the log of a closed store is unavailable', async () => {
  const core = await openOn({ DATA_DIR: folder });
  const { log } = core.store.journal;
  assert.ok(log !== undefined);
  await close(core);
  assert.throws(
    () => log.countRecords(),
    (error: unknown) => error instanceof StoreUnavailable,
  );
  assert.throws(
    () => [...log.pages(1)],
    (error: unknown) => error instanceof StoreUnavailable,
  );
});

test.run();
