/** The due index: nothing before its time, everything once, in order, and all of it in the end. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { BankOrder, Timer } from '../../../../src/engine/journal.ts';
import { allDue, type Due } from '../../../../src/engine/store/due.ts';
import type { Store } from '../../../../src/engine/store.ts';
import { cashoutCreated, chargeCreated, chargePaid, deliveryRecord, grow, iso } from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  duesOf,
  first,
  same,
  sameSet,
  transactionsOf,
} from '../harness.ts';

/** A charge for each time (ms), with a timer then; their ids. */
async function timersAt(
  store: Store,
  account: string,
  at: number,
  times: readonly number[],
): Promise<string[]> {
  const charges = times.map((time) => chargeCreated(at, { timers: [{ name: 'EXPIRE', at: iso(time) }] }));
  await grow(store, account, charges);
  return charges.map(({ transaction }) => transaction);
}

export function scheduleContract(context: ContractContext): void {
  contractPart(context, 'due: schedule', (test) => {
    test('nothing is due in an empty store', async ({ open, now }) => {
      const store = await open('a');
      for (const kind of ['timer', 'bank', 'delivery'] as const)
        same(await store.due.claim(kind, now(), 10), []);
      assert.is(await store.due.unpark(now()), 0);
    });

    test('earliest first, and no more than the limit', async ({ open, now }) => {
      const store = await open('a');
      const base = now() - 60_000;
      const times = Array.from({ length: 40 }, (_, index) => base + ((index * 17) % 40) * 1_000);
      // Times with another number of digits sort last as texts, and first as numbers.
      times.push(9_000, 10_000, 99_999_000);
      for (let from = 0; from < times.length; from += 9) {
        await timersAt(store, randomUUID(), base, times.slice(from, from + 9));
      }
      const claimed: number[] = [];
      for (let round = 0; round < 6; round++) {
        const claims = await store.due.claim('timer', now(), 8);
        assert.is(claims.length, Math.min(8, times.length - claimed.length));
        claimed.push(...claims.map(({ due }) => due.at));
      }
      same(
        claimed,
        times.sort((a, b) => a - b),
      );
    });

    test('never before its time', async ({ open, now, advance }) => {
      const store = await open('a');
      const [soon, later] = [now() + 60_000, now() + 120_000];
      const ids = await timersAt(store, randomUUID(), now(), [later, soon]);
      same(await store.due.claim('timer', now(), 10), []);
      same(await store.due.claim('timer', soon - 1, 10), []);
      advance(60_000);
      const claims = await store.due.claim('timer', soon, 10);
      same(transactionsOf(claims), [ids[1]]);
      await store.due.settle(claims.map((claim) => ({ claim, next: null })));
      same(await store.due.claim('timer', later - 1, 10), []);
      advance(60_000);
      same(transactionsOf(await store.due.claim('timer', later, 10)), [ids[0]]);
    });

    test('kinds do not mix', async ({ open, now }) => {
      const store = await open('a');
      const entry = chargeCreated(now(), {
        timers: [{ name: 'EXPIRE', at: iso(now()) }],
        orders: [{ kind: 'payout' }],
        urls: ['https://example.com'],
      });
      const { append } = await grow(store, randomUUID(), [entry]);
      assert.is(append.due.length, 3);
      for (const due of allDue(append.due)) same(duesOf(await drain(store, due.kind, now())), [due]);
    });

    test('everything that one entry makes due comes, each at its time', async ({ open, now, advance }) => {
      const store = await open('a');
      const at = now();
      const timers: Timer[] = [3, 1, 2].map((step) => ({ name: `T${step}`, at: iso(at + step * 10_000) }));
      const back = { kind: 'return', amount: 100, reason: 'no charge: "x"' } as const;
      const orders: BankOrder[] = [
        { kind: 'payout' },
        { ...back, endToEndId: 'E1' },
        { ...back, endToEndId: 'E2' },
        { kind: 'wake', step: 1, at: iso(at + 20_000) },
        { kind: 'wake', step: 2, at: iso(at + 30_000) },
      ];
      const urls = ['https://a.example', 'https://b.example', 'https://c.example'];
      const entries = [
        chargeCreated(at, { timers, orders, urls }),
        chargeCreated(at, { timers, orders, urls }),
      ];
      const { append } = await grow(store, randomUUID(), entries);
      assert.is(append.due.length, 22);
      for (let step = 0; step <= 3; step++) {
        const time = at + step * 10_000;
        for (const kind of ['timer', 'bank', 'delivery'] as const) {
          const due = allDue(append.due).filter((each) => each.kind === kind && each.at === time);
          sameSet(duesOf(await drain(store, kind, time)), due, `${kind} after ${step} steps`);
        }
        advance(10_000);
        await store.due.beat(now());
      }
    });

    test('what is claimed with the append is in its hands alone', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      for (const store of [a, b]) await store.due.beat(now());
      const times = [now() - 1_000, now(), now() + 60_000];
      const charges = times.map((time) =>
        chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(time) }], urls: ['https://a.example'] }),
      );
      const { append, claims } = await grow(a, randomUUID(), charges, { claimUntil: now() });
      sameSet(
        duesOf(claims),
        allDue(append.due).filter(({ at }) => at <= now()),
      );
      assert.is(claims.length, 5);
      for (const store of [a, b]) {
        same(await store.due.claim('timer', now(), 10), []);
        same(await store.due.claim('delivery', now(), 10), []);
      }
      same(
        await a.due.settle(claims.map((claim) => ({ claim, next: null }))),
        claims.map(() => true),
      );
      same(transactionsOf(await b.due.claim('timer', now() + 60_000, 10)), [charges[2]?.transaction]);
    });

    test('a settled thing is gone; a rescheduled one comes at its new time, with its tries', async ({
      open,
      now,
      advance,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      await timersAt(store, account, now(), [now(), now()]);
      const [one, two] = await store.due.claim('timer', now(), 10);
      if (!one || !two) throw new Error('two are due');
      const next = { ...one.due, at: now() + 5_000, tries: 3 };
      same(
        await store.due.settle([
          { claim: one, next },
          { claim: two, next: null },
        ]),
        [true, true],
      );
      same(await store.due.claim('timer', now() + 4_999, 10), []);
      advance(5_000);
      const again = await store.due.claim('timer', now(), 10);
      same(duesOf(again), [next]);
      same(await store.due.settle([{ claim: first(again), next: { ...next, at: now(), tries: 4 } }]), [true]);
      same(
        (await store.due.claim('timer', now(), 10)).map(({ due }) => due.tries),
        [4],
      );
      advance(600_000);
      await store.due.beat(now());
      same(await store.due.claim('timer', now(), 10), []);
    });

    test('a claim is settled once', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const [transaction] = await timersAt(store, account, now(), [now()]);
      const claim = first(await store.due.claim('timer', now(), 10));
      same(await store.due.settle([{ claim, next: claim.due }]), [true]);
      const record = deliveryRecord(account, transaction ?? '', now());
      same(await store.due.settle([{ claim, next: null, record }]), [false]);
      same(await store.journal.deliveries(transaction ?? ''), []);
      const newer = first(await store.due.claim('timer', now(), 10));
      same(
        await store.due.settle([{ claim, next: claim.due }]),
        [false],
        'the old claim does not end the new one',
      );
      same(await store.due.settle([{ claim: newer, next: null }]), [true]);
      same(await store.due.settle([{ claim: newer, next: newer.due }]), [false]);
      same(await drain(store, 'timer', now()), []);
    });

    test('a settlement without a claim stores and schedules', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const [transaction = ''] = await timersAt(store, account, now(), [now() + 60_000]);
      const record = { ...deliveryRecord(account, transaction, now()), nextAttemptAt: iso(now()) };
      const next = {
        kind: 'delivery' as const,
        at: now(),
        account,
        transaction,
        delivery: record.id,
        tries: 0,
      };
      same(await store.due.settle([{ claim: null, next, record }]), [true]);
      same(await store.journal.deliveries(transaction), [record]);
      same(duesOf(await store.due.claim('delivery', now(), 10)), [next]);
      same(await store.due.settle([]), []);
    });

    test('what is due next may be another order of the same transaction', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const payout = cashoutCreated(now(), { orders: [{ kind: 'payout' }] });
      await grow(store, account, [payout]);
      const claim = first(await store.due.claim('bank', now(), 10));
      const order = { kind: 'wake' as const, step: 0, at: iso(now() + 1_000) };
      const next = { ...(claim.due as Due & { kind: 'bank' }), order, at: now() + 1_000, tries: 2 };
      same(await store.due.settle([{ claim, next }]), [true]);
      const woken = first(await store.due.claim('bank', now() + 1_000, 10));
      same(woken.due, next);
      const later = { ...next, order: { ...order, step: 1 } };
      same(await store.due.settle([{ claim: woken, next: later }]), [true]);
      same(duesOf(await drain(store, 'bank', now() + 1_000)), [later]);
    });

    test('a timer that was set again comes at the new time', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(now() + 1_000) }] });
      const { append } = await grow(store, account, [charge]);
      const moved = {
        ...chargePaid(now(), charge.transaction, 'E1'),
        timers: [{ name: 'EXPIRE', at: iso(now() + 5_000) }],
      };
      await grow(store, account, [moved], { known: append.records });
      const dues = duesOf(await drain(store, 'timer', now() + 5_000));
      assert.ok(dues.some(({ at }) => at === now() + 5_000));
    });

    test('what was set again while it was in hands outlives the settlement', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(now()) }] });
      const { append } = await grow(store, account, [charge]);
      const claim = first(await store.due.claim('timer', now(), 10));
      const moved = {
        ...chargePaid(now(), charge.transaction, 'E1'),
        timers: [{ name: 'EXPIRE', at: iso(now() + 5_000) }],
      };
      await grow(store, account, [moved], { known: append.records });
      await store.due.settle([{ claim, next: null }]);
      same(duesOf(await drain(store, 'timer', now() + 5_000)), [{ ...claim.due, at: now() + 5_000 }]);
    });

    test('several thousand due things drain in bounded claims', async ({ open, now }) => {
      const store = await open('a');
      const ids: string[] = [];
      for (let part = 0; part < 10; part++) {
        const times = Array.from({ length: 400 }, (_, index) => now() - ((index * 7 + part) % 400) * 1_000);
        ids.push(...(await timersAt(store, randomUUID(), now() - 400_000, times)));
      }
      const claimed: string[] = [];
      let last = 0;
      for (let round = 0; round < 41; round++) {
        const claims = await store.due.claim('timer', now(), 100);
        if (claims.length === 0) break;
        for (const { due } of claims) {
          assert.ok(due.at >= last, 'in order over all claims');
          last = due.at;
        }
        claimed.push(...transactionsOf(claims));
        const ended = await store.due.settle(claims.map((claim) => ({ claim, next: null })));
        assert.ok(ended.every((each) => each));
      }
      sameSet(claimed, ids);
      same(await store.due.claim('timer', now(), 100), []);
    });
  });
}
