/** The due index where its clock is set: nothing waits for a time that never came, and nothing comes too early for it. */
import { randomUUID } from 'node:crypto';
import type { DeliveryRecord } from '../../../../src/engine/store/deliveries.ts';
import {
  byOwnTime,
  type ClaimOf,
  type Due,
  type DueKind,
  isOf,
  postponed,
  putOff,
} from '../../../../src/engine/store/due.ts';
import type { Settlement, Store } from '../../../../src/engine/store.ts';
import { type CreatedParts, chargeCreated, grow, iso } from '../builders.ts';
import { type ContractContext, contractPart, first, type StoreHarness, same } from '../harness.ts';

const HOUR_MS = 3_600_000;
const RETRY_MS = 10_000;

/** A delivery's first attempt has failed, by that clock. */
function failedOnce(claim: ClaimOf<'delivery'>, clock: number): Settlement & { record: DeliveryRecord } {
  const { account, transaction, delivery: id } = claim.due;
  const attempts = [{ at: iso(clock), statusCode: 503, error: null, durationMs: 9 }];
  const parts = { id, account, transaction, status: 'retrying' as const, failures: 1, attempts };
  const next = { ...claim.due, at: clock + RETRY_MS, tries: 1 };
  const record = { ...parts, nextAttemptAt: iso(next.at), deliveredAt: null };
  return { claim, next, record, clock };
}

/** A delivery that is claimed with its charge, which has such timers. */
async function claimedDelivery(
  store: Store,
  at: number,
  timers: CreatedParts['timers'] = [],
): Promise<ClaimOf<'delivery'>> {
  const charge = chargeCreated(at, { timers, urls: ['https://shop.example/hook'] });
  const { claims } = await grow(store, randomUUID(), [charge], { claimUntil: at });
  return first(claims.filter((each) => isOf(each, 'delivery')));
}

/** What is due of a kind is due at that time, and not before. */
async function isDueAt(store: Store, kind: DueKind, at: number): Promise<void> {
  same(await store.due.claim(kind, at - 1, 10), []);
  same(first(await store.due.claim(kind, at, 10)).due.at, at);
}

/** Claims the timer that is due by then, and puts it off. */
async function putOffOnce(store: Store, clock: number): Promise<void> {
  await store.due.beat(clock);
  const claim = first(await store.due.claim('timer', clock, 10));
  const next = putOff(claim.due, clock + RETRY_MS);
  same(await store.due.settle([{ claim, next, clock }]), [true]);
}

/** The timer that was put off is due again at that time, and not before. */
async function putOffClaim(store: Store, at: number): Promise<ClaimOf<'timer'>> {
  same(await store.due.claim('timer', at - 1, 10), []);
  return first(await store.due.claim('timer', at, 10));
}

