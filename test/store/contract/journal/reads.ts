/** Reading: by id, lookup, sequence number and page; what was answered outlives the process. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Lookup, LookupPage, LookupRow } from '../../../../src/engine/store/lookups.ts';
import { type Append, itemOf } from '../../../../src/engine/store.ts';
import {
  adjusted,
  appendAfter,
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  deliveryRecord,
  grow,
  headAfter,
  iso,
  settings,
} from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  duesOf,
  first,
  lookupsOf,
  recordsOf,
  same,
  sameSet,
} from '../harness.ts';

export function readsContract(context: ContractContext): void {
  contractPart(context, 'journal: reads', (test) => {
    test('one read answers many wants, in their order', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charges = Array.from({ length: 200 }, (_, index) =>
        chargeCreated(now(), { externalRef: `ref ${index}` }),
      );
      const { append } = await grow(store, account, charges);
      const records = new Map(append.records.map((record) => [record.id, record]));
      const transactions = charges.flatMap(({ transaction }, index) =>
        index % 5 === 0 ? [transaction, randomUUID()] : [transaction],
      );
      transactions.reverse();
      transactions.push(transactions[0] ?? '');
      const keys = [7, 199, 1_000, 0, 7];
      const lookups = keys.map((index): Lookup => ({ name: 'externalRef', key: `ref ${index}` }));
      const reads = await store.journal.read(account, { transactions, lookups });
      same(
        reads.transactions,
        transactions.map((id) => records.get(id) ?? null),
      );
      same(
        reads.lookups,
        keys.map((index) => charges[index]?.transaction ?? null),
      );
      same(await store.journal.read(account, { transactions: [], lookups: [] }), {
        transactions: [],
        lookups: [],
      });
    });

    test('an account reads neither transactions nor lookups of another', async ({ open, now }) => {
      const store = await open('a');
      const [mine, other] = [randomUUID(), randomUUID()];
      const entry = chargeCreated(now(), { externalRef: 'shared' });
      const { append } = await grow(store, other, [entry]);
      const wants = {
        transactions: [entry.transaction],
        lookups: [{ name: 'externalRef' as const, key: 'shared' }],
      };
      same(await store.journal.read(mine, wants), { transactions: [null], lookups: [null] });
      const own = chargeCreated(now(), { externalRef: 'shared' });
      await grow(store, mine, [own]);
      same((await store.journal.read(mine, wants)).lookups, [own.transaction]);
      same((await store.journal.read(other, wants)).lookups, [entry.transaction]);
      same(await store.journal.transaction(entry.transaction), first(append.records));
      same(
        (await recordsOf(store, mine)).map(({ id }) => id),
        [own.transaction],
      );
      assert.is(await store.journal.transaction(randomUUID()), null);
    });

    test('charges that wait are counted, at most so many, where a store has that', async ({ open, now }) => {
      const store = await open('a');
      const counted = async (most: number): Promise<number | undefined> =>
        store.journal.waitingCharges?.(most);
      if ((await counted(1)) === undefined) return;
      assert.is(await counted(10), 0);
      const account = randomUUID();
      const timers = [{ name: 'expiry', at: iso(now() + 60_000) }];
      const waiting = Array.from({ length: 3 }, () => chargeCreated(now(), { timers }));
      const { append } = await grow(store, account, [...waiting, cashoutCreated(now())]);
      assert.is(await counted(10), 3);
      assert.is(await counted(2), 2);
      await grow(store, account, [chargePaid(now(), first(waiting).transaction, 'E1')], {
        known: append.records,
      });
      assert.is(await counted(10), 2);
    });

    test('an external reference finds the newest charge', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const find = async () =>
        (
          await store.journal.read(account, {
            transactions: [],
            lookups: [{ name: 'externalRef', key: 'r' }],
          })
        ).lookups;
      const made = Array.from({ length: 4 }, () => chargeCreated(now(), { externalRef: 'r' }));
      const [one, two, three, four] = made;
      if (!one || !two || !three || !four) throw new Error('four were made');
      const { append } = await grow(store, account, [one]);
      same(await find(), [one.transaction]);
      await grow(store, account, [two, three]);
      same(await find(), [three.transaction], 'the later one of a batch');
      await grow(store, account, [chargePaid(now(), one.transaction, 'E1')], { known: append.records });
      same(await find(), [three.transaction], 'a change of an older one changes nothing');
      await grow(store, account, [four]);
      same(await find(), [four.transaction]);
      const rows = (await lookupsOf(store, account)).filter(({ name }) => name === 'externalRef');
      same(rows, [{ name: 'externalRef', key: 'r', value: four.transaction }]);
    });

    test('lookups of different names and of later batches stand side by side', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now(), { externalRef: 'k' });
      const cashout = cashoutCreated(now(), { idempotencyKey: 'k', externalRef: 'k' });
      const { append } = await grow(store, account, [adjusted(now(), 50_000, 'k'), charge, cashout]);
      const back = { kind: 'return' as const, endToEndId: 'k', amount: 1, reason: 'second payment' };
      await grow(
        store,
        account,
        [
          { ...chargePaid(now(), charge.transaction, 'k'), orders: [back] },
          cashoutMoved(now(), cashout.transaction, 'pending', 'processing', { reference: 'k' }),
        ],
        { known: append.records },
      );
      const names = ['idempotencyKey', 'externalRef', 'reference', 'payment', 'returned'] as const;
      const values = [cashout, charge, cashout, charge, charge].map(({ transaction }) => transaction);
      const lookups = names.map((name) => ({ name, key: 'k' }));
      same((await store.journal.read(account, { transactions: [], lookups })).lookups, values);
      const digest = append.batch.entries[0]?.message.digest;
      const adjustment: Lookup = { name: 'adjustment', key: 'k' };
      same((await store.journal.read(account, { transactions: [], lookups: [adjustment] })).lookups, [
        digest,
      ]);
      sameSet(await lookupsOf(store, account), [
        ...names.map((name, index) => ({ name, key: 'k', value: values[index] })),
        { ...adjustment, value: digest },
      ]);
    });

    test('lookups are read in pages, each row once, those of another account never', async ({
      open,
      now,
    }) => {
      const store = await open('a');
      const [account, other] = [randomUUID(), randomUUID()];
      const made = [
        ...[1, 2, 3].map((n) => chargeCreated(now(), { externalRef: `r ${n}` })),
        ...[1, 2, 3].map((n) => cashoutCreated(now(), { idempotencyKey: `k ${n}`, externalRef: 'r 1' })),
        ...[1, 2, 3].map((n) => adjusted(now(), 1, `a ${n}`)),
        chargeCreated(now()),
      ];
      const { append } = await grow(store, account, made);
      await grow(store, other, [chargeCreated(now(), { externalRef: 'r 1' }), adjusted(now(), 1, 'a 1')]);
      for (const limit of [1, 2, 4, 100]) {
        const rows: LookupRow[] = [];
        for (let after: string | null = null, pages = 0; ; pages++) {
          const page: LookupPage = await store.journal.lookups(account, after, limit);
          assert.ok(page.rows.length <= limit && pages < 20);
          rows.push(...page.rows);
          if (page.next === null) break;
          after = page.next;
        }
        sameSet(rows, append.lookups, `pages of ${limit}`);
      }
      same((await store.journal.lookups(randomUUID(), null, 10)).rows, []);
    });

    test('the journal is read in pages and by number', async ({ open, now }) => {
      const store = await open('a');
      const [account, other] = [randomUUID(), randomUUID()];
      for (let seq = 1; seq <= 25; seq++) await grow(store, account, [chargeCreated(now())]);
      await grow(store, other, [chargeCreated(now())]);
      const seqs = async (from: number, limit: number) =>
        (await store.journal.batchesFrom(account, from, limit)).map(({ seq }) => seq);
      same(await seqs(1, 10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      same(await seqs(11, 10), [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
      same(await seqs(21, 10), [21, 22, 23, 24, 25]);
      same(await seqs(26, 10), []);
      const some = await store.journal.batches(account, [1, 3, 24, 99]);
      same(
        some.map(({ seq }) => seq),
        [1, 3, 24],
      );
      assert.ok(some.every((batch) => batch.account === account));
      same(await store.journal.batches(account, []), []);
      same(await store.journal.batchesFrom(randomUUID(), 1, 10), []);
      same(await store.journal.batches(randomUUID(), [1]), []);
    });

    test('records of all accounts are read in pages, by id', async ({ open, now }) => {
      const store = await open('a');
      const ids: string[] = [];
      for (const account of [randomUUID(), randomUUID(), randomUUID()]) {
        const charges = [1, 2, 3, 4, 5, 6, 7].map(() => chargeCreated(now()));
        ids.push(...charges.map(({ transaction }) => transaction));
        await grow(store, account, charges);
      }
      const read: string[] = [];
      for (let page = 0; page < 5; page++) {
        const records = await store.journal.records(read.at(-1) ?? '', 5);
        assert.is(records.length, Math.min(5, ids.length - read.length));
        read.push(...records.map(({ id }) => id));
      }
      same(read, ids.sort(), 'each once: the page begins after the id');
      same(await store.journal.records(read.at(-1) ?? '', 5), []);
    });

    test('accounts have a journal or settings', async ({ open, now }) => {
      const store = await open('a');
      same(await store.journal.accountIds('', 10), []);
      const [journal, both, only] = [randomUUID(), settings(), settings()];
      await grow(store, journal, [chargeCreated(now())]);
      await store.accounts.put(both);
      await store.accounts.put(only);
      await grow(store, both.id, [chargeCreated(now())]);
      await grow(store, both.id, [chargeCreated(now())]);
      const all = [journal, both.id, only.id].sort();
      same(await store.journal.accountIds('', 10), all);
      same(await store.journal.accountIds('', 2), all.slice(0, 2));
      same(await store.journal.accountIds(all[1] ?? '', 2), all.slice(2), 'those behind an id');
      same(await store.journal.accountIds(all[2] ?? '', 2), []);
    });

    test('what was answered is there after a restart', async ({ open, reopen, now, advance }) => {
      const before = await open('before');
      await before.due.beat(now());
      const merchant = settings();
      await before.accounts.put(merchant);
      const account = merchant.id;
      const appends: Append[] = [];
      for (const index of [0, 1, 2]) {
        const timers = [{ name: 'EXPIRE', at: iso(now()) }];
        appends.push(
          (await grow(before, account, [chargeCreated(now(), { externalRef: `r ${index}`, timers })])).append,
        );
      }
      const [done, kept, parked] = await before.due.claim('timer', now(), 3);
      if (!done || !kept || !parked) throw new Error('three are due');
      const record = deliveryRecord(account, done.due.transaction, now());
      same(await before.due.settle([{ claim: done, next: null, record }]), [true]);
      await before.due.park([parked]);
      const item = itemOf({ kind: 'dead', id: 'dlv_1', what: 'w', next: 'n' }, iso(now()));
      await before.attention.note([item, { ...item, id: 'dlv_2' }]);
      await before.attention.dismiss([{ kind: 'dead', id: 'dlv_2' }]);

      const after = await reopen('after');
      advance(2 * context.silentAfterMs);
      await after.due.beat(now());
      same(await after.journal.head(account), headAfter(appends[2] ?? first(appends)));
      same(
        await after.journal.batchesFrom(account, 1, 10),
        appends.map(({ batch }) => batch),
      );
      sameSet(
        await recordsOf(after, account),
        appends.flatMap(({ records }) => records),
      );
      sameSet(
        await lookupsOf(after, account),
        appends.flatMap(({ lookups }) => lookups),
      );
      same(await after.accounts.get(account), merchant);
      same(await after.journal.deliveries(done.due.transaction), [record]);
      same(await after.attention.page({}, null, 1_000), [item]);
      await after.attention.note([{ ...item, id: 'dlv_2' }]);
      same(await after.attention.page({}, null, 1_000), [item], 'what is done stays done');
      same(
        duesOf(await drain(after, 'timer', now())),
        [kept.due],
        'only what was neither settled nor parked',
      );
      assert.is(await after.due.unpark(now()), 1);
      const again = appendAfter(account, await after.journal.head(account), [chargeCreated(now())]);
      assert.is((await after.journal.append(again)).outcome, 'appended');
      assert.is(
        (await after.journal.append(first(appends))).outcome,
        'appended',
        'the batch is still recognised',
      );
    });
  });
}
