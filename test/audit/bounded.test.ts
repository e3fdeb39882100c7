/** What a replay holds is bounded, and nothing that it let go of escapes it; a store that is away is waited for. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AuditReads, patiently, patientReads } from '../../src/audit/patience.ts';
import { Replay } from '../../src/audit/replay.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import { withProgress } from '../../src/cli/progress.ts';
import type { Entry, TransactionRecord } from '../../src/engine/journal.ts';
import { type Store, StoreUnavailable } from '../../src/engine/store.ts';
import { adjusted, chargeCreated, chargePaid, grow } from '../store/contract/builders.ts';
import { recordsOf } from '../store/contract/harness.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('audit/bounded');
const AT = Date.UTC(2026, 0, 5, 12);
const CHARGES = 300;
const A_BATCH = 20;
const MOST_HELD = 40;
const ADJUSTMENTS = 60;

async function growAll(store: Store, account: string, entries: readonly Entry[]): Promise<void> {
  for (let from = 0; from < entries.length; from += A_BATCH) {
    const some = entries.slice(from, from + A_BATCH);
    const ids = [...new Set(some.flatMap(({ transaction }) => transaction ?? []))];
    const { transactions } = await store.journal.read(account, { transactions: ids, lookups: [] });
    await grow(store, account, some, { known: transactions.filter((record) => record !== null) });
  }
}

interface Scene {
  store: Store;
  account: string;
  first: string[];
  second: string[];
}

/** Many charges, as many again with the same references, and only then the payments of the first ones. */
async function longJournal(): Promise<Scene> {
  const store = new MemoryStore({ incarnation: 'a', now: () => AT, silentAfterMs: 5_000 });
  const account = randomUUID();
  const charges = (): (Entry & { transaction: string })[] =>
    Array.from({ length: CHARGES }, (_, n) => chargeCreated(AT, { externalRef: `r ${n}` }));
  const [first, second] = [charges(), charges()];
  const paid = first.map(({ transaction }, n) => chargePaid(AT, transaction, `E${n}`));
  const adjustments = Array.from({ length: ADJUSTMENTS }, (_, n) => adjusted(AT, 1, `a ${n}`));
  await growAll(store, account, [...first, ...adjustments, ...second, ...paid]);
  const ids = (entries: typeof first): string[] => entries.map(({ transaction }) => transaction);
  return { store, account, first: ids(first), second: ids(second) };
}

interface Run {
  differences: string[];
  held: number;
  entries: number;
}

async function replayed(journal: AuditReads, account: string, decide = false): Promise<Run> {
  const run: Run = { differences: [], held: 0, entries: 0 };
  const replay = new Replay({
    journal,
    account,
    decide,
    everyDoorSpeaks: true,
    mostHeld: MOST_HELD,
    report: (_seq, what) => run.differences.push(what),
    onPage: (entries, held) => {
      run.entries += entries;
      run.held = Math.max(run.held, held);
    },
  });
  await replay.run();
  assert.is(
    replay.recorded,
    2 * CHARGES - run.differences.filter((what) => /no record of it/.test(what)).length,
  );
  return run;
}

/** The journal with other records beside it. */
function withRecords(
  journal: AuditReads,
  change: (record: TransactionRecord) => TransactionRecord | null,
): AuditReads {
  const changed = (record: TransactionRecord | null): TransactionRecord | null =>
    record === null ? null : change(record);
  return {
    ...journal,
    read: async (account, wants) => {
      const { transactions, lookups } = await journal.read(account, wants);
      return { transactions: transactions.map(changed), lookups };
    },
    transaction: async (id) => changed(await journal.transaction(id)),
    records: async (after, limit) =>
      (await journal.records(after, limit)).flatMap((one) => changed(one) ?? []),
  };
}

let scene: Scene;

test.before(async () => {
  scene = await longJournal();
});

test('a replay holds a bounded number of transactions and lookups, however many are open', async () => {
  const { store, account } = scene;
  const run = await replayed(store.journal, account);
  assert.equal(run.differences, []);
  assert.is(run.entries, 3 * CHARGES + ADJUSTMENTS);
  assert.ok(run.held <= 2 * MOST_HELD, `${run.held} are held between two pages`);
});

test('what was let go is judged all the same', async () => {
  const { store, account, first, second } = scene;
  const [late, missing, older] = [first[5] ?? '', second[7] ?? '', first[9] ?? ''];
  const before = new Map<string, TransactionRecord>();
  for (const { transaction, type, snapshot } of await createdOf(store, account)) {
    if (transaction !== older || type === null || snapshot === null) continue;
    const [record] = (await recordsOf(store, account)).filter(({ id }) => id === older);
    assert.ok(record !== undefined);
    before.set(older, {
      ...record,
      snapshot,
      seqs: record.seqs.slice(0, 1),
      messages: {},
    } as TransactionRecord);
  }
  const journal = withRecords(store.journal, (record) => {
    if (record.id === missing) return null;
    if (record.id === late) return { ...record, updatedAt: '2020-01-01T00:00:00.000Z' };
    return before.get(record.id) ?? record;
  });
  const { differences, held } = await replayed(journal, account);
  assert.ok(held <= 2 * MOST_HELD);
  const about = (id: string): string[] => differences.filter((what) => what.includes(id));
  assert.ok(
    about(late).some((what) => /differs/.test(what)),
    `${about(late)}`,
  );
  assert.ok(
    about(missing).some((what) => /there is no record of it/.test(what)),
    `${about(missing)}`,
  );
  assert.ok(
    about(older).some((what) => /differs/.test(what)),
    `${about(older)}`,
  );
  const others = differences.filter((what) => ![late, missing, older].some((id) => what.includes(id)));
  assert.equal(others, []);
});

