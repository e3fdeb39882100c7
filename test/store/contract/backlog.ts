/** What waits behind targets that don't keep up: outside the due index, counted, in order, and never lost. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { LOOK_MS, type Target, targetId } from '../../../src/engine/store/backlog.ts';
import type { ClaimOf } from '../../../src/engine/store/due.ts';
import type { Store } from '../../../src/engine/store.ts';
import { chargeCreated, grow } from './builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  first,
  same,
  sameSet,
  transactionsOf,
} from './harness.ts';

const URL = 'https://hangs.example/hook';

/** So many deliveries of one account, claimed; a second apart, the latest first. */
async function claimed(
  store: Store,
  count: number,
  now: number,
  account: string,
): Promise<ClaimOf<'delivery'>[]> {
  for (let n = 0; n < count; n++)
    await grow(store, account, [chargeCreated(now - n * 1_000, { urls: [URL] })]);
  const claims: ClaimOf<'delivery'>[] = [];
  for (;;) {
    const page = await store.due.claim('delivery', now, 500);
    if (page.length === 0) return claims;
    claims.push(...page);
  }
}

/** Takes all from behind a target. */
async function takeAll(
  store: Store,
  target: Target,
  now: number,
  limit = 100,
): Promise<ClaimOf<'delivery'>[]> {
  const taken: ClaimOf<'delivery'>[] = [];
  for (;;) {
    const { claims } = await store.backlog.take(target, now, limit);
    assert.ok(claims.length <= limit, 'more than the limit');
    if (claims.length === 0) return taken;
    taken.push(...claims);
  }
}

