/** An order's turn at the desk: when the next one comes, and what ends it. Payouts have a file of their own. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Desk, type DeskOptions } from '../../src/bank/desk.ts';
import { type Attempt, BANK_PACE, BankNotBegun, BankRefused } from '../../src/engine/bank.ts';
import type { BankOrder } from '../../src/engine/journal.ts';
import type { Settlement } from '../../src/engine/store.ts';
import { later, turn } from '../../src/waiting.ts';

const test = suite('desk');

const NOW = Date.UTC(2026, 0, 5, 12);
const REFUND = { kind: 'refund', refundId: 'r' } as const;
const ASK = { kind: 'ask' } as const;

interface Answer {
  messages: { id: string }[];
  wakeInMs: number | null;
}

interface Turn {
  order: BankOrder;
  /** When it was due. */
  at?: number;
  tries?: number;
}

interface Case {
  /** Whether the bank takes an order again and again, as the sandbox does. */
  canRepeatSubmit?: boolean;
  /** What the bank answers. */
  says?(attempt?: Attempt): Answer;
  /** How the refund stands, before and after what the bank says. */
  status?: [string, string];
  /** Whether each settlement counts, while there is something here: another has the claim where it doesn't. */
  counts?: boolean[];
  /** The desk's clock that never steps. */
  elapsed?: { readonly ms: number };
}

/** A desk whose turns tell what is due instead of an order, what was booked, and the troubles that were told. */
function deskOf(given: Case) {
  const { canRepeatSubmit = false, elapsed = { ms: 0 } } = given;
  const [before, after] = given.status ?? ['pending', 'pending'];
  const says = given.says ?? (() => ({ messages: [], wakeInMs: null }));
  const told: string[] = [];
  const troubles: unknown[] = [];
  const settled: Settlement[] = [];
  const recordOf = (status: string) => ({
    ...{ id: 't', account: 'a', type: 'pix-in', messages: { known: 'digest' } },
    snapshot: { context: { 'refund:r': { status } } },
  });
  const parts = {
    journal: {
      read: async () => ({ transactions: [recordOf(before)] }),
      transaction: async () => recordOf(after),
    },
    due: {
      settle: async (some: Settlement[]) => {
        settled.push(...some);
        return some.map(() => given.counts?.shift() ?? true);
      },
      holds: async () => [true],
    },
    payments: { tell: async (_: unknown, { id }: { id: string }) => told.push(id) && { kind: 'applied' } },
    bank: {
      ...{ canRepeatSubmit, pace: BANK_PACE, query: async () => says().messages },
      refund: async (_: unknown, __: string, attempt: Attempt) => says(attempt),
    },
    ...{ engine: {}, now: () => NOW, elapsed: () => elapsed.ms, stuckAfterMs: 1 },
    onTrouble: (error: unknown) => troubles.push(error),
  };
  const desk = new Desk(parts as unknown as DeskOptions);
  const turned = async ({ order, at = NOW, tries = 0 }: Turn) => {
    const due = { kind: 'bank' as const, at, account: 'a', transaction: 't', tries, order };
    await desk.carryOut([{ token: '1', due }], false);
    const [{ next = null } = {}, ...others] = settled.splice(0);
    assert.is(others.length, 0);
    return { next: next?.kind === 'bank' ? next : null, told, troubles };
  };
  return { turned };
}

function throwNotBegun(): never {
  throw new BankNotBegun('no more');
}

function turned({ order, at, tries, ...given }: Turn & Case) {
  return deskOf(given).turned({
    order,
    ...(at !== undefined && { at }),
    ...(tries !== undefined && { tries }),
  });
}

test('a refund’s next turn comes after the bank’s wait, counted from now at a real bank', async () => {
  const says = (): Answer => ({ messages: [], wakeInMs: 5_000 });
  const due = { kind: 'bank', account: 'a', transaction: 't', tries: 0, order: { ...REFUND, turn: 1 } };
  for (const [canRepeatSubmit, at, next] of [
    [false, NOW - 60_000, NOW + 5_000],
    // Steps of the sandbox's stay in order after a pause.
    [true, NOW - 60_000, NOW - 55_000],
    [true, NOW + 60_000, NOW + 5_000],
  ] as const)
    assert.equal((await turned({ order: REFUND, at, tries: 3, canRepeatSubmit, says })).next, {
      ...due,
      at: next,
    });
});

test('a refund’s order ends with the refund, and comes again where an outcome wasn’t taken', async () => {
  const says = (): Answer => ({ messages: [{ id: 'done' }], wakeInMs: null });
  assert.equal(await turned({ order: REFUND, says, status: ['pending', 'completed'] }), {
    ...{ next: null, told: ['done'], troubles: [] },
  });
  const open = await turned({ order: REFUND, says, tries: 1 });
  assert.equal([open.next?.at, open.next?.tries], [NOW + 2 * BANK_PACE.firstMs, 2]);
  // One that has ended already isn't given to the bank.
  assert.equal(await turned({ order: REFUND, says, status: ['failed', 'failed'] }), {
    ...{ next: null, told: [], troubles: [] },
  });
});

