/** Claims are kept by heartbeats: who beats keeps them, who doesn't loses them, late results don't count. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Claim } from '../../../../src/engine/store/due.ts';
import { itemOf, type Store } from '../../../../src/engine/store.ts';
import { chargeCreated, deliveryRecord, grow, iso } from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  drainTogether,
  duesOf,
  first,
  type StoreHarness,
  same,
  sameSet,
  settleAll,
  transactionsOf,
} from '../harness.ts';

import { beats, deliveriesDue } from './claims.ts';

const URLS = ['https://example.com/hook'];

/** `holder` claimed and fell silent, `heir` took over. */
async function takenOver(harness: StoreHarness, silentAfterMs: number, count = 1) {
  const [holder, heir] = [await harness.open('holder'), await harness.open('heir')];
  await beats(harness, holder, heir);
  const account = randomUUID();
  await deliveriesDue(holder, count, harness.now(), account);
  const lost = await drain(holder, 'delivery', harness.now());
  harness.advance(2 * silentAfterMs);
  await beats(harness, heir);
  const taken = await drain(heir, 'delivery', harness.now());
  return { holder, heir, account, lost, taken };
}

/** Deliveries of an account that are due now, and claimed. */
async function claimed(store: Store, count: number, now: number, account: ReturnType<typeof randomUUID>) {
  await deliveriesDue(store, count, now, account);
  return store.due.claim('delivery', now, count);
}

