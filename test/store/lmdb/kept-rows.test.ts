/**
 * How records and deliveries lie in the projections: a record as the rows of the batches that have made it, a delivery in
 * a row of its own. Whatever is written by then, or not, the store says the same.
 */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import type { Entry, TransactionRecord } from '../../../src/engine/journal.ts';
import type { DeliveryRecord } from '../../../src/engine/store/deliveries.ts';
import { question } from '../../../src/engine/store/due.ts';
import { RecordUnreadable, type Store } from '../../../src/engine/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { type StoredTables, withStoredTables } from '../../support/stored-tables.ts';
import { sleep } from '../../support/wait.ts';
import {
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  deliveryRecord,
  grow,
  iso,
  refused,
} from '../contract/builders.ts';
import { storeOptions, WRITTEN_MS, withStore } from './opened.ts';

const test = suite('what is kept of records and deliveries');

const AT = Date.UTC(2026, 0, 5, 12);

function within<Result>(folder: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  return withStore(
    storeOptions(folder, () => AT),
    work,
  );
}

/** Appends each entry in a batch of its own; the record after the last. */
async function inBatches(store: Store, account: string, entries: Entry[]): Promise<TransactionRecord> {
  let known: TransactionRecord[] = [];
  for (const entry of entries) known = (await grow(store, account, [entry], { known })).append.records;
  const [record] = known;
  assert.ok(record !== undefined);
  return record;
}

/** Says the same, whichever way it was made. */
async function isStored(store: Store, record: TransactionRecord | undefined): Promise<void> {
  assert.ok(record !== undefined);
  assert.is(canonicalJson(await store.journal.transaction(record.id)), canonicalJson(record));
}

test('a record that up to eight batches have made is kept as their rows, any other whole', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const charge = chargeCreated(AT);
    const strange = chargeCreated(AT);
    const bouncing = (count: number): Entry[] => {
      const first = cashoutCreated(AT);
      const moves = Array.from({ length: count - 1 }, (_, nth) =>
        cashoutMoved(AT + nth, first.transaction, 'pending', 'processing', { reference: `E${nth}` }),
      );
      return [first, ...moves];
    };
    const records = await within(folder, async (store) => [
      await inBatches(store, account, [charge, chargePaid(AT, charge.transaction, randomUUID())]),
      await inBatches(store, account, bouncing(8)),
      await inBatches(store, account, bouncing(9)),
      await inBatches(store, account, [strange, refused(AT, strange.transaction, 'waiting_payment', 'r-1')]),
    ]);
    const [paid, eight, nine, withRefusal] = records.map(({ id }) => id) as [string, string, string, string];
    await withStoredTables(folder, (tables) => {
      assert.is(tables.records.get(paid), '@1,2');
      assert.is(tables.records.get(eight), `@${[3, 4, 5, 6, 7, 8, 9, 10]}`);
      assert.match(tables.records.get(nine) ?? '', /^\{/);
      assert.match(tables.records.get(withRefusal) ?? '', /^\{/);
    });
    await within(folder, async (store) => {
      for (const record of records) await isStored(store, record);
      // What is made again goes on as the same record, in whichever part it was written.
      const entry = cashoutMoved(AT, eight, 'processing', 'completed');
      const known = [(await store.journal.transaction(eight)) as TransactionRecord];
      const { append } = await grow(store, account, [entry], { known });
      await sleep(WRITTEN_MS);
      await isStored(store, append.records[0]);
    });
  });
});

test('a record changes while its rows are on their way to the table, or there', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const record = await within(folder, async (store) => {
      const first = cashoutCreated(AT);
      let known = (await grow(store, account, [first])).append.records;
      for (const [from, to, waitMs] of [
        ['pending', 'processing', WRITTEN_MS],
        ['processing', 'completed', 0],
        ['completed', 'returned', WRITTEN_MS],
      ] as const) {
        await sleep(waitMs);
        const entry = cashoutMoved(AT, first.transaction, from, to);
        known = (await grow(store, account, [entry], { known })).append.records;
        await isStored(store, known[0]);
      }
      return known[0] as TransactionRecord;
    });
    await withStoredTables(folder, ({ records }) => assert.is(records.get(record.id), '@1,2,3,4'));
    await within(folder, (store) => isStored(store, record));
  });
});

