/**
 * Whatever is left of the projections, the store says the same: as much as was written, nothing, or what a power cut
 * made of it. A copy of the folder beside an open store is what a kill leaves.
 */
import { randomUUID } from 'node:crypto';
import { cp, open, readdir, readlink, rm, stat } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import { itemFor } from '../../../src/engine/attention/item.ts';
import type { TransactionRecord } from '../../../src/engine/journal.ts';
import type { DeliveryRecord } from '../../../src/engine/store/deliveries.ts';
import { type Claim, type ClaimOf, DUE_KINDS, type Due, wakeUp } from '../../../src/engine/store/due.ts';
import { itemOf, type Store } from '../../../src/engine/store.ts';
import { openRoot } from '../../../src/store/environments/lmdb.ts';
import { logIn } from '../../../src/store/lmdb/files.ts';
import { Log } from '../../../src/store/lmdb/log/log.ts';
import { type LmdbStoreOptions, openLmdbStore, openLmdbToRead } from '../../../src/store/lmdb/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { withStoredTables } from '../../support/stored-tables.ts';
import { sleep } from '../../support/wait.ts';
import {
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  deliveryRecord,
  grow,
  iso,
  settings,
} from '../contract/builders.ts';
import { drain, first, lookupsOf } from '../contract/harness.ts';
import { storeOptions, WRITTEN_MS, withStore } from './opened.ts';

const test = suite('projections');

const AT = Date.UTC(2026, 0, 5, 12);
const URLS = ['https://a.example/hook', 'https://b.example/hook'];

function optionsFor(folder: string, more: Partial<LmdbStoreOptions> = {}): LmdbStoreOptions {
  return storeOptions(folder, () => AT, more);
}

/** Some of everything that a store keeps. */
async function work(store: Store, accounts: readonly string[], inHandMs = 0): Promise<void> {
  for (const account of accounts) {
    const timers = [{ name: 'EXPIRE', at: iso(AT + 3_600_000) }];
    const orders = [{ kind: 'wake' as const, step: 0, at: iso(AT) }];
    const externalRef = randomUUID();
    const charges = [1, 2, 3].map(() => chargeCreated(AT, { timers, orders, externalRef, urls: URLS }));
    const created = await grow(store, account, charges, { claimUntil: AT });
    const known: TransactionRecord[] = created.append.records;
    await grow(store, account, [chargePaid(AT, first(charges).transaction, randomUUID())], { known });
    await grow(store, account, [cashoutCreated(AT, { orders: [{ kind: 'payout' }] })]);
    const [delivered, retried, behind, ...others] = created.claims.filter(
      (claim): claim is ClaimOf<'delivery'> => claim.due.kind === 'delivery',
    );
    const [order, again] = created.claims.filter(({ due }) => due.kind === 'bank');
    if (!delivered || !retried || !behind || !order || !again) throw new Error('things are due at once');
    // What is written now is in hand, and its rows stay until all that lies in them has ended.
    await sleep(inHandMs);
    const record = deliveryRecord(account, delivered.due.transaction, AT);
    const item = itemOf({ kind: 'dead', id: randomUUID(), what: 'w', next: 'n' }, iso(AT), { account });
    await store.due.settle([
      {
        claim: delivered,
        next: null,
        record: { ...record, id: delivered.due.delivery, status: 'delivered' },
      },
      {
        claim: retried,
        next: { ...retried.due, at: AT + 60_000, tries: 1 },
        record: { ...record, id: retried.due.delivery },
        attention: item,
      },
      { claim: order, next: null },
      { claim: again, next: { ...again.due, at: AT + 90_000, tries: 2 } },
    ]);
    await store.backlog.put([
      { target: { account, url: first(URLS) }, claims: [behind], lookAt: AT + 1_000 },
    ]);
    await store.due.park(others.slice(0, 1));
    // Nothing is left in our hands: who takes the folder up has nothing in them.
    const left = created.claims.filter(
      (claim) => ![delivered, retried, behind, order, again].includes(claim as never),
    );
    await store.due.settle(left.slice(1).map((claim) => ({ claim, next: claim.due })));
    await store.attention.note([
      { ...item, id: `${item.id}-2` },
      { ...item, id: `${item.id}-3` },
    ]);
    await store.attention.dismiss([{ kind: 'dead', id: `${item.id}-2` }]);
    await store.attention.withdraw([{ kind: 'dead', id: `${item.id}-3` }]);
    await store.accounts.put({ ...settings(), id: account });
    await store.marks.putMark(account, item.id);
    await fail(store, account, inHandMs);
  }
}