export function backlogContract(context: ContractContext): void {
  const { silentAfterMs } = context;
  contractPart(context, 'backlog', (test) => {
    test('a look that a clock which was ahead put off is due once that was set back', async (harness) => {
      const store = await harness.open('a');
      await store.due.beat(harness.now());
      const target = { account: randomUUID(), url: URL };
      const other = { account: randomUUID(), url: URL };
      const claims = await claimed(store, 1, harness.now(), target.account);
      const others = await claimed(store, 1, harness.now(), other.account);
      const soon = harness.now() + 30_000;
      await store.backlog.put([
        { target, claims, lookAt: harness.now() + 3_600_000 },
        { target: other, claims: others, lookAt: soon },
      ]);
      same(await store.backlog.claimLooks(harness.now(), 10), []);
      await store.due.rewind(harness.now());
      same(await store.backlog.claimLooks(harness.now(), 10), [target]);
      same(await store.backlog.claimLooks(soon - 16_000, 10), [], 'what was right was brought back');
      assert.is((await takeAll(store, target, harness.now())).length, 1);
    });

    test('what waits behind a target is not due, is counted, and comes earliest first', async (harness) => {
      const store = await harness.open('a');
      await store.due.beat(harness.now());
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(store, 5, harness.now(), target.account);
      const order = transactionsOf(claims);
      const lookAt = harness.now() + 5_000;
      const back = [...claims].reverse();
      same(await store.backlog.put([{ target, claims: back.slice(0, 2), lookAt }]), [2]);
      same(await store.backlog.put([{ target, claims: back.slice(2), lookAt: lookAt + 60_000 }]), [5]);
      same(await store.due.settle(claims.map((claim) => ({ claim, next: null }))), Array(5).fill(false));
      same(await store.due.claim('delivery', harness.now() + 3_600_000, 10), [], 'it is due');
      same(await store.backlog.targets('', 10), [{ id: targetId(target), ...target, waiting: 5 }]);
      assert.is(await store.backlog.total(), 5);
      const one = await store.backlog.take(target, harness.now(), 1);
      same([transactionsOf(one.claims), one.left], [order.slice(0, 1), 4]);
      same(one.claims[0]?.due, claims[0]?.due);
      const rest = await store.backlog.take(target, harness.now(), 10);
      same([transactionsOf(rest.claims), rest.left], [order.slice(1), 0]);
      same(
        await store.due.settle([...one.claims, ...rest.claims].map((claim) => ({ claim, next: null }))),
        Array(5).fill(true),
      );
      assert.is(await store.backlog.total(), 0);
    });

    test('a target is looked after by one at a time, when its time has come', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await Promise.all([a, b].map((store) => store.due.beat(harness.now())));
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(a, 2, harness.now(), target.account);
      await a.backlog.put([{ target, claims, lookAt: harness.now() + 1_000 }]);
      same(await b.backlog.claimLooks(harness.now(), 10), [], 'before its time');
      harness.advance(1_000);
      const looks = await Promise.all([a, b].map((store) => store.backlog.claimLooks(harness.now(), 10)));
      same(looks.flat(), [target]);
      // Each page that is taken keeps it for as long again.
      harness.advance(LOOK_MS - 1_000);
      await a.due.beat(harness.now());
      const { claims: some } = await a.backlog.take(target, harness.now(), 1);
      harness.advance(LOOK_MS - 1_000);
      same(await b.backlog.claimLooks(harness.now(), 10), []);
      await a.backlog.lookAgain(target, harness.now() + 30_000);
      harness.advance(29_000);
      same(await b.backlog.claimLooks(harness.now(), 10), []);
      harness.advance(1_000);
      same(await b.backlog.claimLooks(harness.now(), 10), [target]);
      assert.is(some.length, 1);
    });

    test('a target behind which nothing lies is forgotten, one that got something meanwhile is not', async (harness) => {
      const store = await harness.open('a');
      const target = { account: randomUUID(), url: URL };
      for (let round = 0; round < 2; round++) {
        await store.due.beat(harness.now());
        const claims = await claimed(store, 2, harness.now(), target.account);
        await store.backlog.put([{ target, claims: claims.slice(0, 1), lookAt: harness.now() }]);
        await takeAll(store, target, harness.now());
        await store.backlog.put([{ target, claims: claims.slice(1), lookAt: harness.now() + 60_000 }]);
        await store.backlog.lookAgain(target, harness.now());
        same(await store.backlog.claimLooks(harness.now(), 10), [target]);
        await takeAll(store, target, harness.now());
        await store.backlog.lookAgain(target, harness.now());
        same(await store.backlog.targets('', 10), []);
        // A store that several processes share may keep it for a minute, to be sure.
        harness.advance(120_000);
        for (const one of await store.backlog.claimLooks(harness.now(), 10))
          await store.backlog.lookAgain(one, harness.now());
        harness.advance(120_000);
        same(await store.backlog.claimLooks(harness.now(), 10), []);
      }
    });

    test('what comes behind a target whose last look found nothing is looked after in its time', async (harness) => {
      const store = await harness.open('a');
      await store.due.beat(harness.now());
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(store, 3, harness.now(), target.account);
      for (const claim of claims) {
        await store.backlog.put([{ target, claims: [claim], lookAt: harness.now() + 1_000 }]);
        same(await store.backlog.claimLooks(harness.now(), 10), [], 'before its time');
        harness.advance(1_000);
        await store.due.beat(harness.now());
        same(await store.backlog.claimLooks(harness.now(), 10), [target]);
        same(transactionsOf(await takeAll(store, target, harness.now())), transactionsOf([claim]));
        await store.backlog.lookAgain(target, harness.now());
      }
    });

    test('what is put behind a target while others find nothing there is looked after in its time', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await Promise.all([a, b].map((store) => store.due.beat(harness.now())));
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(a, 30, harness.now(), target.account);
      for (const claim of claims) {
        let isPut = false;
        const looks = async (): Promise<void> => {
          while (!isPut) await b.backlog.lookAgain(target, harness.now());
        };
        const put = a.backlog.put([{ target, claims: [claim], lookAt: harness.now() }]).finally(() => {
          isPut = true;
        });
        await Promise.all([put, looks()]);
        same(await b.backlog.claimLooks(harness.now(), 10), [target]);
        same(transactionsOf(await takeAll(b, target, harness.now())), transactionsOf([claim]));
        await b.backlog.lookAgain(target, harness.now());
      }
    });

    test('what a process that dies had taken, and its looks, are found again', async (harness) => {
      const store = await harness.open('a');
      await store.due.beat(harness.now());
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(store, 4, harness.now(), target.account);
      await store.backlog.put([{ target, claims, lookAt: harness.now() }]);
      same(await store.backlog.claimLooks(harness.now(), 10), [target]);
      const taken = await store.backlog.take(target, harness.now(), 1);
      const next = await harness.reopen('b');
      // Who is alone with the data knows that nobody else is looking.
      if (silentAfterMs > 0) harness.advance(Math.max(2 * silentAfterMs, LOOK_MS));
      await next.due.beat(harness.now());
      same(transactionsOf(await drain(next, 'delivery', harness.now())), transactionsOf(taken.claims));
      same(await next.backlog.claimLooks(harness.now(), 10), [target]);
      assert.is(await next.backlog.total(), 3);
      sameSet(
        [...transactionsOf(taken.claims), ...transactionsOf(await takeAll(next, target, harness.now()))],
        transactionsOf(claims),
      );
    });

    test('two that take at once get each delivery once', async (harness) => {
      const [a, b] = [await harness.open('a'), await harness.open('b')];
      await Promise.all([a, b].map((store) => store.due.beat(harness.now())));
      const target = { account: randomUUID(), url: URL };
      const claims = await claimed(a, 30, harness.now(), target.account);
      await a.backlog.put([{ target, claims, lookAt: harness.now() }]);
      const taken = await Promise.all([a, b].map((store) => takeAll(store, target, harness.now(), 4)));
      const rest = await takeAll(a, target, harness.now());
      sameSet(transactionsOf([...taken.flat(), ...rest]), transactionsOf(claims));
      assert.is(await a.backlog.total(), 0);
    });

    test('targets are listed page by page', async (harness) => {
      const store = await harness.open('a');
      await store.due.beat(harness.now());
      const targets = Array.from({ length: 5 }, () => ({ account: randomUUID(), url: URL }));
      for (const target of targets) {
        const claims = await claimed(store, 1, harness.now(), target.account);
        await store.backlog.put([{ target, claims, lookAt: harness.now() }]);
      }
      const listed: Target[] = [];
      for (let after = ''; ; ) {
        const page = await store.backlog.targets(after, 2);
        listed.push(...page.map(({ account, url }) => ({ account, url })));
        if (page.length < 2) break;
        after = page.at(-1)?.id ?? '';
      }
      sameSet(listed, targets);
      same(first(await store.backlog.targets('', 1)).waiting, 1);
    });
  });
}