test('a refund that ops have ended is asked about until the bank has, where its order may have been on its way', async () => {
  const status: [string, string] = ['failed', 'failed'];
  const asks: boolean[] = [];
  const goesOn = (attempt?: Attempt): Answer => {
    asks.push(attempt?.isFirst === false && attempt.refusedAt === null);
    return { messages: [], wakeInMs: 5_000 };
  };
  for (const given of [{ order: { ...REFUND, turn: 1 } }, { order: REFUND, tries: 1 }]) {
    const { next } = await turned({ ...given, says: goesOn, status });
    assert.equal([next?.at, next?.order], [NOW + 5_000, { ...REFUND, turn: given.tries ? 1 : 2 }]);
  }
  assert.equal(asks, [true, true]);
  const done = (): Answer => ({ messages: [{ id: 'done' }], wakeInMs: null });
  const told = await turned({ order: { ...REFUND, turn: 1 }, says: done, status });
  assert.equal(told, { next: null, told: ['done'], troubles: [] });
  // The bank may show only a moment later what was on its way.
  const elapsed = { ms: 0 };
  const desk = deskOf({ says: () => throwNotBegun(), status, elapsed });
  const first = await desk.turned({ order: REFUND, tries: 1 });
  const order = { ...REFUND, refusedAt: NOW };
  assert.equal([first.next?.at, first.next?.order], [NOW + BANK_PACE.refusalMs, order]);
  elapsed.ms = BANK_PACE.refusalMs;
  assert.equal(await desk.turned({ order }), { next: null, told: [], troubles: [] });
});

/** What reaches the bank of a refund that waits for its turn, in hand since its commit, while ops end it. */
async function orderedAfterItsEnd(isFresh: boolean): Promise<string[]> {
  const calls: string[] = [];
  const held = later<void>();
  let status = 'pending';
  const parts = {
    journal: {
      read: async () => ({
        transactions: [
          {
            id: 't',
            account: 'a',
            type: 'pix-in',
            messages: {},
            snapshot: { context: { 'refund:r': { status } } },
          },
        ],
      }),
    },
    due: { settle: async () => [true], holds: async () => [true] },
    bank: {
      ...{ canRepeatSubmit: false, pace: { ...BANK_PACE, callsAtOnce: 1 } },
      query: async () => {
        calls.push('asked');
        await held.promise;
        return [{ id: 'news' }];
      },
      refund: async () => calls.push('ordered'),
    },
    payments: { tell: async () => ({ kind: 'applied' }) },
    ...{ engine: {}, now: () => NOW, elapsed: () => 0, stuckAfterMs: 1 },
    onTrouble: (error: unknown) => assert.unreachable(String(error)),
  };
  const desk = new Desk(parts as unknown as DeskOptions);
  const claims = [ASK, REFUND].map((order, index) => {
    const due = { kind: 'bank' as const, at: NOW, account: 'a', transaction: 't', tries: 0, order };
    return { token: String(index), due };
  });
  const all = desk.carryOut(claims, isFresh);
  await turn();
  status = 'failed';
  held.resolve();
  await all;
  return calls;
}

test('a refund that ops end while it waits for its turn isn’t ordered', async () => {
  for (const isFresh of [true, false]) assert.equal(await orderedAfterItsEnd(isFresh), ['asked']);
});

test('a refused refund is asked about once the refusal has stood for its time, whatever the clock shows', async () => {
  const seen: (number | null)[] = [];
  const says = (attempt?: Attempt): Answer => {
    seen.push(attempt?.refusedAt ?? null);
    throw new BankRefused('no');
  };
  const elapsed = { ms: 0 };
  const desk = deskOf({ says, elapsed });
  const { next, troubles } = await desk.turned({ order: REFUND });
  const order = { ...REFUND, refusedAt: NOW };
  assert.equal([next?.at, next?.order, troubles], [NOW + BANK_PACE.refusalMs, order, []]);
  for (const [ms, leftMs] of [
    [1, BANK_PACE.refusalMs - 1],
    [BANK_PACE.refusalMs - 1, 1],
  ] as const) {
    elapsed.ms = ms;
    const early = await desk.turned({ order });
    assert.equal([early.next?.at, early.next?.order], [NOW + leftMs, order]);
  }
  elapsed.ms = BANK_PACE.refusalMs;
  // Who didn't hear the refusal lets it stand for as long.
  const other = await deskOf({ says, elapsed }).turned({ order });
  assert.is(other.next?.at, NOW + BANK_PACE.refusalMs);
  assert.equal(seen, [null]);
  await desk.turned({ order });
  assert.equal(seen, [null, NOW]);
});

test('whatever goes wrong is told, and tried again later each time', async () => {
  const lost = new Error('lost');
  const says = (): Answer => {
    throw lost;
  };
  for (const [tries, waitMs] of [
    [0, 1_000],
    [2, 4_000],
    [9, 60_000],
  ] as const) {
    const { next, troubles } = await turned({ order: REFUND, tries, says });
    assert.equal([next?.at, next?.tries, troubles], [NOW + waitMs, tries + 1, [lost]]);
  }
});

test('a question comes again until the bank says something new, three times at the most', async () => {
  const told = (...ids: string[]) => ({
    order: ASK,
    says: () => ({ messages: ids.map((id) => ({ id })), wakeInMs: null }),
  });
  for (const asked of [told(), told('known')]) {
    const { next } = await turned(asked);
    assert.equal(next?.order, { ...ASK, turn: 1 });
    assert.is((await turned({ ...asked, order: { ...ASK, turn: 3 } })).next, null);
  }
  assert.equal(await turned(told('known', 'new')), { next: null, told: ['known', 'new'], troubles: [] });
});

test('a question waits only where that was written: another may have its claim, and be at its end', async () => {
  const waits = { ...ASK, turn: 1 };
  for (const isOurs of [true, false]) {
    const desk = deskOf({ counts: [isOurs] });
    assert.equal((await desk.turned({ order: ASK })).next?.order, waits);
    // A new hint at the same: where nothing waits, it does.
    const { next } = await desk.turned({ order: ASK });
    assert.equal(next?.order, isOurs ? undefined : waits);
  }
});

test.run();
