/** How long an expired charge waits for payments on their way, what becomes of a timer, and of a crowd of them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BankOutcomeUnknown } from '../../src/engine/bank.ts';
import { broughtBackBy, type ClaimOf, type DueTimer } from '../../src/engine/store/due.ts';
import type { AttentionItem, Settlement } from '../../src/engine/store.ts';
import { Timers } from '../../src/jobs/timers.ts';
import { later, turn } from '../../src/waiting.ts';
import { until } from '../support/wait.ts';

const test = suite('timers');

const EXPIRED = Date.UTC(2026, 0, 5, 12);
const GRACE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Fires the timer of a charge that has expired, as dated by a clock that was so far ahead; when it is due again. */
async function fired(afterMs: number, ahead: number): Promise<number | null> {
  const at = new Date(EXPIRED + ahead).toISOString();
  const snapshot = { value: 'waiting_payment', context: { expiresAt: at } };
  const record = { id: 't', type: 'pix-in', final: false, timers: [{ name: 'EXPIRE', at }], snapshot };
  const settled: Settlement[] = [];
  const parts = {
    journal: { transaction: async () => record },
    due: { settle: async (some: Settlement[]) => settled.push(...some) },
    bank: { canBeAsked: false, pace: { expiryGraceMs: GRACE_MS } },
    engine: { send: async () => ({ kind: 'applied' }) },
    ...{
      payments: {},
      now: () => EXPIRED + afterMs,
      onTrouble: (error: unknown) => assert.unreachable(String(error)),
    },
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const parties = { account: 'acc_a', transaction: 't', name: 'EXPIRE', tries: 0 };
  const due = { kind: 'timer' as const, ...parties, at: EXPIRED, ...(ahead > 0 && { ahead }) };
  await timers.fireAll([{ token: '1', due }]);
  assert.is(settled.length, 1);
  return settled[0]?.next?.at ?? null;
}

test('it waits its grace, and no longer', async () => {
  assert.is(await fired(1_000, 0), EXPIRED + GRACE_MS);
  assert.is(await fired(GRACE_MS, 0), null);
});

test('nor does one that a clock dated which was a year ahead', async () => {
  const year = 365 * 24 * 3_600_000;
  assert.is(await fired(1_000, year), EXPIRED + GRACE_MS);
  assert.is(await fired(GRACE_MS, year), null);
});

interface Case {
  canBeAsked?: boolean;
  /** Null: nobody knows the transaction. */
  record?: { final: boolean; timers: object[] } | null;
  /** What the engine answers to the timer. */
  answer?: { kind: string; at?: number };
  fails?: Error;
}

const WAITS = { final: false, timers: [{ name: 'EXPIRE' }] };

/** Fires a timer of a transaction; what was done in order, and what the store was told of the claim. */
async function outcome({ canBeAsked = true, record = WAITS, answer, fails }: Case) {
  const done: string[] = [];
  const ends: (object | null)[] = [];
  const parts = {
    journal: { transaction: async () => record && { id: 't', type: 'cashout', ...record } },
    due: {
      settle: async (some: Settlement[]) => ends.push(...some.map(({ next }) => next)),
      park: async (claims: object[]) => done.push(...claims.map(() => 'parked')),
    },
    bank: {
      ...{ canBeAsked, pace: { expiryGraceMs: 0, firstMs: 1_000, longestMs: 60_000 } },
      query: async () => {
        done.push('asked');
        return [{ id: '1' }, { id: '2' }];
      },
    },
    payments: { tell: async (_: unknown, { id }: { id: string }) => done.push(`told ${id}`) },
    engine: {
      send: async () => {
        done.push('fired');
        if (fails !== undefined) throw fails;
        return answer ?? { kind: 'applied' };
      },
    },
    now: () => EXPIRED,
    onTrouble: (error: unknown) => done.push(String(error)),
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const due = {
    kind: 'timer' as const,
    at: EXPIRED,
    account: 'a',
    transaction: 't',
    name: 'EXPIRE',
    tries: 2,
  };
  await timers.fireAll([{ token: '1', due }]);
  return { done, ends, due };
}

test('what the bank knows is booked before the timer fires, where it can be asked and something waits', async () => {
  assert.equal((await outcome({})).done, ['asked', 'told 1', 'told 2', 'fired']);
  const unasked: Case[] = [
    { canBeAsked: false },
    { record: null },
    { record: { final: true, timers: WAITS.timers } },
    { record: { final: false, timers: [] } },
  ];
  for (const each of unasked) assert.equal((await outcome(each)).done, ['fired'], JSON.stringify(each));
});

const OVER = { final: false, timers: [{ name: 'EXPIRE' }], account: 'acc_a', updatedAt: 'then' };

/** What ops hear of a charge, past its time by so much, whose question to the bank fails. */
async function noted(pastMs: number, { fails = new Error('the bank answers 422'), isThere = true } = {}) {
  const items: AttentionItem[] = [];
  const context = { expiresAt: new Date(EXPIRED).toISOString(), amount: 700 };
  const record = { id: 't', type: 'pix-in', ...OVER, snapshot: { value: 'waiting_payment', context } };
  const settled: Settlement[] = [];
  const parts = {
    journal: { transaction: async () => record },
    due: { settle: async (some: Settlement[]) => settled.push(...some) },
    bank: {
      ...{ canBeAsked: true, reachable: () => isThere },
      pace: { expiryGraceMs: GRACE_MS, firstMs: 1_000, longestMs: 60_000 },
      query: () => Promise.reject(fails),
    },
    engine: {
      send: () => assert.unreachable('it fires unheard'),
      note: async (some: AttentionItem[]) => items.push(...some),
    },
    ...{ payments: {}, now: () => EXPIRED + GRACE_MS + pastMs, onTrouble: () => undefined },
    stuckAfterMs: 300_000,
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const parties = { account: 'acc_a', transaction: 't', name: 'EXPIRE', tries: 3 };
  await timers.fireAll([{ token: '1', due: { kind: 'timer' as const, ...parties, at: EXPIRED } }]);
  assert.is(settled[0]?.next?.kind, 'timer', 'it comes again');
  return items;
}

test('ops hear of a charge that the bank gives no answer about, once it has waited so long', async () => {
  assert.equal(await noted(299_999), []);
  const [item, ...others] = await noted(300_000);
  assert.equal(others, []);
  assert.equal(
    [item?.id, item?.code, item?.data, item?.amount, item?.since],
    [
      ...['expiring_t', 'EXPIRY_STUCK', { why: 'the bank answers 422' }, 700],
      new Date(EXPIRED + GRACE_MS).toISOString(),
    ],
  );
});

test('of a bank that is away, or has said itself what is wrong with its answer, no charge has an item', async () => {
  assert.equal(await noted(300_000, { isThere: false }), []);
  assert.equal(await noted(300_000, { fails: new BankOutcomeUnknown('a payment can’t be read') }), []);
});

test('a timer ends once it has fired, and comes again where it hasn’t', async () => {
  for (const kind of ['applied', 'repeated', 'unknown'])
    assert.equal((await outcome({ answer: { kind } })).ends, [null]);
  const early = await outcome({ answer: { kind: 'notYet', at: EXPIRED + 7 } });
  assert.equal(early.ends, [{ ...early.due, at: EXPIRED + 7 }]);
  const parked = await outcome({ answer: { kind: 'quarantined' } });
  assert.equal([parked.ends, parked.done.at(-1)], [[], 'parked']);
  const failed = await outcome({ fails: new Error('lost') });
  const own = { at: EXPIRED, ahead: 0 };
  assert.equal(failed.ends, [{ ...failed.due, at: EXPIRED + 4_000, ahead: 0, own, tries: 3 }]);
  assert.is(failed.done.at(-1), 'Error: lost');
});

interface Scene {
  ms: number;
  asked: number;
  isAway: boolean;
  due: DueTimer | null;
}

/**
 * A charge's timer, by a clock that the test sets: what it is due as next once it was fired, null where it has expired,
 * and how often its bank was asked. `graceMs` is the bank's, which may fail.
 */
function chargeOf(setAt: number, expiresAt: number, { graceMs = 0, ahead = 0 } = {}) {
  const parties = { account: 'acc_a', transaction: 't', name: 'EXPIRE', tries: 0 };
  const due: DueTimer | null = { kind: 'timer', ...parties, at: expiresAt - ahead, ahead };
  const scene: Scene = { ms: due.at, asked: 0, isAway: false, due };
  const context = { expiresAt: new Date(expiresAt).toISOString() };
  const waits = { ...WAITS, id: 't', type: 'pix-in', updatedAt: new Date(setAt).toISOString() };
  const record = { ...waits, snapshot: { value: 'waiting_payment', context } };
  const parts = {
    journal: { transaction: async () => record },
    due: {
      settle: async ([settlement]: Settlement[]) => {
        const next = settlement?.next ?? null;
        scene.due = next?.kind === 'timer' ? next : null;
      },
    },
    bank: {
      ...{ canBeAsked: true, reachable: () => false },
      pace: { expiryGraceMs: graceMs, firstMs: 1_000, longestMs: 60_000 },
      query: async () => {
        scene.asked += 1;
        if (scene.isAway) throw new Error('the bank is away');
        return [];
      },
    },
    engine: { send: async () => ({ kind: 'applied' }) },
    ...{ payments: {}, stuckAfterMs: HOUR_MS, now: () => scene.ms, onTrouble: () => undefined },
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const fire = async (): Promise<DueTimer | null> => {
    assert.ok(scene.due);
    await timers.fireAll([{ token: '1', due: scene.due }]);
    return scene.due;
  };
  /** Sets the clock back, or forward, and what is due goes with it, as it does in the store. */
  const setBack = (ms: number): void => {
    scene.ms -= ms;
    scene.due = scene.due && broughtBackBy(scene.due, ms);
  };
  return { scene, fire, setBack };
}

for (const [why, graceMs] of [
  ['for want of the bank’s answer', 0],
  ['for its grace', GRACE_MS],
] as const)
  test(`one that was put off ${why} while the clock was ahead waits for its own time once that is right`, async () => {
    const { scene, fire, setBack } = chargeOf(EXPIRED - HOUR_MS, EXPIRED, { graceMs });
    scene.isAway = true;
    const put = await fire();
    assert.is(put?.at, EXPIRED + (graceMs || 1_000));
    setBack(HOUR_MS / 2);
    scene.ms += graceMs || 1_000;
    assert.is(scene.due?.at, scene.ms, 'it is looked at as soon as it would have been');
    const asked = scene.asked;
    const given = await fire();
    assert.equal([given?.at, given?.ahead, given?.own], [EXPIRED, 0, undefined]);
    assert.is(scene.asked, asked, 'the bank is not asked before');
    scene.isAway = false;
    scene.ms = EXPIRED + graceMs;
    assert.is(await fire(), null);
  });

test('one that the wrong clock had set itself, and put off, has come, and waits its grace at the most', async () => {
  const { scene, fire, setBack } = chargeOf(EXPIRED - 60_000, EXPIRED, { graceMs: GRACE_MS });
  scene.isAway = true;
  await fire();
  setBack(2 * HOUR_MS);
  scene.ms += GRACE_MS;
  const again = await fire();
  assert.equal([scene.asked, again?.at], [1, scene.ms + 1_000], 'its grace is over');
  scene.isAway = false;
  scene.ms += 1_000;
  assert.is(await fire(), null);
});

test('nor does it wait for longer where it was in hand while that clock was set right', async () => {
  const { scene, fire } = chargeOf(EXPIRED - 60_000, EXPIRED, { graceMs: GRACE_MS });
  scene.ms -= 2 * HOUR_MS;
  assert.is((await fire())?.at, scene.ms + GRACE_MS);
  scene.ms += GRACE_MS;
  assert.is(await fire(), null);
});

test('one that is put off by a clock that is behind has its grace once that is right', async () => {
  const ahead = 2 * HOUR_MS;
  const { scene, fire, setBack } = chargeOf(EXPIRED - HOUR_MS, EXPIRED, { graceMs: GRACE_MS, ahead });
  assert.is((await fire())?.at, scene.ms + GRACE_MS);
  setBack(-ahead);
  assert.is(scene.ms, EXPIRED);
  assert.is((await fire())?.at, EXPIRED + GRACE_MS);
  scene.ms = EXPIRED + GRACE_MS;
  assert.is(await fire(), null);
});

/**
 * A crowd's scene: spare time comes where the test gives it; the transactions whose timers have fired, in order. `clock`
 * is what the clock shows, and `setAt` what it showed when the timers were set, ms.
 */
function crowdOf(isAlone: boolean, { clock = { ms: EXPIRED }, setAt = EXPIRED - HOUR_MS } = {}) {
  const updatedAt = new Date(setAt).toISOString();
  const fired: string[] = [];
  const pieces: (() => Promise<unknown>)[] = [];
  /** For how many times as long as a piece took callers have the thread, at the most, before each. */
  const times: number[] = [];
  const settled: Settlement[] = [];
  const parts = {
    journal: { transaction: async (id: string) => ({ id, type: 'cashout', ...WAITS, updatedAt }) },
    due: { settle: async (some: Settlement[]) => settled.push(...some) },
    bank: { canBeAsked: false, pace: { expiryGraceMs: 0 } },
    engine: {
      send: async (_: string, { transaction }: { transaction: string }) => {
        fired.push(transaction);
        return { kind: 'applied' };
      },
    },
    spareTime: {
      isAlone,
      take: (piece: () => Promise<unknown>, mostTimes: number) => {
        times.push(mostTimes);
        const { promise, resolve } = later<unknown>();
        pieces.push(() => piece().then(resolve));
        return promise;
      },
    },
    ...{
      payments: {},
      now: () => clock.ms,
      onTrouble: (error: unknown) => assert.unreachable(String(error)),
    },
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const claims = (from: number, to: number, account = 'acc_a'): ClaimOf<'timer'>[] =>
    Array.from({ length: to - from }, (_, nth) => {
      const parties = { account, transaction: String(from + nth), name: 'EXPIRE', tries: 0 };
      return { token: String(from + nth), due: { kind: 'timer', ...parties, at: EXPIRED } };
    });
  /** Gives time for one piece; how many have fired by its end. */
  const give = async (): Promise<number> => {
    await pieces.shift()?.();
    await turn();
    return fired.length;
  };
  return { timers, claims, give, fired, settled, times };
}

test('of a crowd the first ones fire at once, and the others in order, piece by piece, in spare time', async () => {
  const { timers, claims, give, fired, settled } = crowdOf(false);
  const all = timers.fireAll(claims(0, 300));
  await turn();
  assert.is(fired.length, 256);
  assert.is(timers.room.taken, 300);
  await until(() => settled.length === 256, 5_000, 'the end of the first ones');
  // What comes while there is a crowd goes behind it.
  const others = timers.fireAll(claims(300, 350));
  let isIdle = false;
  const idle = timers.idle().then(() => {
    isIdle = true;
  });
  assert.equal([await give(), await give(), isIdle], [288, 320, false]);
  assert.is(await give(), 350);
  await Promise.all([all, others, idle]);
  assert.equal(
    fired,
    [...Array(350).keys()].map((nth) => String(nth)),
  );
  assert.equal([timers.room.taken, settled.length], [0, 350]);
});

test('while nobody calls, the pieces are larger', async () => {
  const { timers, claims, give } = crowdOf(true);
  const all = timers.fireAll(claims(0, 556));
  await turn();
  assert.equal([await give(), await give()], [512, 556]);
  await all;
});

test('who has one timer due isn’t behind another’s crowd', async () => {
  const { timers, claims, give, fired } = crowdOf(false);
  const all = [timers.fireAll(claims(0, 400)), timers.fireAll(claims(400, 401, 'acc_b'))];
  await turn();
  assert.not(fired.includes('400'));
  assert.is(timers.earliest, EXPIRED);
  assert.is(await give(), 288);
  assert.ok(fired.includes('400'), 'it is in the next piece');
  for (let count = 288; count < 401; ) count = await give();
  await Promise.all(all);
  assert.equal([timers.room.taken, timers.earliest], [0, Number.POSITIVE_INFINITY]);
});

test('what waits in hand when a clock that was ahead is set right waits for its time', async () => {
  const clock = { ms: EXPIRED };
  const { timers, claims, give, fired, settled } = crowdOf(false, { clock });
  const all = timers.fireAll(claims(0, 288));
  await turn();
  assert.is(fired.length, 256);
  clock.ms -= HOUR_MS;
  await give();
  await all;
  assert.is(fired.length, 256);
  const given = settled.slice(256);
  // By the clock as it is now: nothing brings them back.
  assert.equal(
    given.map(({ next, clock }) => [next?.at, clock]),
    given.map(() => [EXPIRED, EXPIRED - HOUR_MS]),
  );
  assert.is(given.length, 32);
});

test('what that clock had set itself fires, and so it is where it was set back by a moment', async () => {
  for (const [backMs, setAt] of [
    [HOUR_MS, EXPIRED - 60_000],
    [900, EXPIRED - HOUR_MS],
  ] as const) {
    const clock = { ms: EXPIRED };
    const { timers, claims, give, fired } = crowdOf(false, { clock, setAt });
    const all = timers.fireAll(claims(0, 288));
    await turn();
    clock.ms -= backMs;
    await give();
    await all;
    assert.is(fired.length, 288, `back by ${backMs} ms`);
  }
});

test('the longer a crowd lasts the less of the time is callers’, down to a half', async () => {
  const { timers, claims, give, times } = crowdOf(false);
  let ms = 1_000;
  Object.defineProperty(performance, 'now', { value: () => ms, configurable: true });
  try {
    const all = timers.fireAll(claims(0, 256 + 5 * 32));
    await turn();
    for (const after of [1_000, 3_000, 15_000, 60_000]) {
      ms = 1_000 + after;
      await give();
    }
    await give();
    await all;
    assert.equal(times, [60, 60, 20, 4, 1]);
    const next = timers.fireAll(claims(500, 757));
    await turn();
    await give();
    await next;
    assert.is(times.at(-1), 60, 'the next crowd begins anew');
  } finally {
    Reflect.deleteProperty(performance, 'now');
  }
});

test('there is room for one account’s crowd and others’ timers, less where claims are renewed', async () => {
  const { timers, claims, give } = crowdOf(true);
  assert.is(timers.room.free, 32_768);
  const all = timers.fireAll(claims(0, 20_000));
  assert.is(timers.room.free, 12_768);
  await turn();
  for (let count = 0; count < 20_000; ) count = await give();
  await all;
  const parts = { due: {}, isShared: true } as unknown;
  assert.is(new Timers(parts as ConstructorParameters<typeof Timers>[0]).room.free, 8_192);
});

test('what hasn’t begun when it is closed fires no more', async () => {
  const { timers, claims, give, fired, settled } = crowdOf(false);
  const all = timers.fireAll(claims(0, 300));
  await turn();
  const closed = timers.close();
  await give();
  await give();
  await Promise.all([all, closed]);
  assert.equal([fired.length, settled.length, timers.room.taken], [256, 256, 0]);
});

test.run();