test('a record whose batch is gone is told by its id and its account, and those behind it are read', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const ids = [randomUUID(), randomUUID(), randomUUID()].sort() as [string, string, string];
    await within(folder, async (store) => {
      for (const id of ids)
        await inBatches(store, account, [chargeCreated(AT, { id }), chargePaid(AT, id, randomUUID())]);
    });
    await withStoredTables(folder, ({ journal }) => journal.remove([account, 4]));
    await within(folder, async ({ journal }) => {
      const told = await journal.transaction(ids[1]).catch((error: unknown) => error);
      assert.instance(told, RecordUnreadable);
      const { id, account: whose, message } = told as RecordUnreadable;
      assert.equal([id, whose, message], [ids[1], account, 'row 4 of the log has no batch']);
      assert.equal(
        (await journal.records(ids[1], 10)).map((record) => record.id),
        [ids[2]],
      );
    });
  });
});

/** A delivery as it stands after some attempts. */
function delivery(of: DeliveryRecord, changes: Partial<DeliveryRecord>): DeliveryRecord {
  return { ...of, nextAttemptAt: null, failures: 0, ...changes };
}

async function tell(store: Store, ...records: DeliveryRecord[]): Promise<void> {
  const next = question(records[0]?.account ?? '', records[0]?.transaction ?? '', AT + 3_600_000);
  await store.due.settle(records.map((record) => ({ claim: null, next, record })));
}

test('each delivery is a row, and all of a transaction are read by id, wherever they lie by then', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const { transaction } = chargeCreated(AT);
    const make = (id: string): DeliveryRecord => deliveryRecord(account, transaction, AT, id);
    const [a, b, c] = [make('dlv_a'), make('dlv_b'), make('dlv_c')];
    const delivered = delivery(b, { status: 'delivered', deliveredAt: iso(AT) });
    await within(folder, async (store) => {
      await tell(store, b);
      await sleep(WRITTEN_MS);
      // A transaction of a longer id, and one of a shorter, are others.
      await tell(
        store,
        { ...a, transaction: `${transaction}0` },
        { ...a, transaction: transaction.slice(0, -1) },
      );
      await tell(store, c);
      await tell(store, delivered, a);
      assert.equal(await store.journal.deliveries(transaction), [a, delivered, c]);
      await sleep(WRITTEN_MS);
      assert.equal(await store.journal.deliveries(transaction), [a, delivered, c]);
    });
    await withStoredTables(folder, ({ deliveries }: StoredTables) => {
      const rows = deliveries.rows(transaction, '').map(({ key }) => key);
      assert.equal(
        rows,
        [a, b, c].map(({ id }) => `${transaction} ${id}`),
      );
    });
    await within(folder, async ({ journal }) =>
      assert.equal(await journal.deliveries(transaction), [a, delivered, c]),
    );
  });
});

test('what ops revive and the next attempt delivers is failed no more, not even in the table', async () => {
  await withFolder(async (folder) => {
    const account = randomUUID();
    const { transaction } = chargeCreated(AT);
    const tried = deliveryRecord(account, transaction, AT, 'dlv_tried');
    const untried = { ...tried, id: 'dlv_untried', attempts: [] };
    const ok = { at: iso(AT + 5), statusCode: 200, error: null, durationMs: 3 };
    await within(folder, async (store) => {
      const failed = [tried, untried].map((record) => delivery(record, { status: 'dead' }));
      await tell(store, ...failed);
      assert.is((await store.journal.failedDeliveries({}, null, 10)).found.length, 2);
      await sleep(WRITTEN_MS);
      const revived = failed.map((record) => delivery(record, { status: 'pending' }));
      await tell(store, ...revived);
      const ended = revived.map((record) =>
        delivery(record, {
          ...{ status: 'delivered', deliveredAt: iso(AT + 5) },
          attempts: [...record.attempts, ok],
        }),
      );
      await tell(store, ...ended);
      assert.equal((await store.journal.failedDeliveries({}, null, 10)).found, []);
    });
    await withStoredTables(folder, ({ failed }) => assert.equal(failed.rows(''), []));
  });
});

test.run();
