/** What a clock that was wrong made due, and was brought back, stays so whatever is left of the projections. */
import { randomUUID } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { askAbout } from '../../../src/bank/api-pix/callbacks/incoming.ts';
import type { Desk } from '../../../src/bank/desk.ts';
import { Hands, type Outcome } from '../../../src/engine/claims/hands.ts';
import { Settler } from '../../../src/engine/claims/settler.ts';
import { type BankOrder, EMPTY_HEAD } from '../../../src/engine/journal.ts';
import { type Claim, type Due, dueAgain } from '../../../src/engine/store/due.ts';
import type { Store } from '../../../src/engine/store.ts';
import { freshWork } from '../../../src/jobs/fresh-work.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import type { Dispatcher } from '../../../src/webhooks/dispatcher.ts';
import { withFolder } from '../../faults/scene.ts';
import { but } from '../../support/but.ts';
import { sleep } from '../../support/wait.ts';
import { appendAfter, cashoutCreated, chargeCreated, grow, iso } from '../contract/builders.ts';
import { storeOptions, WRITTEN_MS, withStore } from './opened.ts';

const test = suite('a clock that is set');

const AT = Date.UTC(2026, 0, 5, 12);
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** Has a charge of an hour made by a clock that is a year ahead, and brought back; `then` before the store is closed. */
async function broughtBack(folder: string, then: () => Promise<void> = async () => {}): Promise<void> {
  let now = AT + YEAR_MS;
  const store = await openLmdbStore(storeOptions(folder, () => now));
  try {
    const timers = [{ name: 'EXPIRE', at: iso(now + HOUR_MS) }];
    await grow(store, randomUUID(), [chargeCreated(now, { timers })]);
    await sleep(WRITTEN_MS);
    now = AT;
    assert.is(await store.due.rewind(now), 1);
    await then();
  } finally {
    await store.close();
  }
}

/** When the only timer is due by a clock that is right, as far as hours tell. */
function hoursUntilDue(folder: string): Promise<number> {
  const options = storeOptions(folder, () => AT);
  return withStore(options, async (store) => {
    for (let hours = 0; hours <= 24; hours += 1)
      if ((await store.due.claim('timer', AT + hours * HOUR_MS, 10)).length > 0) return hours;
    return Number.POSITIVE_INFINITY;
  });
}

test('where they are made anew', async () => {
  await withFolder(async (folder) => {
    await broughtBack(folder);
    await rm(`${folder}/pixstate.projections`);
    assert.is(await hoursUntilDue(folder), 1);
  });
});

test('where a kill comes right after it was brought back', async () => {
  await withFolder(async (folder) => {
    const remains = `${folder}-remains`;
    try {
      await broughtBack(folder, () => cp(folder, remains, { recursive: true }));
      assert.is(await hoursUntilDue(remains), 1);
    } finally {
      await rm(remains, { recursive: true, force: true });
    }
  });
});

test('what the bank does in hours stays so, where the log is taken up and where a clock is set back', async () => {
  await withFolder(async (folder) => {
    let now = AT;
    const store = await openLmdbStore(storeOptions(folder, () => now));
    const step = AT + 24 * HOUR_MS;
    try {
      const orders: BankOrder[] = [{ kind: 'wake', step: 0, at: iso(step) }];
      await grow(store, randomUUID(), [chargeCreated(now, { orders })]);
    } finally {
      await store.close();
    }
    await rm(`${folder}/pixstate.projections`);
    const dueAt = (at: number) =>
      withStore(
        storeOptions(folder, () => now),
        async (again) => {
          await again.due.rewind(now);
          return [await again.due.claim('bank', at - 1, 10), await again.due.claim('bank', at, 10)].map(
            ({ length }) => length,
          );
        },
      );
    assert.equal(await dueAt(step), [0, 1], 'its order is as far ahead as it was made');
    now = AT - 2 * HOUR_MS;
    assert.equal(await dueAt(step - 2 * HOUR_MS), [0, 1], 'and follows the clock');
  });
});

/**
 * How much is due within a minute, of what a clock that was an hour ahead made: it is set right once that is decided,
 * and before the store has it.
 */
async function dueSoon(
  make: (store: Store, clock: { ms: number }) => Promise<() => Promise<unknown>>,
): Promise<number> {
  let count = 0;
  await withFolder(async (folder) => {
    const clock = { ms: AT + HOUR_MS };
    const options = storeOptions(folder, () => clock.ms);
    await withStore(options, async (store) => {
      const write = await make(store, clock);
      const written = write();
      // What is decided is decided by then, and its write has not begun.
      await Promise.resolve();
      clock.ms = AT;
      await written;
      await store.due.rewind(AT);
      const kinds = ['bank', 'timer'] as const;
      for (const kind of kinds) count += (await store.due.claim(kind, AT + 60_000, 10)).length;
    });
  });
  return count;
}

test('what is made due while the clock is set back is due as soon as it was to be: an order that failed', async () => {
  const count = await dueSoon(async (store, clock) => {
    const now = (): number => clock.ms;
    await grow(store, randomUUID(), [cashoutCreated(now(), { orders: [{ kind: 'payout' }] })]);
    const claims = await store.due.claim('bank', now(), 10);
    const settler = new Settler(store.due, () => assert.unreachable());
    const work = async ({ claim: { due } }: { claim: Claim }): Promise<Outcome> => {
      return { next: dueAgain(due, now() + 1_000, 1) };
    };
    const hands = new Hands({ settler, most: 10, atOnce: 10, now, work });
    return () => hands.take(claims.map((claim) => ({ claim })));
  });
  assert.is(count, 1);
});

test('the same of a question that a callback leaves', async () => {
  const count = await dueSoon(async ({ journal, due, ...store }, clock) => {
    const charge = chargeCreated(clock.ms);
    await grow({ journal, due, ...store }, randomUUID(), [charge]);
    const record = await journal.transaction(charge.transaction);
    if (record === null) throw new Error('there is no charge');
    return () => askAbout({ due, now: () => clock.ms }, [{ record, payment: 'E1' }]);
  });
  assert.is(count, 1);
});

test('the same of a batch of an account whose time is a millisecond ahead', async () => {
  const count = await dueSoon(async (store, clock) => {
    const cashout = cashoutCreated(clock.ms + 1, { orders: [{ kind: 'payout' }] });
    const instead = (due: Due): Due => ({ ...due, at: due.at - 1, ahead: 1 });
    const append = appendAfter(randomUUID(), EMPTY_HEAD, [cashout], { instead });
    return () => {
      clock.ms = AT;
      return store.journal.append(append);
    };
  });
  assert.is(count, 1);
});

test('the same of a timer that was due from its beginning, and is left to a sweep', async () => {
  const count = await dueSoon(async (store, clock) => {
    const at = clock.ms;
    const charge = chargeCreated(at, { timers: [{ name: 'EXPIRE', at: iso(at) }] });
    const { claims } = await grow(store, randomUUID(), [charge], { claimUntil: at });
    assert.is(claims.length, 1);
    const settled: Promise<unknown>[] = [];
    const due = but(store.due, {
      settle: (settlements) => {
        const written = store.due.settle(settlements);
        settled.push(written);
        return written;
      },
    });
    const idle = {} as unknown as Desk & Dispatcher;
    const fresh = freshWork(due, idle, idle, () => assert.unreachable());
    return () => {
      clock.ms = AT;
      fresh.takeUp({ account: claims[0]?.due.account ?? '', claims, taken: [] });
      return Promise.all(settled);
    };
  });
  assert.is(count, 1);
});

test.run();