/** The first entries of the account's transactions. */
async function createdOf(store: Store, account: string): Promise<Entry[]> {
  const batches = await store.journal.batchesFrom(account, 1, 10_000);
  return batches.flatMap(({ entries }) =>
    entries.filter(({ from, transaction }) => from === null && transaction),
  );
}

test('a lookup that waited, and an adjustment that no entry gives, are found', async () => {
  const { store, account, first, second } = scene;
  const journal: AuditReads = {
    ...store.journal,
    read: async (id, wants) => {
      const { transactions, lookups } = await store.journal.read(id, wants);
      const at = wants.lookups.findIndex(({ name, key }) => name === 'externalRef' && key === 'r 3');
      return { transactions, lookups: lookups.map((value, n) => (n === at ? (first[3] ?? '') : value)) };
    },
    lookups: async (id, after, limit) => {
      const { rows, next } = await store.journal.lookups(id, after, limit);
      if (next !== null) return { rows, next };
      return { rows: [...rows, { name: 'adjustment', key: 'nobody', value: 'x' }], next };
    },
  };
  const { differences } = await replayed(journal, account);
  assert.equal(differences, [
    `the lookup externalRef:r 3 is ${first[3]}, the journal gives ${second[3]}`,
    'the lookup adjustment:nobody is there, and no entry gives it',
  ]);
});

test('an adjustment that is applied twice is found', async () => {
  const store = new MemoryStore({ incarnation: 'a', now: () => AT, silentAfterMs: 5_000 });
  const account = randomUUID();
  for (const id of ['once', 'twice', 'twice']) await grow(store, account, [adjusted(AT, 1, id)]);
  const { differences } = await verifyStore(store.journal, {
    heads: false,
    decide: false,
    everyDoorSpeaks: true,
  });
  assert.equal(
    differences.map(({ what }) => what),
    ['the adjustment twice is applied 2 times'],
  );
});

test('a record too many is found beside all others of its account', async () => {
  const { store, account, first } = scene;
  const stranger = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
  const known = await store.journal.transaction(first[0] ?? '');
  assert.ok(known !== null);
  const extra: TransactionRecord = { ...known, id: stranger };
  const journal: AuditReads = {
    ...store.journal,
    records: async (after, limit) => {
      const records = await store.journal.records(after, limit);
      return records.length < limit && after < stranger ? [...records, extra] : records;
    },
  };
  const report = await verifyStore(journal, { heads: false, decide: false, everyDoorSpeaks: true });
  assert.equal(report.differences, [{ account, seq: 0, what: `no journal tells of the record ${stranger}` }]);
});

test('a store that is away in the middle is waited for; one that stays away ends it', async () => {
  const { store } = scene;
  let calls = 0;
  const failing =
    <Args extends unknown[], Result>(read: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      calls += 1;
      return calls % 3 === 0 ? Promise.reject(new StoreUnavailable('away')) : read(...args);
    };
  const { journal } = store;
  const flaky: AuditReads = {
    ...journal,
    batches: failing(journal.batches),
    read: failing(async (...args) => journal.read(...args)),
    records: failing(journal.records),
    lookups: failing(journal.lookups),
  };
  const report = await verifyStore(flaky, { heads: false, decide: false, everyDoorSpeaks: true });
  assert.equal([report.ok, report.entries], [true, 3 * CHARGES + ADJUSTMENTS]);
  assert.ok(calls > 6);
  const away: AuditReads = { ...journal, head: () => Promise.reject(new StoreUnavailable('away')) };
  const patient = patientReads(away, 60);
  const error = await Promise.resolve(patient.head('x')).catch((thrown: unknown) => thrown);
  assert.instance(error, StoreUnavailable);
  let tries = 0;
  const wrong = patiently(() => {
    tries += 1;
    return Promise.reject(new Error('rotten'));
  });
  assert.match(String(await wrong.catch((thrown: unknown) => thrown)), /rotten/);
  assert.is(tries, 1, 'only a store that is away is asked again');
});

test('progress is told while the work goes on, and never afterwards', async () => {
  const lines: string[] = [];
  let seen = (): void => {};
  const told = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const write = (line: string): void => {
    lines.push(line);
    seen();
  };
  const result = await withProgress({ name: 'verify', write, everyMs: 5 }, async (onPage) => {
    onPage({ accounts: 2, entries: 30 });
    await told;
    return 'done';
  });
  assert.is(result, 'done');
  assert.match(lines[0] ?? '', /^verify: 2 accounts, 30 entries, \d+ entries\/s\n$/);
  const { length } = lines;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.is(lines.length, length);
});

test.run();
