/** What has not come to its end: the progress of deliveries, open cashouts. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { TransactionRecord } from '../../../../src/engine/journal.ts';
import {
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargeMoved,
  deliveryRecord,
  grow,
  iso,
} from '../builders.ts';
import { type ContractContext, contractPart, same, sameSet } from '../harness.ts';

export function unfinishedContract(context: ContractContext): void {
  contractPart(context, 'journal: unfinished', (test) => {
    test('the progress of a delivery is kept and replaced', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const account = randomUUID();
      const [mine, other] = [chargeCreated(now()), chargeCreated(now())];
      await grow(a, account, [mine, other]);
      same(await a.journal.deliveries(mine.transaction), []);
      const records = [0, 1].map(() => deliveryRecord(account, mine.transaction, now()));
      const foreign = deliveryRecord(account, other.transaction, now());
      const put = [...records, foreign].map((record) => ({ claim: null, next: null, record }));
      same(await a.due.settle(put), [true, true, true]);
      sameSet(await b.journal.deliveries(mine.transaction), records);
      const [one, two] = records;
      if (!one || !two) throw new Error('two were made');
      const attempt = { at: iso(now()), statusCode: null, error: 'ECONNRESET: "x"', durationMs: 0.5 };
      const later = {
        ...one,
        status: 'dead' as const,
        failures: 6,
        attempts: [...one.attempts, attempt],
        nextAttemptAt: null,
      };
      same(await b.due.settle([{ claim: null, next: null, record: later }]), [true]);
      sameSet(await a.journal.deliveries(mine.transaction), [later, two]);
      same(await a.journal.deliveries(other.transaction), [foreign]);
      same(await a.journal.deliveries(randomUUID()), []);
    });

    test('open cashouts are those that are not final and have not changed since', async ({
      open,
      now,
      advance,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const ids = async (before: number, limit = 10): Promise<string[]> =>
        (await store.journal.waiting('cashout', null, iso(before), limit)).map(({ id }) => id);
      const start = now();
      const made = [0, 1, 2, 3].map(() => cashoutCreated(start));
      const [pending, processing, completed, cancelled] = made.map(({ transaction }) => transaction);
      if (!pending || !processing || !completed || !cancelled) throw new Error('four were made');
      const created = await grow(store, account, made);
      same(await ids(start), [], 'before means before');
      sameSet(await ids(start + 1_000), [pending, processing, completed, cancelled]);
      assert.is((await ids(start + 1_000, 3)).length, 3);

      advance(5_000);
      const changes = [
        cashoutMoved(now(), processing, 'pending', 'processing'),
        cashoutMoved(now(), completed, 'processing', 'completed'),
        cashoutMoved(now(), cancelled, 'pending', 'cancelled'),
        chargeCreated(now()),
      ];
      const moved = await grow(store, account, changes, { known: created.append.records });
      const recent = cashoutCreated(now());
      await grow(store, randomUUID(), [recent]);
      sameSet(
        await store.journal.waiting('cashout', null, iso(now()), 10),
        created.append.records.slice(0, 1),
      );
      sameSet(await ids(now() + 1_000), [pending, processing, recent.transaction]);

      advance(300_000);
      await store.due.tidy(now());
      sameSet(await ids(now()), [pending, processing, recent.transaction]);
      const ends = [
        cashoutMoved(now(), pending, 'pending', 'rejected'),
        cashoutMoved(now(), processing, 'processing', 'failed'),
      ];
      await grow(store, account, ends, { known: [...created.append.records, ...moved.append.records] });
      advance(300_000);
      same(await ids(now()), [recent.transaction]);
      await store.due.tidy(now());
      same(await ids(now()), [recent.transaction]);
    });

    test('what waits for the bank is read in pages, oldest change first', async ({ open, now, advance }) => {
      const store = await open('a');
      const account = randomUUID();
      const made: string[] = [];
      for (let round = 0; round < 3; round++) {
        const cashouts = [0, 1, 2].map(() => cashoutCreated(now()));
        await grow(store, account, cashouts);
        made.push(...cashouts.map(({ transaction }) => transaction).sort());
        advance(1_000);
      }
      const paged: string[] = [];
      let after: { updatedAt: string; id: string } | null = null;
      for (;;) {
        const page: TransactionRecord[] = await store.journal.waiting('cashout', after, iso(now()), 2);
        paged.push(...page.map(({ id }) => id));
        after = page.at(-1) ?? null;
        if (page.length < 2) break;
      }
      same(paged, made);
      same(await store.journal.waiting('analysis', null, iso(now()), 9), []);
    });

    test('a charge in analysis waits for the bank until it was decided', async ({ open, now, advance }) => {
      const store = await open('a');
      const account = randomUUID();
      const [held, other] = [chargeCreated(now()), chargeCreated(now())];
      const created = await grow(store, account, [held, other]);
      const known = created.append.records;
      same(await store.journal.waiting('analysis', null, iso(now() + 1), 9), []);
      advance(1_000);
      const moved = await grow(
        store,
        account,
        [chargeMoved(now(), held.transaction, 'waiting_payment', 'in_analysis')],
        { known },
      );
      const waits = await store.journal.waiting('analysis', null, iso(now() + 1), 9);
      same(waits, moved.append.records);
      same(await store.journal.waiting('cashout', null, iso(now() + 1), 9), []);
      advance(1_000);
      await grow(store, account, [chargeMoved(now(), held.transaction, 'in_analysis', 'paid')], {
        known: moved.append.records,
      });
      same(await store.journal.waiting('analysis', null, iso(now() + 1), 9), []);
    });

    test('a charge under protest waits for ops until they have decided', async ({ open, now, advance }) => {
      const store = await open('a');
      const account = randomUUID();
      const made = [0, 1, 2].map(() => chargeCreated(now()));
      const [first, second, other] = made.map(({ transaction }) => transaction);
      if (!first || !second || !other) throw new Error('three were made');
      const created = await grow(store, account, made);
      const protests = async (): Promise<TransactionRecord[]> =>
        store.journal.waiting('protest', null, iso(now() + 1), 9);
      advance(1_000);
      const paid = [first, second, other].map((id) => chargeMoved(now(), id, 'waiting_payment', 'paid'));
      let known = (await grow(store, account, paid, { known: created.append.records })).append.records;
      same(await protests(), []);
      const moved: TransactionRecord[] = [];
      for (const id of [second, first]) {
        advance(1_000);
        const entry = chargeMoved(now(), id, 'paid', 'in_protest');
        moved.push(...(await grow(store, account, [entry], { known })).append.records);
      }
      same(await protests(), moved);
      same(await store.journal.waiting('protest', moved[0] ?? null, iso(now() + 1), 9), moved.slice(1));
      for (const wait of ['cashout', 'analysis', 'refund'] as const)
        same(await store.journal.waiting(wait, null, iso(now() + 1), 9), []);
      // A part of it that is booked leaves it under protest, and is its last change.
      advance(1_000);
      const booked = chargeMoved(now(), second, 'in_protest', 'in_protest');
      known = moved;
      moved.push(...(await grow(store, account, [booked], { known })).append.records);
      same(await protests(), moved.slice(1));
      advance(1_000);
      const ends = [
        chargeMoved(now(), first, 'in_protest', 'paid'),
        chargeMoved(now(), second, 'in_protest', 'chargedback'),
      ];
      await grow(store, account, ends, { known: moved.slice(1) });
      same(await protests(), []);
    });
  });
}