export function takeoversContract(context: ContractContext): void {
  const { silentAfterMs } = context;
  contractPart(context, 'due: takeovers', (test) => {
    test('nobody gets what a living incarnation holds', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await beats(harness, a, b);
      await deliveriesDue(a, 3, harness.now());
      const claims = await drain(a, 'delivery', harness.now());
      for (let step = 0; step < 6; step++) {
        harness.advance(silentAfterMs / 2);
        await beats(harness, a, b);
        same(await b.due.claim('delivery', harness.now(), 10), [], 'the other one');
        same(await a.due.claim('delivery', harness.now(), 10), [], 'the holder itself');
      }
      same(await a.due.holds(claims), [true, true, true]);
      same(await a.due.settle(claims.map((claim) => ({ claim, next: null }))), [true, true, true]);
      same(await a.due.holds(claims), [false, false, false]);
    });

    test('claims of a silent incarnation are taken over, and not before it is silent', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await beats(harness, a, b);
      const account = randomUUID();
      const ids = await deliveriesDue(a, 2, harness.now(), account);
      const { append, claims } = await grow(a, account, [chargeCreated(harness.now(), { urls: URLS })], {
        claimUntil: harness.now(),
      });
      assert.is(claims.length, 1);
      await drain(a, 'delivery', harness.now());
      harness.advance(silentAfterMs / 2);
      await beats(harness, b);
      same(await b.due.claim('delivery', harness.now(), 10), []);
      harness.advance(silentAfterMs);
      await beats(harness, b);
      const taken = await drain(b, 'delivery', harness.now());
      sameSet(transactionsOf(taken), [...ids, first(append.records).id]);
      same(await a.due.claim('delivery', harness.now(), 10), [], 'they are in hands again');
    });

    test('a taken over thing is as it was', async (harness) => {
      const { lost, taken } = await takenOver(harness, silentAfterMs);
      same(duesOf(taken), duesOf(lost));
    });

    test('what the silent one reports then is turned down and changes nothing', async (harness) => {
      const { holder, heir, account, lost, taken } = await takenOver(harness, silentAfterMs);
      const claim = first(lost);
      const record = deliveryRecord(account, claim.due.transaction, harness.now());
      const attention = itemOf({ kind: 'dead', id: 'late', what: 'w', next: 'n' }, iso(harness.now()));
      await beats(harness, holder);
      const late = { claim, next: { ...claim.due, at: harness.now() + 1_000, tries: 9 }, record, attention };
      same(await holder.due.settle([late]), [false]);
      same(await holder.due.holds([claim]), [false]);
      same(await heir.due.holds(taken), [true]);
      same(await heir.journal.deliveries(claim.due.transaction), []);
      same(await heir.attention.page({}, null, 1_000), []);
      same(await drain(holder, 'delivery', harness.now() + 1_000), [], 'nothing was scheduled or given up');
      const good = { ...record, status: 'delivered' as const };
      same(await heir.due.settle([{ claim: first(taken), next: null, record: good }]), [true]);
      same(await holder.due.settle([late]), [false]);
      same(await holder.journal.deliveries(claim.due.transaction), [good]);
      same(await drain(holder, 'delivery', harness.now() + 1_000), []);
    });

    test('each settlement of a list has its own outcome', async (harness) => {
      const { holder, account, lost } = await takenOver(harness, silentAfterMs, 2);
      await beats(harness, holder);
      await deliveriesDue(holder, 2, harness.now(), account);
      const own = await drain(holder, 'delivery', harness.now());
      const mixed: Claim[] = [];
      for (const [index, claim] of lost.entries()) mixed.push(claim, own[index] ?? claim);
      const records = mixed.map(({ due }) => deliveryRecord(account, due.transaction, harness.now()));
      const settled = await holder.due.settle(
        mixed.map((claim, index) => ({ claim, next: null, record: records[index] ?? first(records) })),
      );
      same(settled, [false, true, false, true]);
      for (const [index, { due }] of mixed.entries()) {
        same(await holder.journal.deliveries(due.transaction), index % 2 === 1 ? [records[index]] : []);
      }
    });

    test('one that was silent works again once it beats', async (harness) => {
      const { holder, heir } = await takenOver(harness, silentAfterMs);
      await beats(harness, holder);
      await deliveriesDue(heir, 1, harness.now());
      const claims = await holder.due.claim('delivery', harness.now(), 10);
      assert.is(claims.length, 1);
      harness.advance(silentAfterMs / 2);
      await beats(harness, heir);
      same(await heir.due.claim('delivery', harness.now(), 10), []);
      same(await holder.due.settle([{ claim: first(claims), next: null }]), [true]);
    });

    test('two heirs that claim at once get each thing once', async (harness) => {
      const [holder, b, c] = [await harness.open('a'), await harness.open('b'), await harness.open('c')];
      await beats(harness, holder, b, c);
      const ids = await deliveriesDue(holder, 200, harness.now());
      const lost = await drain(holder, 'delivery', harness.now());
      harness.advance(2 * silentAfterMs);
      await beats(harness, b, c);
      const taken = await drainTogether([b, c], 'delivery', harness.now(), 9);
      sameSet(transactionsOf(taken.flat()), ids);
      const late = await holder.due.settle(lost.map((claim) => ({ claim, next: null })));
      assert.ok(late.every((each) => !each));
      await settleAll([b, c], taken);
    });

    test('a claim that was lost and had again is another claim', async (harness) => {
      const { holder, heir, lost } = await takenOver(harness, silentAfterMs);
      harness.advance(2 * silentAfterMs);
      await beats(harness, holder);
      const again = await drain(holder, 'delivery', harness.now());
      same(duesOf(again), duesOf(lost));
      const claim = first(lost);
      same(await holder.due.settle([{ claim, next: { ...claim.due, tries: 9 } }]), [false]);
      same(await drain(heir, 'delivery', harness.now()), []);
      same(await holder.due.settle([{ claim: first(again), next: null }]), [true]);
    });

    test('a claim that was taken over parks nothing', async (harness) => {
      const { holder, heir, lost, taken } = await takenOver(harness, silentAfterMs);
      await holder.due.park(lost);
      assert.is(await heir.due.unpark(harness.now()), 0);
      same(await heir.due.settle([{ claim: first(taken), next: null }]), [true]);
    });

    test('what was taken over does not go behind a target', async (harness) => {
      const [holder, heir] = [await harness.open('holder'), await harness.open('heir')];
      await Promise.all([holder, heir].map((store) => store.due.beat(harness.now())));
      const target = { account: randomUUID(), url: first(URLS) };
      const lost = await claimed(holder, 2, harness.now(), target.account);
      harness.advance(2 * silentAfterMs);
      await heir.due.beat(harness.now());
      const taken = await drain(heir, 'delivery', harness.now());
      await holder.due.beat(harness.now());
      same(await holder.backlog.put([{ target, claims: lost, lookAt: harness.now() }]), [0]);
      same(await heir.due.settle(taken.map((claim) => ({ claim, next: null }))), [true, true]);
      same((await heir.backlog.take(target, harness.now(), 10)).claims, []);
    });
  });
}