/** Deliveries that fail for good, of which one has another round. */
async function fail(store: Store, account: string, inHandMs: number): Promise<void> {
  const charges = [1, 2].map(() => chargeCreated(AT, { urls: URLS }));
  const { claims } = await grow(store, account, charges, { claimUntil: AT });
  await sleep(inHandMs);
  const failed = claims.filter((claim): claim is ClaimOf<'delivery'> => claim.due.kind === 'delivery');
  const records = failed.map(({ due: { transaction, delivery } }, nth) => {
    const status = nth === 0 ? ('rejected' as const) : ('dead' as const);
    return { ...deliveryRecord(account, transaction, AT + nth, delivery), status, nextAttemptAt: null };
  });
  await store.due.settle(
    failed.map((claim, nth) => ({ claim, next: null, record: first(records.slice(nth)) })),
  );
  const [again] = failed;
  if (again === undefined) throw new Error('deliveries are due at once');
  const at = AT + 30_000;
  const record = { ...first(records), status: 'retrying' as const, nextAttemptAt: iso(at) };
  await store.due.settle([{ claim: null, next: { ...again.due, at, tries: 1 }, record }]);
}

/**
 * Whether a due thing may be there still, or not, twice even: a timer that its transaction no longer has; a delivery that
 * has come further meanwhile, whose row was written while it was in hand.
 */
function isHint(
  due: Due,
  records: readonly TransactionRecord[],
  progress: readonly DeliveryRecord[],
): boolean {
  if (due.kind === 'timer')
    return !records.some(({ id, timers }) => id === due.transaction && timers.length > 0);
  const record = due.kind === 'delivery' ? progress.find(({ id }) => id === due.delivery) : undefined;
  if (record === undefined || record.status === 'pending') return false;
  return record.status !== 'retrying' || due.at < Date.parse(record.nextAttemptAt ?? '');
}

/** All that a store says; what is due is taken out of it. */
async function said(store: Store, accounts: readonly string[]): Promise<string> {
  const records = await store.journal.records('', 10_000);
  const due: Due[] = [];
  await store.due.unpark(AT);
  for (const target of await store.backlog.targets('', 1_000)) {
    const { claims } = await store.backlog.take(target, AT, 1_000);
    due.push(...claims.map((claim) => claim.due));
  }
  for (const kind of DUE_KINDS)
    for (const claim of await drain(store, kind, AT + 86_400_000, 1_000)) due.push(claim.due);
  const progress = (await Promise.all(records.map(({ id }) => store.journal.deliveries(id)))).flat();
  const toCome = new Set(due.filter((each) => !isHint(each, records, progress)).map(canonicalJson));
  const rest = await Promise.all([
    store.journal.accountIds('', 1_000),
    ...accounts.map((account) => store.journal.head(account)),
    ...accounts.map((account) => store.journal.batchesFrom(account, 1, 1_000)),
    ...accounts.map((account) => lookupsOf(store, account)),
    ...accounts.map((account) => store.accounts.get(account)),
    ...accounts.map((account) => store.marks.mark(account)),
    progress,
    store.attention.page({}, null, 1_000),
    store.attention.counts(),
    store.journal.waiting('cashout', null, iso(AT + 1_000), 1_000),
    store.journal.failedDeliveries({}, null, 1_000),
    ...accounts.map((account) => store.journal.failedDeliveries({ account }, null, 1_000)),
  ]);
  return canonicalJson([records, [...toCome].sort(), rest]);
}

/** Texts of megabytes: a difference is shown where it begins. */
function sameText(actual: string, expected: string): void {
  let at = 0;
  while (at < actual.length && actual[at] === expected[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 100), at + 200);
  assert.is(part(actual), part(expected));
}

