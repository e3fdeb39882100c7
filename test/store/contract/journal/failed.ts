/** Dead and rejected deliveries: written by what fails for good, gone with a new round, and read in pages. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type {
  DeliveryRecord,
  DeliveryStatus,
  FailedFilter,
  FailedPage,
} from '../../../../src/engine/store/deliveries.ts';
import type { Store } from '../../../../src/engine/store.ts';
import { chargeCreated, grow, iso } from '../builders.ts';
import { type ContractContext, contractPart, same, sameSet } from '../harness.ts';

const URLS = ['https://example.com/a', 'https://example.com/b'] as const;
const STATUSES: readonly DeliveryStatus[] = ['dead', 'rejected', 'retrying', 'dead', 'delivered'];

function recordOf(account: string, transaction: string, id: string, at: number, status: DeliveryStatus) {
  const attempts = [{ at: iso(at), statusCode: 500, error: null, durationMs: 12 }];
  const parts = { id, account, transaction, status, failures: 1, attempts };
  return { ...parts, nextAttemptAt: null, deliveredAt: null } satisfies DeliveryRecord;
}

/** An account's charges with a delivery to each URL; each charge's have the next status, a second later. */
async function made(store: Store, account: string, start: number, charges: number) {
  const entries = Array.from({ length: charges }, () => chargeCreated(start, { urls: URLS }));
  await grow(store, account, entries);
  const records = entries.flatMap((entry, nth) =>
    entry.events.flatMap(({ deliveries }) =>
      deliveries.map(({ id, url }) => {
        const status = STATUSES[nth % STATUSES.length] ?? 'dead';
        return { url, record: recordOf(account, entry.transaction, id, start + nth * 1_000, status) };
      }),
    ),
  );
  await settle(
    store,
    records.map(({ record }) => record),
  );
  return records;
}

async function settle(store: Store, records: readonly DeliveryRecord[]): Promise<void> {
  const settled = await store.due.settle(records.map((record) => ({ claim: null, next: null, record })));
  assert.ok(settled.every(Boolean));
}

async function read({ journal }: Store, filter: FailedFilter, limit: number): Promise<FailedPage['found']> {
  const found: FailedPage['found'] = [];
  for (let after: string | null = null; ; ) {
    const page: FailedPage = await journal.failedDeliveries(filter, after, limit);
    assert.ok(page.found.length <= limit);
    found.push(...page.found);
    if (page.next === null) return found;
    assert.is.not(page.next, after, 'each page goes on');
    after = page.next;
  }
}

export function failedContract(context: ContractContext): void {
  contractPart(context, 'journal: failed deliveries', (test) => {
    test('they are read in pages, each once, by account, status, URL and time', async ({
      open,
      reopen,
      now,
    }) => {
      const store = await open('a');
      const [mine, others] = [`acc_${randomUUID()}`, `acc_${randomUUID()}`];
      const all = [...(await made(store, mine, now(), 10)), ...(await made(store, others, now(), 5))];
      const failed = all.filter(({ record: { status } }) => status === 'dead' || status === 'rejected');
      const since = iso(now() + 1_000);
      const filters: [FailedFilter, (each: (typeof all)[number]) => boolean][] = [
        [{}, () => true],
        [{ account: mine }, ({ record }) => record.account === mine],
        [{ status: 'rejected' }, ({ record }) => record.status === 'rejected'],
        [{ url: URLS[1] }, ({ url }) => url === URLS[1]],
        [{ since }, ({ record }) => (record.attempts[0]?.at ?? '') >= since],
        [
          { account: others, status: 'dead', url: URLS[0], since },
          ({ record: { account, status, attempts }, url }) =>
            account === others && status === 'dead' && url === URLS[0] && (attempts[0]?.at ?? '') >= since,
        ],
        [{ account: 'nobody' }, () => false],
        [{ account: 'x'.repeat(400) }, () => false],
        [{ since: iso(now() + 3_600_000) }, () => false],
      ];
      for (const opened of [async () => store, async () => reopen('b')]) {
        const reader = await opened();
        for (const [filter, fits] of filters)
          for (const limit of [1, 4, 1_000])
            sameSet(await read(reader, filter, limit), failed.filter(fits), JSON.stringify(filter));
      }
    });

    test('one that has a new round is gone, and one that fails again is there once', async ({
      open,
      now,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const [first, other] = await made(store, account, now(), 1);
      if (!first || !other) throw new Error('two were made');
      await settle(store, [{ ...first.record, status: 'retrying' }]);
      same(await read(store, {}, 10), [other]);
      const attempt = { at: iso(now() + 60_000), statusCode: 400, error: null, durationMs: 1 };
      const attempts = [...first.record.attempts, attempt];
      const again: DeliveryRecord = { ...first.record, status: 'rejected', attempts };
      await settle(store, [again, again]);
      sameSet(await read(store, { account }, 1), [{ ...first, record: again }, other]);
      same(await read(store, { account, status: 'rejected' }, 1), [{ ...first, record: again }]);
      await settle(store, [
        { ...again, status: 'delivered' },
        { ...other.record, status: 'delivered' },
      ]);
      same(await read(store, {}, 10), []);
    });

    test('what fails meanwhile makes no page tell of a delivery twice', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const records = await made(store, account, now(), 10);
      const seen = new Set<string>();
      for (let after: string | null = null, nth = 1; ; nth++) {
        const page: FailedPage = await store.journal.failedDeliveries({ account }, after, 2);
        for (const { record } of page.found) {
          assert.not(seen.has(record.id), 'each once');
          seen.add(record.id);
          const attempt = { at: iso(now() + 100_000 + nth), statusCode: 500, error: null, durationMs: 1 };
          await settle(store, [{ ...record, attempts: [...record.attempts, attempt] }]);
        }
        if (page.next === null) break;
        after = page.next;
      }
      const failed = records.filter(({ record: { status } }) => status === 'dead' || status === 'rejected');
      assert.is(seen.size, failed.length);
    });

    test('a place that is none leads to no more than there is', async ({ open, now }) => {
      const store = await open('a');
      await made(store, randomUUID(), now(), 2);
      for (const place of ['x', '', ' ', 'dead', 'zzz y', '9'.repeat(300), '-1'])
        for (const filter of [{}, { account: randomUUID() }]) {
          const { found } = await store.journal.failedDeliveries(filter, place, 3);
          assert.ok(found.length <= 3, place);
        }
    });

    test('one that the journal names no URL of is there all the same', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now());
      await grow(store, account, [charge]);
      const record = recordOf(account, charge.transaction, `dlv_${randomUUID()}`, now(), 'dead');
      await settle(store, [record]);
      same(await read(store, { account }, 5), [{ record, url: null }]);
      same(await read(store, { url: URLS[0] }, 5), [{ record, url: null }]);
    });
  });
}
