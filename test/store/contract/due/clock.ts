/** The due index where its clock is set: nothing waits for a time that never came, and nothing comes too early for it. */
import { randomUUID } from 'node:crypto';
import { isOf } from '../../../../src/engine/store/due.ts';
import { chargeCreated, grow, iso } from '../builders.ts';
import { type ContractContext, contractPart, first, same } from '../harness.ts';

const HOUR_MS = 3_600_000;
const RETRY_MS = 10_000;

export function clockContract(context: ContractContext): void {
  contractPart(context, 'due: clock', (test) => {
    test('a timer that a wrong clock had brought back is due at its own time once that is right again', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const at = now() + HOUR_MS;
      await grow(store, randomUUID(), [chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(-2 * HOUR_MS);
      const since = now();
      await store.due.rewind(now());
      await store.due.beat(now());
      advance(2 * HOUR_MS);
      await store.due.unwind(now(), { ms: 2 * HOUR_MS, since });
      await store.due.beat(now());
      same(await store.due.claim('timer', at - 1, 10), []);
      const { due } = first(await store.due.claim('timer', at, 10));
      same([due.at, due.ahead ?? 0], [at, 0]);
    });

    test('what was brought back by more than the clock went forward stays so, and is found after a restart', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const at = now() + HOUR_MS;
      await grow(store, randomUUID(), [chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(-2 * HOUR_MS);
      await store.due.rewind(now());
      await store.due.unwind(now(), { ms: HOUR_MS, since: now() });
      const again = await harness.reopen('b');
      advance(HOUR_MS);
      await again.due.beat(now());
      const { due } = first(await again.due.claim('timer', now(), 10));
      same([due.at, due.ahead], [now(), 2 * HOUR_MS]);
    });

    test('a retry that a wrong clock reckoned, and that is written once that was set back, is brought back', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      advance(HOUR_MS);
      const wrong = now();
      const charge = chargeCreated(wrong, { urls: ['https://shop.example/hook'] });
      const { claims } = await grow(store, randomUUID(), [charge], { claimUntil: wrong });
      const claim = first(claims.filter((each) => isOf(each, 'delivery')));
      const { account, transaction, delivery: id } = claim.due;
      const attempts = [{ at: iso(wrong), statusCode: 503, error: null, durationMs: 9 }];
      const parts = { id, account, transaction, status: 'retrying' as const, failures: 1, attempts };
      const next = { ...claim.due, at: wrong + RETRY_MS, tries: 1 };
      const record = { ...parts, nextAttemptAt: iso(next.at), deliveredAt: null };
      advance(-HOUR_MS);
      same(await store.due.settle([{ claim, next, record, clock: wrong }]), [true]);
      await store.due.rewind(now());
      await store.due.beat(now());
      same(await store.due.claim('delivery', now() + RETRY_MS - 1, 10), []);
      same(first(await store.due.claim('delivery', now() + RETRY_MS, 10)).due.at, now() + RETRY_MS);
    });

    test('what a right clock had brought back before a wrong one was set stays so', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      advance(HOUR_MS);
      const timers = [{ name: 'EXPIRE', at: iso(now() + HOUR_MS) }];
      await grow(store, randomUUID(), [chargeCreated(now(), { timers })]);
      advance(-HOUR_MS);
      await store.due.rewind(now());
      const at = now() + HOUR_MS;
      advance(HOUR_MS / 2);
      await store.due.unwind(now(), { ms: 2 * HOUR_MS, since: now() });
      await store.due.beat(now());
      same(await store.due.claim('timer', at - 1, 10), []);
      same(first(await store.due.claim('timer', at, 10)).due.at, at);
    });
  });
}