/** Does something with what a kill would leave of the folder now. */
async function withRemains(folder: string, body: (remains: string) => Promise<void>): Promise<void> {
  await withFolder(async (remains) => {
    // A kill stops all at once: the projections aren't written while they are copied, nor ahead of the log.
    const written = async (): Promise<number> => (await stat(`${folder}/pixstate.projections`)).mtimeMs;
    for (let before = 0; before !== (await written()); ) {
      before = await written();
      for (const name of ['pixstate.projections', 'pixstate.log'])
        await cp(`${folder}/${name}`, `${remains}/${name}`);
    }
    await body(remains);
  });
}

function saidBy(options: LmdbStoreOptions, accounts: readonly string[]): Promise<string> {
  return withStore(options, (store) => said(store, accounts));
}

/** A store with two parts of work, of which the first is written to the projections, and the second isn't. */
async function withWork(
  body: (folder: string, accounts: readonly string[], store: Store) => Promise<void>,
  inHandMs = 0,
): Promise<void> {
  await withFolder(async (folder) => {
    await withStore(optionsFor(folder), async (store) => {
      const accounts = Array.from({ length: 6 }, () => randomUUID());
      await work(store, accounts.slice(0, 4));
      await sleep(WRITTEN_MS);
      await work(store, accounts.slice(2), inHandMs);
      await body(folder, accounts, store);
    });
  });
}

test('a kill between the log and the projections takes nothing away', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      const after = await saidBy(optionsFor(remains), accounts);
      sameText(after, await said(store, accounts));
    });
  });
});

test('nor does one after lookups and deliveries were written ahead of the mark', async () => {
  // The clock may have all written before the copy is made: then it is tried again.
  for (let isAhead = false, tries = 0; !isAhead; tries++) {
    assert.ok(tries < 10, 'nothing was written ahead of the mark');
    await withWork(async (folder, accounts, store) => {
      const [account = ''] = accounts;
      const refs = Array.from({ length: 2_100 }, () => randomUUID());
      await grow(
        store,
        account,
        refs.map((externalRef) => chargeCreated(AT, { externalRef })),
      );
      await sleep(100);
      await withRemains(folder, async (remains) => {
        isAhead = await withStoredTables(remains, ({ journal, state, lookups, deliveries }) => {
          const { mark } = JSON.parse(state.get('state') ?? '{}');
          const isThere = lookups.get(account, 'externalRef', refs.at(-1) ?? '') !== undefined;
          // Of the second part of work, which the mark doesn't cover, some deliveries make progress.
          return mark > 0 && mark < journal.last() && isThere && deliveries.rows('').length > 0;
        });
        if (isAhead) sameText(await saidBy(optionsFor(remains), accounts), await said(store, accounts));
      });
    });
  }
});

test('nor does one after which rows are left of what was in hand when they were written', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      const after = await saidBy(optionsFor(remains), accounts);
      sameText(after, await said(store, accounts));
    });
  }, 300);
});

test('after a kill all is due that wasn’t carried out, where orders needn’t be, or came to an end', async () => {
  await withFolder(async (folder) => {
    const store = await openLmdbStore(optionsFor(folder));
    const account = randomUUID();
    const transfers = [1, 2, 3].map(() =>
      cashoutCreated(AT, { orders: [{ kind: 'payout' }], urls: ['https://a.example/hook'] }),
    );
    const [silent] = transfers;
    const instead = (due: Due): Due | null => {
      if (due.kind !== 'bank') return due;
      return due.transaction === silent?.transaction ? null : wakeUp(due, 0, AT);
    };
    const { claims } = await grow(store, account, transfers, { claimUntil: AT, instead });
    assert.is(claims.length, 5);
    const orders = claims.filter(({ due }) => due.kind === 'bank');
    assert.is(orders.length, 2);
    await store.due.settle(orders.map((claim) => ({ claim, next: null })));
    await withRemains(folder, async (remains) => {
      const again = await openLmdbStore(optionsFor(remains));
      const deliveries = await drain(again, 'delivery', AT);
      assert.equal(
        deliveries.map(({ due }) => due.transaction).sort(),
        transfers.map(({ transaction }) => transaction).sort(),
      );
      // Of a batch that is read again the order itself is due; those that ended aren't.
      const left = await drain(again, 'bank', AT);
      assert.equal(
        left.map(({ due }) => [due.transaction, due.kind === 'bank' && due.order.kind]),
        [[silent?.transaction, 'payout']],
      );
      await again.close();
    });
    await store.close();
  });
});