async function isSetBack(
  store: Store,
  { now, advance }: Pick<StoreHarness, 'now' | 'advance'>,
): Promise<void> {
  advance(-2 * HOUR_MS);
  await store.due.rewind(now());
  await store.due.beat(now());
}

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
      await store.due.unwind({ number: 1, ms: 2 * HOUR_MS, since, until: now() - 2 * HOUR_MS });
      await store.due.beat(now());
      same(await store.due.claim('timer', at - 1, 10), []);
      const { due } = first(await store.due.claim('timer', at, 10));
      same([due.at, due.ahead ?? 0], [at, 0]);
    });

    test('a timer of an account whose time is a little ahead is brought back with the clock', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      advance(HOUR_MS);
      const ahead = 115;
      const at = now() + ahead;
      const timers = [{ name: 'EXPIRE', at: iso(at + HOUR_MS) }];
      const instead = (due: Due): Due => ({ ...due, at: due.at - ahead, ahead });
      await grow(store, randomUUID(), [chargeCreated(at, { timers })], { instead });
      advance(-HOUR_MS);
      await store.due.rewind(now());
      await store.due.beat(now());
      const due = now() + HOUR_MS;
      await isDueAt(store, 'timer', due);
    });

    test('what a clock brings back that is set back twice is due after as long each time', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      advance(2 * HOUR_MS);
      const timers = [{ name: 'EXPIRE', at: iso(now() + HOUR_MS) }];
      const claim = await claimedDelivery(store, now(), timers);
      await store.due.settle([failedOnce(claim, now())]);
      for (let times = 0; times < 2; times += 1) {
        advance(-HOUR_MS);
        await store.due.rewind(now());
        await store.due.beat(now());
      }
      await isDueAt(store, 'delivery', now() + RETRY_MS);
      await isDueAt(store, 'timer', now() + HOUR_MS);
    });

    test('what was brought back by more than the clock went forward waits as long again, and is found after a restart', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const at = now() + HOUR_MS;
      await grow(store, randomUUID(), [chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(-2 * HOUR_MS);
      const since = now();
      await store.due.rewind(now());
      advance(HOUR_MS);
      await store.due.unwind({ number: 1, ms: HOUR_MS, since, until: since });
      const again = await harness.reopen('b');
      await again.due.beat(now());
      same(await again.due.claim('timer', at - HOUR_MS - 1, 10), []);
      const { due } = first(await again.due.claim('timer', at - HOUR_MS, 10));
      same([due.at, due.ahead], [at - HOUR_MS, HOUR_MS]);
    });

    test('where a clock is set right in steps, each puts off once what was brought back, up to its time', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const timers = [{ name: 'EXPIRE', at: iso(now() + HOUR_MS) }];
      const claim = await claimedDelivery(store, now(), timers);
      await store.due.settle([failedOnce(claim, now())]);
      const [timerAt, retryAt] = [now() + HOUR_MS, now() + RETRY_MS];
      advance(-3 * HOUR_MS);
      const since = now();
      await store.due.rewind(now());
      // As several processes do that see each step, and one that sees the first one late.
      for (const [number, hours] of [
        [7, 1],
        [7, 1],
        [8, 1.5],
        [8, 1.5],
        [7, 1],
      ] as const)
        await store.due.unwind({ number, ms: hours * HOUR_MS, since, until: since + HOUR_MS });
      advance(2.5 * HOUR_MS);
      await store.due.beat(now());
      await isDueAt(store, 'delivery', retryAt - HOUR_MS / 2);
      await store.due.unwind({ number: 9, ms: 2 * HOUR_MS, since, until: now() });
      await isDueAt(store, 'timer', timerAt);
    });

    test('a retry that a wrong clock reckoned, and that is written once that was set back, is brought back', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      advance(HOUR_MS);
      const wrong = now();
      const settlement = failedOnce(await claimedDelivery(store, wrong), wrong);
      advance(-HOUR_MS);
      same(await store.due.settle([settlement]), [true]);
      await store.due.rewind(now());
      await store.due.beat(now());
      await isDueAt(store, 'delivery', now() + RETRY_MS);
    });

    test('a retry that was reckoned once the clock had been set, amid its attempt, is brought back', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const began = now();
      const claim = await claimedDelivery(store, began);
      advance(HOUR_MS);
      const settlement = failedOnce(claim, now());
      const attempts = [{ at: iso(began), statusCode: 503, error: null, durationMs: 9 }];
      same(await store.due.settle([{ ...settlement, record: { ...settlement.record, attempts } }]), [true]);
      advance(-HOUR_MS);
      await store.due.rewind(now());
      await store.due.beat(now());
      await isDueAt(store, 'delivery', now() + RETRY_MS);
    });

    test('what was put off by a wrong clock, after an attempt, is brought back', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      await store.due.settle([failedOnce(await claimedDelivery(store, now()), now())]);
      advance(HOUR_MS);
      await store.due.beat(now());
      const claim = first(await store.due.claim('delivery', now(), 10));
      const next = { ...claim.due, at: now() + RETRY_MS, tries: claim.due.tries + 1 };
      same(await store.due.settle([{ claim, next, clock: now() }]), [true]);
      advance(-HOUR_MS);
      await store.due.rewind(now());
      await store.due.beat(now());
      same((await store.due.claim('delivery', now() + RETRY_MS, 10)).length, 1);
    });

    test('what an account ahead of the clock makes due once a wrong one was set forward stays as it is', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const since = now();
      advance(2 * HOUR_MS);
      const forward = { number: 1, ms: 2 * HOUR_MS, since, until: since };
      const [ahead, due] = [HOUR_MS, now() + HOUR_MS / 2];
      const timers = [{ name: 'EXPIRE', at: iso(due + ahead) }];
      const instead = (thing: Due): Due => ({ ...thing, at: thing.at - ahead, ahead });
      await grow(store, randomUUID(), [chargeCreated(now() + ahead, { timers })], { instead });
      await store.due.unwind(forward);
      await isDueAt(store, 'timer', due);
    });

    test('a timer that is put off once it was claimed keeps by how much its own time was ahead', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const [ahead, due] = [HOUR_MS, now() + 60_000];
      const timers = [{ name: 'EXPIRE', at: iso(due + ahead) }];
      const instead = (thing: Due): Due => ({ ...thing, at: thing.at - ahead, ahead });
      await grow(store, randomUUID(), [chargeCreated(now() + ahead, { timers })], { instead });
      for (let times = 0; times < 3; times++) {
        advance(60_000);
        await store.due.beat(now());
        const claim = first(await store.due.claim('timer', now(), 10));
        same([claim.due.at, claim.due.ahead], [now(), ahead]);
        const next = { ...claim.due, at: now() + 60_000 };
        same(await store.due.settle([{ claim, next }]), [true]);
      }
      // Brought back by an hour and put off by it again, what is kept goes along.
      advance(-2 * HOUR_MS);
      const since = now();
      await store.due.rewind(now());
      await store.due.beat(now());
      const [claim] = await store.due.claim('timer', now() + 2 * HOUR_MS, 10);
      const back = claim === undefined ? 0 : (claim.due.ahead ?? 0) - ahead;
      same(back > HOUR_MS, true);
      same(claim && claim.due.at + back, since + 2 * HOUR_MS + 60_000);
    });

    test('a timer that a wrong clock put off is looked at as soon, and then waits for its own time', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const [setAt, at] = [now(), now() + HOUR_MS];
      await grow(store, randomUUID(), [chargeCreated(setAt, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(2 * HOUR_MS);
      await putOffOnce(store, now());
      await isSetBack(store, { now, advance });
      const claim = await putOffClaim(store, now() + RETRY_MS);
      const next = byOwnTime(claim.due, iso(setAt), now());
      same([next.at, next.ahead], [at, 0]);
      same(await store.due.settle([{ claim, next, clock: now() }]), [true]);
      await store.due.rewind(now());
      same(await store.due.claim('timer', at - 1, 10), []);
      const { due } = first(await store.due.claim('timer', at, 10));
      same([due.at, due.ahead ?? 0, due.own], [at, 0, undefined]);
    });

    test('one that this clock had set, too, has come by it', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const setAt = now() + 2 * HOUR_MS;
      const at = setAt + 60_000;
      advance(2 * HOUR_MS);
      await grow(store, randomUUID(), [chargeCreated(setAt, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(60_000);
      await putOffOnce(store, now());
      await isSetBack(store, { now, advance });
      const { due } = await putOffClaim(store, now() + RETRY_MS);
      const own = byOwnTime(due, iso(setAt), now());
      same([own.at, own.ahead], [at - 2 * HOUR_MS, 2 * HOUR_MS]);
    });

    test('one that a clock put off which was behind follows that once it is set forward', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const [setAt, at] = [now(), now() + HOUR_MS];
      await grow(store, randomUUID(), [chargeCreated(setAt, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      await isSetBack(store, { now, advance });
      const since = now();
      advance(HOUR_MS);
      await putOffOnce(store, now());
      const until = now();
      advance(2 * HOUR_MS);
      await store.due.unwind({ number: 1, ms: 2 * HOUR_MS, since, until });
      await store.due.beat(now());
      const { due } = await putOffClaim(store, now() + RETRY_MS);
      const own = byOwnTime(due, iso(setAt), now());
      same([own.at, own.ahead], [at, 0]);
    });

    test('a clock that is set too far forward, and then right, makes nothing come before its time', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      const at = now() + 2 * HOUR_MS;
      await grow(store, randomUUID(), [chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
      advance(-24 * HOUR_MS);
      const since = now();
      await store.due.rewind(now());
      const until = now();
      advance(27 * HOUR_MS);
      await store.due.unwind({ number: 1, ms: 27 * HOUR_MS, since, until });
      advance(-3 * HOUR_MS);
      await store.due.rewind(now());
      await store.due.beat(now());
      await isDueAt(store, 'timer', at);
    });

    test('what was put off by a clock that was behind is brought back with it, once that was set too far forward', async (harness) => {
      const { now, advance } = harness;
      const store = await harness.open('a');
      await store.due.settle([failedOnce(await claimedDelivery(store, now()), now())]);
      advance(-4 * HOUR_MS);
      const since = now();
      await store.due.rewind(since);
      advance(RETRY_MS);
      await store.due.beat(now());
      const claim = first(await store.due.claim('delivery', now(), 10));
      const next = postponed(claim.due, RETRY_MS, now());
      same(await store.due.settle([{ claim, next, clock: now() }]), [true]);
      const until = now();
      for (const hours of [3, -1]) {
        advance(hours * HOUR_MS);
        if (hours > 0) await store.due.unwind({ number: 1, ms: hours * HOUR_MS, since, until });
        else await store.due.rewind(now());
      }
      await store.due.beat(now());
      await isDueAt(store, 'delivery', now() + RETRY_MS);
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
      await store.due.unwind({ number: 1, ms: 2 * HOUR_MS, since: now(), until: now() });
      await store.due.beat(now());
      await isDueAt(store, 'timer', at);
    });
  });
}
