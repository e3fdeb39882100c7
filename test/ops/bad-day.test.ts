/** The bad day: a URL was down, and 100,000 deliveries died there. Whatever is asked of them is read in pages. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listDeliveries } from '../../src/console/server/deliveries/list.ts';
import { CausesPass, causesOf, listedBehind } from '../../src/console/server/now/causes.ts';
import type { Core } from '../../src/core.ts';
import { itemFor } from '../../src/engine/attention/item.ts';
import type { DeliveryRecord, FailedPage } from '../../src/engine/store/deliveries.ts';
import type { DueIndex, JournalReads, Settlement, Store } from '../../src/engine/store.ts';
import { retry } from '../../src/ops/retry.ts';
import { RetryRuns } from '../../src/ops/retry-runs.ts';
import { Folder } from '../cli/support.ts';
import { chargeCreated, grow, iso, settings } from '../store/contract/builders.ts';
import { but } from '../support/but.ts';

const test = suite('a bad day');
const URL = 'http://127.0.0.1:9/down';
const OTHER = 'http://127.0.0.1:9/up';
/** A database takes its time for each write. */
const DEAD = process.env.MONGODB_TEST_URI === undefined ? 100_000 : 5_000;
const TOGETHER = 500;
const ACCOUNT = settings({ id: 'acc_bad_day' });
const BY = { name: 'Ana', reason: 'the URL is up again', role: 'operator' } as const;
let folder: Folder;
let began = 0;

/** So many charges of which each has a dead delivery, with an item for ops. */
async function die({ store }: Core, at: number): Promise<void> {
  const charges = Array.from({ length: TOGETHER }, () => chargeCreated(at, { urls: [URL] }));
  const { claims } = await grow(store, ACCOUNT.id, charges, { claimUntil: at });
  const settlements = claims.flatMap((claim): Settlement[] => {
    if (claim.due.kind !== 'delivery') return [];
    const { account, transaction, delivery: id } = claim.due;
    const attempts = [{ at: iso(at), statusCode: 503, error: null, durationMs: 9 }];
    const parts = { id, account, transaction, status: 'dead' as const, failures: 5, attempts };
    const record: DeliveryRecord = { ...parts, nextAttemptAt: null, deliveredAt: null };
    const about = { account, transaction, delivery: id, url: URL };
    const data = { event: 'pix-in.waiting_payment', error: null, status: 503 };
    const attention = itemFor('DELIVERY_DEAD', { id, since: iso(at), about, data });
    return [{ claim, next: null, record, attention }];
  });
  assert.is(settlements.length, TOGETHER);
  await store.due.settle(settlements);
}

test.before(async () => {
  folder = await Folder.make();
  began = Date.now() - DEAD;
  await folder.withCore(async (core) => {
    await core.store.accounts.put(ACCOUNT);
    for (let nth = 0; nth < DEAD; nth += TOGETHER) await die(core, began + nth);
  });
});
test.after(() => folder.remove());

/** How much was read, or written, at once. */
interface Most {
  pages: number;
  rows: number;
  settled: number;
}

/** A store that counts what is asked of its failed deliveries. */
function counting(store: Store, most: Most): Store {
  const failedDeliveries: JournalReads['failedDeliveries'] = async (...wanted) => {
    const page: FailedPage = await store.journal.failedDeliveries(...wanted);
    most.pages += 1;
    most.rows = Math.max(most.rows, page.found.length);
    return page;
  };
  const settle: DueIndex['settle'] = (settlements) => {
    most.settled = Math.max(most.settled, settlements.length);
    return store.due.settle(settlements);
  };
  return { ...store, journal: but(store.journal, { failedDeliveries }), due: but(store.due, { settle }) };
}

test('lists answer in pages, each delivery once, and none of them reads them all', async () => {
  await folder.withCore(async ({ store }) => {
    const most: Most = { pages: 0, rows: 0, settled: 0 };
    const reads = counting(store, most);
    const seen = new Set<string>();
    const wish = { account: null, status: 'dead', url: URL, limit: 100 } as const;
    let after: string | null = null;
    for (let nth = 0; nth < 30; nth++) {
      const before = most.pages;
      const page = await listDeliveries(reads, { ...wish, after });
      assert.is(page.rows.length, 100);
      assert.ok(most.pages - before <= 2, `${most.pages - before} reads for a page`);
      for (const { id, status, url } of page.rows) {
        assert.equal([status, url], ['dead', URL]);
        seen.add(id);
      }
      after = page.after;
    }
    assert.is(seen.size, 3_000);
    // What isn't there is looked for within bounds, and a page leads to the next one.
    let pages = 0;
    for (let place: string | null = null; pages < 1_000; ) {
      pages += 1;
      const page = await listDeliveries(reads, { ...wish, url: OTHER, after: place });
      assert.is(page.rows.length, 0);
      if (page.after === null) break;
      place = page.after;
    }
    assert.ok(pages < 1_000, 'it comes to an end');
    assert.ok(most.rows <= 200);
  });
});

test('Now counts them in bounded parts', async () => {
  await folder.withCore(async ({ store }) => {
    const pass = new CausesPass();
    for (let parts = 1; ; parts++) {
      const { sums, complete } = await pass.goOn((place) => listedBehind(store, place), began);
      const { causes } = await causesOf(store, sums);
      const [cause] = causes;
      assert.is(cause?.about.url, URL);
      assert.ok((cause?.count ?? 0) <= parts * 5_500, `${cause?.count} in ${parts} parts`);
      if (!complete) continue;
      assert.equal([causes.length, cause?.kind, cause?.count], [1, 'dead', DEAD]);
      return;
    }
  });
});

test('a run counts no more than it says, and asks with one first', async () => {
  await folder.withCore(async (core) => {
    const runs = new RetryRuns({ ...core, onTrouble: (error) => assert.unreachable(String(error)) });
    const wish = { account: null, url: URL, since: null, perSecond: 50, first: true };
    const { asked, state } = await runs.begin(wish, { id: 'run', by: BY });
    assert.equal([asked, state], [Math.min(DEAD, 10_000), 'running']);
    await runs.close();
    const { retried } = runs.of('run') ?? { retried: -1 };
    assert.ok(retried <= 1, 'one at the most');
  });
});

test('all are tried again in pages, once, and the answer stays short', async () => {
  await folder.withCore(async (core) => {
    const most: Most = { pages: 0, rows: 0, settled: 0 };
    const parts = { ...core, store: counting(core.store, most) };
    const retried = await retry(parts, [], { url: URL }, { id: 'all', by: BY });
    assert.is(retried.kind, 'retried');
    if (retried.kind !== 'retried') return;
    // The run before may have begun one.
    assert.ok(retried.count >= DEAD - 1, `${retried.count} were tried again`);
    assert.is(new Set(retried.deliveries).size, Math.min(retried.count, 10_000));
    assert.ok(most.rows <= 200 && most.settled <= 200, JSON.stringify(most));
    assert.equal((await core.store.journal.failedDeliveries({}, null, 10)).found, []);
    assert.is(await core.store.attention.count({ kind: 'dead' }, null), 0);
    const { seq } = await core.store.journal.head(ACCOUNT.id);
    const [last] = await core.store.journal.batches(ACCOUNT.id, [seq]);
    const { data } = last?.entries.at(-1)?.message ?? {};
    assert.equal(data, { action: 'retry', data: { url: URL, count: retried.count } });
    const again = await retry(parts, [], { url: URL }, { id: 'all', by: BY });
    assert.equal(again, { kind: 'retried', count: 0, deliveries: [] });
  });
});

test.run();