test('transfers that have ended aren’t due again, however much is taken up, and whenever they were due', async () => {
  await withFolder(async (folder) => {
    const store = await openLmdbStore(optionsFor(folder));
    const account = randomUUID();
    const instead = (due: Due): Due => (due.kind === 'bank' ? wakeUp(due, 0, AT + 500) : due);
    const open: string[] = [];
    const claims: Claim[] = [];
    // More changes than are written together.
    for (let round = 0; round < 8; round++) {
      const transfers = Array.from({ length: 100 }, () =>
        cashoutCreated(AT, { orders: [{ kind: 'payout' }] }),
      );
      const made = await grow(store, account, transfers, { claimUntil: AT, instead });
      claims.push(...made.claims);
      const [last, ...ended] = made.append.records;
      const ends = ended.map(({ id }) => cashoutMoved(AT, id, 'pending', 'rejected'));
      await grow(store, account, ends, { known: ended });
      open.push(last?.id ?? '');
    }
    assert.is(claims.length, 800);
    await store.due.settle(claims.map((claim) => ({ claim, next: null })));
    await withRemains(folder, async (remains) => {
      await rm(`${remains}/pixstate.projections`);
      const again = await openLmdbStore(optionsFor(remains));
      // One of which the journal doesn't tell that it has ended may be: its bank says it again, or nothing.
      for (const { due } of await drain(again, 'bank', AT + 10_000))
        assert.ok(open.includes(due.transaction));
      await again.close();
    });
    await store.close();
  });
});

test('neighbours of one batch are read as each of them alone', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const store = await openLmdbStore(optionsFor(folder));
    const [one, other] = [1, 2].map((n) => [1, 2, 3].map(() => chargeCreated(AT + n, { urls: URLS })));
    const made = [await grow(store, account, one ?? []), await grow(store, account, other ?? [])];
    await store.close();
    const [a, b, c, ...rest] = made.flatMap(({ append }) => append.records);
    const again = await openLmdbStore(optionsFor(folder));
    for (const record of [a, b, a, c, ...rest, b, c])
      assert.equal(await again.journal.transaction(record?.id ?? ''), record);
    await again.close();
  });
});

/** Files below a folder that this process has open; none where the system doesn't tell. */
async function openIn(folder: string): Promise<string[]> {
  const names = await readdir('/proc/self/fd').catch(() => []);
  const files = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return files.filter((file) => file.startsWith(folder));
}

test('a log that can not be taken up leaves nothing open', async () => {
  await withWork(async (folder) => {
    await withRemains(folder, async (remains) => {
      const log = new Log(logIn(remains));
      const group = log.begin();
      await log.write(group, () => void group.batch('rotten'));
      assert.is((await openIn(remains)).length > 0, process.platform === 'linux');
      await log.close();
      for (const open of [openLmdbStore, openLmdbToRead]) {
        const error = await open(optionsFor(remains)).catch((thrown: unknown) => thrown);
        assert.match(String(error), new RegExp(`row ${group.last} of the log can't be read`));
        assert.equal(await openIn(remains), []);
      }
      await sleep(WRITTEN_MS);
    });
  });
});

test('a clean end and another start say the same', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      await (await openLmdbStore(optionsFor(remains))).close();
      const after = await saidBy(optionsFor(remains, { boot: 'another' }), accounts);
      sameText(after, await said(store, accounts));
    });
  });
});

test('without projections all of it follows from the log', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      await rm(`${remains}/pixstate.projections`);
      const rows: number[] = [];
      const options = optionsFor(remains, { onProgress: (count) => rows.push(count) });
      const after = await saidBy(options, accounts);
      sameText(after, await said(store, accounts));
    });
  });
});

