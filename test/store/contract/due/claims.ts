/** Claims: each thing is in one pair of hands at a time, and comes again unless it was ended. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Store } from '../../../../src/engine/store.ts';
import { chargeCreated, grow, iso } from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  drainTogether,
  first,
  lookupsOf,
  type StoreHarness,
  same,
  sameSet,
  settleAll,
  transactionsOf,
} from '../harness.ts';

const URLS = ['https://example.com/hook'];

/** So many deliveries are due now; their transactions. */
export async function deliveriesDue(
  store: Store,
  count: number,
  at: number,
  account = randomUUID(),
): Promise<string[]> {
  const charges = Array.from({ length: count }, () => chargeCreated(at, { urls: URLS }));
  await grow(store, account, charges);
  return charges.map(({ transaction }) => transaction);
}

export async function beats(harness: StoreHarness, ...stores: Store[]): Promise<void> {
  for (const store of stores) await store.due.beat(harness.now());
}

export function claimsContract(context: ContractContext): void {
  const { silentAfterMs } = context;
  contractPart(context, 'due: claims', (test) => {
    test('two incarnations that claim at once get each thing once', async (harness) => {
      const stores = [await harness.open('a'), await harness.open('b')];
      for (let round = 0; round < context.rounds; round++) {
        await beats(harness, ...stores);
        const ids: string[] = [];
        for (let part = 0; part < 5; part++)
          ids.push(...(await deliveriesDue(first(stores), 100, harness.now())));
        // Twice each: an incarnation's own sweeps overlap, too.
        const claims = await drainTogether([...stores, ...stores], 'delivery', harness.now(), 7);
        sameSet(transactionsOf(claims.flat()), ids);
        await settleAll([...stores, ...stores], claims);
      }
    });

    test('a silent one that nobody took over from still counts', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      await deliveriesDue(store, 1, harness.now());
      const claim = first(await store.due.claim('delivery', harness.now(), 10));
      harness.advance(3 * silentAfterMs);
      same(await store.due.settle([{ claim, next: null }]), [true]);
    });

    test('a parked thing is not claimed until it is unparked', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await beats(harness, a, b);
      const ids = await deliveriesDue(a, 3, harness.now());
      const claims = await drain(a, 'delivery', harness.now());
      const [one, two, three] = claims;
      if (!one || !two || !three) throw new Error('three are due');
      await a.due.park([one, two]);
      same(await a.due.settle([{ claim: three, next: null }]), [true]);
      harness.advance(3 * silentAfterMs);
      await beats(harness, b);
      same(await b.due.claim('delivery', harness.now(), 10), [], 'silence does not bring it back');
      await b.due.tidy(harness.now());
      assert.is(await b.due.unpark(harness.now()), 2);
      assert.is(await b.due.unpark(harness.now()), 0);
      const again = await drain(b, 'delivery', harness.now());
      sameSet(
        transactionsOf(again),
        ids.filter((id) => id !== three.due.transaction),
      );
      same(await b.due.settle(again.map((claim) => ({ claim, next: null }))), [true, true]);
      assert.is(await b.due.unpark(harness.now()), 0);
    });

    test('the claims of closed incarnations come to the next one', async (harness) => {
      const store = await harness.open('a');
      await beats(harness, store);
      const ids = await deliveriesDue(store, 3, harness.now());
      await drain(store, 'delivery', harness.now());
      const next = await harness.reopen('b');
      harness.advance(2 * silentAfterMs);
      await beats(harness, next);
      await next.due.tidy(harness.now());
      sameSet(transactionsOf(await drain(next, 'delivery', harness.now())), ids);
    });

    test('tidying takes nothing away that is needed', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      await store.due.beat(now());
      const entry = chargeCreated(now(), {
        externalRef: 'r',
        urls: ['https://a.example'],
        timers: [{ name: 'X', at: iso(now() + 1_000) }],
      });
      const { append } = await grow(store, account, [entry]);
      const claim = first(await store.due.claim('delivery', now(), 10));
      await store.due.tidy(now());
      same(await store.journal.transaction(entry.transaction), first(append.records));
      sameSet(await lookupsOf(store, account), append.lookups);
      assert.is((await store.journal.append(append)).outcome, 'appended');
      same(await store.due.settle([{ claim, next: null }]), [true]);
      assert.is((await store.due.claim('timer', now() + 1_000, 10)).length, 1);
    });
  });
}
