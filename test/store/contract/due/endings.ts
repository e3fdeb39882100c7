/** Claims on bank orders that end in the write of a batch: with it, once, and no others. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { BankOrder } from '../../../../src/engine/journal.ts';
import type { ClaimOf } from '../../../../src/engine/store/due.ts';
import type { Store } from '../../../../src/engine/store.ts';
import { appendAfter, cashoutCreated, cashoutMoved, grow } from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  duesOf,
  first,
  type StoreHarness,
  same,
  sameSet,
} from '../harness.ts';
import { beats } from './claims.ts';

const PAYOUT: BankOrder = { kind: 'payout' };

/** So many cashouts, each with these orders, which are claimed. */
async function claimed(
  store: Store,
  account: string,
  at: number,
  { count = 1, orders = [PAYOUT] }: { count?: number; orders?: BankOrder[] } = {},
) {
  const cashouts = Array.from({ length: count }, () => cashoutCreated(at, { orders }));
  const { append } = await grow(store, account, cashouts);
  const claims = await store.due.claim('bank', at, 100);
  assert.is(claims.length, count * orders.length);
  return { ids: cashouts.map(({ transaction }) => transaction), claims, known: append.records };
}

function moved(at: number, id: string | undefined) {
  return cashoutMoved(at, id ?? '', 'pending', 'processing');
}

/** Whether nothing comes, now and once all that is silent has lost its claims. */
async function nothingComes(harness: StoreHarness, store: Store, afterMs: number): Promise<void> {
  same(await store.due.claim('bank', harness.now(), 10), []);
  harness.advance(afterMs);
  await beats(harness, store);
  same(await store.due.claim('bank', harness.now(), 10), []);
}

export function endingsContract(context: ContractContext): void {
  const { silentAfterMs } = context;
  contractPart(context, 'due: endings', (test) => {
    test('a claim that ends with a batch is gone, for the next process as well', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      const account = randomUUID();
      const { ids, claims, known } = await claimed(store, account, harness.now());
      const entry = moved(harness.now(), ids[0]);
      const { ended, append } = await grow(store, account, [entry], { known, ends: claims });
      same(ended, claims);
      same(await store.due.settle(claims.map((claim) => ({ claim, next: null }))), [false]);
      same(await store.journal.transaction(ids[0] ?? ''), first(append.records));
      await nothingComes(harness, store, 3 * silentAfterMs);
      await nothingComes(harness, await harness.reopen('b'), 3 * silentAfterMs);
    });

    test('others stay, of the same transaction and of others', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      const account = randomUUID();
      const wake = { kind: 'wake', step: 1, at: new Date(harness.now()).toISOString() } as const;
      const { ids, claims, known } = await claimed(store, account, harness.now(), {
        count: 3,
        orders: [PAYOUT, wake],
      });
      const isOne = ({ due }: ClaimOf<'bank'>): boolean =>
        due.transaction === ids[1] && due.order.kind === 'payout';
      const ends = claims.filter(isOne);
      const entries = ids.map((id) => moved(harness.now(), id));
      const ordered = { ...first(entries), orders: [{ kind: 'ask' } as const] };
      const after = await grow(store, account, [ordered, ...entries.slice(1)], { known, ends });
      same(after.ended, ends);
      const left = claims.filter((claim) => !isOne(claim));
      same(
        await store.due.holds(claims),
        claims.map((claim) => !isOne(claim)),
      );
      const fresh = await store.due.claim('bank', harness.now(), 10);
      same(
        fresh.map(({ due }) => [due.transaction, due.order.kind]),
        [[ids[0], 'ask']],
      );
      for (const claim of left) await store.due.settle([{ claim, next: claim.due }]);
      sameSet(duesOf(await drain(store, 'bank', harness.now())), duesOf(left));
    });

    test('a claim ends with the transaction’s second order', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      const account = randomUUID();
      const { ids, claims, known } = await claimed(store, account, harness.now());
      const entry = { ...moved(harness.now(), ids[0]), orders: [{ kind: 'ask' } as const] };
      const after = await grow(store, account, [entry], { known, ends: claims, claimUntil: harness.now() });
      same(after.ended, claims);
      same(
        after.claims.map(({ due }) => due.kind === 'bank' && due.order.kind),
        ['ask'],
      );
      same(await store.due.holds([...claims, ...after.claims]), [false, true]);
      same(await store.due.settle(after.claims.map((claim) => ({ claim, next: null }))), [true]);
      await nothingComes(harness, store, 3 * silentAfterMs);
    });

    test('nothing ends with a batch that another was before', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      const account = randomUUID();
      const { ids, claims, known } = await claimed(store, account, harness.now());
      const head = await store.journal.head(account);
      const parts = { known, ends: claims };
      const late = appendAfter(account, head, [moved(harness.now(), ids[0])], parts);
      await grow(store, account, [moved(harness.now(), ids[0])], { known });
      same(await store.journal.append(late), { outcome: 'stale' });
      same(await store.due.holds(claims), [true]);
      same(await store.due.settle(claims.map((claim) => ({ claim, next: first(claims).due }))), [true]);
      assert.is((await drain(store, 'bank', harness.now())).length, 1);
    });

    if (silentAfterMs > 0)
      test('a claim that another has taken over stays its own', async (harness) => {
        const [holder, heir] = [await harness.open('holder'), await harness.open('heir')];
        await beats(harness, holder, heir);
        const account = randomUUID();
        const { ids, claims, known } = await claimed(holder, account, harness.now());
        harness.advance(2 * silentAfterMs);
        await beats(harness, heir);
        const taken = await drain(heir, 'bank', harness.now());
        same(duesOf(taken), duesOf(claims));
        await grow(holder, account, [moved(harness.now(), ids[0])], { known, ends: claims });
        same(await heir.due.holds(taken), [true]);
        same(await heir.due.settle(taken.map((claim) => ({ claim, next: null }))), [true]);
        await nothingComes(harness, heir, 3 * silentAfterMs);
      });
  });
}