test('an item that counts says the same, wherever a kill comes between its parts', async () => {
  await withFolder(async (folder) => {
    const store = await openLmdbStore(optionsFor(folder));
    try {
      const account = randomUUID();
      const data = { day: '2026-01-05', count: 2, event: 'pix-in.paid', status: 410 };
      const given = { id: 'r', since: iso(AT), about: { account }, data };
      const item = itemFor('DELIVERIES_REJECTED', given);
      const settled = () => store.due.settle([{ claim: null, next: null, counted: item }]);
      await settled();
      await sleep(WRITTEN_MS);
      await Promise.all([settled(), settled()]);
      await store.attention.discount(item, 1);
      const counts = [{ ...item, data: { ...data, count: 5 } }];
      assert.equal(await store.attention.page({}, null, 10), counts);
      await withRemains(folder, async (remains) => {
        for (const isWhole of [true, false]) {
          if (!isWhole) await rm(`${remains}/pixstate.projections`);
          const again = await openLmdbStore(optionsFor(remains));
          assert.equal(await again.attention.page({}, null, 10), counts);
          assert.equal(await again.attention.counts(), { rejected: 1 });
          await again.close();
        }
      });
    } finally {
      await store.close();
    }
  });
});

test('what a clock brings near before it is written, and what it does not, both come at their times', async () => {
  await withFolder(async (folder) => {
    let now = AT;
    const store = await openLmdbStore(optionsFor(folder, { now: () => now }));
    try {
      // Both lie too far ahead to be kept in memory, and share a row.
      const times = [AT + 10_100, AT + 10_900];
      const charges = times.map((at) => chargeCreated(AT, { timers: [{ name: 'EXPIRE', at: iso(at) }] }));
      await grow(store, randomUUID(), charges);
      now = AT + 10_500;
      const [first, none] = [
        await store.due.claim('timer', now, 10),
        await store.due.claim('timer', now, 10),
      ];
      assert.equal([first.map(({ due }) => due.at), none], [[times[0]], []]);
      await sleep(WRITTEN_MS);
      now = AT + 10_899;
      assert.equal(await store.due.claim('timer', now, 10), []);
      now = AT + 10_900;
      assert.equal(
        (await store.due.claim('timer', now, 10)).map(({ due }) => due.at),
        [times[1]],
      );
    } finally {
      await store.close();
    }
  });
});

/** Makes of projections what a build left that knew no failed deliveries and no versions. */
async function makeOlder(path: string): Promise<void> {
  const root = openRoot({ path, readOnly: false, maxDbs: 32 });
  await root.openDB({ name: 'failed', encoding: 'string' }).drop();
  const state = root.openDB<string, string>({ name: 'state', encoding: 'string' });
  const { version, ...known } = JSON.parse(state.get('state') ?? '{}');
  assert.type(version, 'number');
  await state.put('state', JSON.stringify(known));
  await root.close();
}

/** Names the projections that belong to a folder's log. */
async function generationIn(folder: string): Promise<string | undefined> {
  const log = new Log(logIn(folder), { readOnly: true });
  const generation = log.state()?.generation;
  await log.close();
  return generation;
}

test('those of another version are made anew, and who only reads makes its own', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      const path = `${remains}/pixstate.projections`;
      await makeOlder(path);
      const expected = await said(store, accounts);
      const reader = await openLmdbToRead(optionsFor(remains));
      const { found } = await reader.journal.failedDeliveries({ url: first(URLS) }, null, 1_000);
      await reader.close();
      // Of four that failed in each account's part of the work one goes on.
      assert.is(found.length, 8);
      sameText(await saidBy(optionsFor(remains), accounts), expected);
      const made = await generationIn(remains);
      await (await openLmdbStore(optionsFor(remains))).close();
      assert.is(await generationIn(remains), made, 'once');
    });
  });
});

/** Writes over pages in the middle of a file. */
async function mangle(path: string): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  try {
    for (let at = 8_192; at < size; at += 8_192) await file.write(Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
  } finally {
    await file.close();
  }
}

test('after a power cut, which may have torn them, they are made anew', async () => {
  await withWork(async (folder, accounts, store) => {
    await withRemains(folder, async (remains) => {
      await mangle(`${remains}/pixstate.projections`);
      const after = await saidBy(optionsFor(remains, { boot: 'after the power cut' }), accounts);
      sameText(after, await said(store, accounts));
    });
  });
});

test.run();
