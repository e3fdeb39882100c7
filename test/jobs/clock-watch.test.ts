/** What a process makes of a clock that is set, and what it puts down of it for the one that comes after it. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Due } from '../../src/engine/store/due.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { ClockWatch, putClockDown } from '../../src/jobs/clock-watch.ts';
import { randomOf } from '../faults/scene.ts';
import { chargeCreated, grow, iso } from '../store/contract/builders.ts';
import { expectRejection } from '../support/expect.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('the watch over the clock');

const START = Date.UTC(2026, 0, 5, 12);
const HOUR_MS = 3_600_000;

/** A store with its clock; `watch` begins another process's watch over that. */
function watched() {
  const clock = { ms: START };
  const now = (): number => clock.ms;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const notices: string[] = [];
  const watch = (): ClockWatch =>
    new ClockWatch({ store, now, engine: { checkClock() {} }, onNotice: (text) => notices.push(text) });
  return { clock, now, store, notices, watch };
}

test('a clock that was set forward is put down at once: who dies soon after leaves things of that time', async () => {
  const { clock, notices, watch } = watched();
  const before = watch();
  await before.look();
  clock.ms += HOUR_MS;
  await before.look();
  clock.ms = START;
  await watch().look();
  assert.is(notices.length, 1);
  assert.match(notices[0] ?? '', /set back by 3600 s/);
});

test('a charge does not expire before its time because the clock was behind for a while', async () => {
  const { clock, now, store, notices, watch } = watched();
  const at = START + HOUR_MS;
  await grow(store, randomUUID(), [chargeCreated(START, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
  const first = watch();
  await first.look();
  // Set right while it runs, and while nothing runs.
  for (const begin of [() => first, watch]) {
    clock.ms = START - 24 * HOUR_MS;
    await first.look();
    clock.ms = START + 60_000;
    const next = begin();
    const times = await Promise.all([next.followed(), next.followed()]);
    assert.equal(times, [now(), now()]);
    assert.equal(await store.due.claim('timer', at - 1, 10), []);
  }
  assert.match(notices.at(-1) ?? '', /went forward by 86460 s/);
  assert.is((await store.due.claim('timer', at, 10)).length, 1);
});

/** A charge of a day, which an hour later a clock that was set back a day has made due as long as that earlier. */
async function broughtBack() {
  const around = watched();
  const { clock, store, watch } = around;
  const at = START + 24 * HOUR_MS;
  await grow(store, randomUUID(), [chargeCreated(START, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
  const first = watch();
  await first.look();
  clock.ms -= 24 * HOUR_MS;
  const isDueAtLast = async (): Promise<void> => {
    assert.equal(await store.due.claim('timer', at - 1, 10), []);
    assert.is((await store.due.claim('timer', at, 10)).length, 1);
  };
  return { ...around, first, isDueAtLast };
}

test('nor because it was behind a little more in between', async () => {
  const { clock, first, watch, isDueAtLast } = await broughtBack();
  const other = watch();
  await first.look();
  clock.ms += 20_000;
  for (const ms of [0, -2_000, 24 * HOUR_MS]) {
    clock.ms += ms;
    await other.look();
  }
  await isDueAtLast();
});

for (const steps of [
  [12, 12],
  [21, 3],
])
  test(`nor because it was set right in two steps of ${steps.join(' and ')} hours`, async () => {
    const { clock, first, isDueAtLast } = await broughtBack();
    await first.look();
    for (const hours of steps) {
      clock.ms += hours * HOUR_MS;
      await first.look();
    }
    await isDueAtLast();
  });

for (const isRight of [true, false])
  test(`nor because its process died amid that, ${isRight ? 'and the clock was right then' : 'and the next one had it'}`, async () => {
    const { clock, store, first, watch, isDueAtLast } = await broughtBack();
    const { putMark } = store.marks;
    // Killed before the time is put down.
    store.marks.putMark = async (name, text) => {
      if (name === 'clock') throw new StoreUnavailable('killed');
      return putMark(name, text);
    };
    await expectRejection(first.look(), StoreUnavailable);
    store.marks.putMark = putMark;
    const next = watch();
    clock.ms += 20_000;
    if (!isRight) await next.look();
    clock.ms += 24 * HOUR_MS;
    await (isRight ? watch() : next).look();
    await isDueAtLast();
  });

test('nor because it was set right in steps after it had rightly been set back by more', async () => {
  const { clock, store, watch } = watched();
  clock.ms = START + 24 * HOUR_MS;
  const [first, second] = [watch(), watch()];
  const both = async (): Promise<void> => {
    for (const each of [first, second]) await each.look();
  };
  await both();
  clock.ms = START;
  await both();
  const at = clock.ms + 2 * HOUR_MS;
  const timers = [{ name: 'EXPIRE', at: iso(at) }];
  for (const _ of [1, 2]) await grow(store, randomUUID(), [chargeCreated(clock.ms, { timers })]);
  const isDueAt = async (ms: number): Promise<void> => {
    assert.equal(await store.due.claim('timer', ms - 1, 1), []);
    assert.is((await store.due.claim('timer', ms, 1)).length, 1);
  };
  for (const hours of [-5, 1]) {
    clock.ms += hours * HOUR_MS;
    await both();
  }
  // However many saw the step, it puts off by as much once.
  await isDueAt(at - 4 * HOUR_MS);
  for (const hours of [2, 2]) {
    clock.ms += hours * HOUR_MS;
    await both();
  }
  await isDueAt(at);
});

/** Has a time of its own go by that no step changes. */
async function inOwnTime(body: (goesBy: (ms: number) => void) => Promise<void>): Promise<void> {
  const { now } = performance;
  let ms = now.call(performance);
  performance.now = () => ms;
  try {
    await body((by) => {
      ms += by;
    });
  } finally {
    performance.now = now;
  }
}

const LIFE_MS = 15 * 60_000;

/**
 * Two processes and a clock that goes behind and forward again in steps of any size, and any order, while charges are
 * made that the right clock dates; processes end and others begin, and a step's work fails in the middle.
 */
async function setInSteps(seed: number): Promise<number> {
  const random = randomOf(seed);
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  let expired = 0;
  await inOwnTime(async (goesBy) => {
    const { clock, store, watch } = watched();
    const watches: [ClockWatch, ClockWatch] = [watch(), watch()];
    const born = new Map<string, number>();
    const { unwind } = store.due;
    let [lived, behind] = [0, 0];
    for (let step = 0; step < 400; step += 1) {
      const ms = pick([1_000, 1_000, 5_000, 20_000]);
      lived += ms;
      goesBy(ms);
      const by = pick([2_000, 60_000, HOUR_MS, 2 * HOUR_MS]);
      if (random() < 0.1) behind = pick([0, behind + by, Math.max(0, behind - by)]);
      clock.ms = START + lived - behind;
      if (random() < 0.05) watches[pick([0, 1])] = watch();
      // A process that doesn't look for a while claims nothing, either.
      for (const each of random() < 0.8 ? watches : [pick(watches)]) {
        const fails = random() < 0.1;
        if (fails)
          store.due.unwind = (forward) =>
            unwind.call(store.due, forward).then(() => Promise.reject(new StoreUnavailable('amid')));
        await each.look().catch(() => {});
        store.due.unwind = unwind;
        const due = await store.due.claim('timer', await each.followed(), 100);
        await store.due.settle(due.map((claim) => ({ claim, next: null })));
        for (const {
          due: { transaction },
        } of due) {
          const age = lived - (born.get(transaction) ?? 0);
          assert.ok(age >= LIFE_MS - 1_000, `seed ${seed}: expired after ${age} ms of ${LIFE_MS}`);
        }
        expired += due.length;
      }
      if (behind > 0) continue;
      const timers = [{ name: 'EXPIRE', at: iso(clock.ms + LIFE_MS) }];
      const charge = chargeCreated(clock.ms, { timers });
      born.set(charge.transaction, lived);
      await grow(store, randomUUID(), [charge]);
    }
  });
  return expired;
}

test('nor whatever it is set by in steps, and whoever sees them, or dies amid that', async () => {
  for (let seed = 1; seed <= 14; seed++) assert.ok((await setInSteps(seed)) > 0, `seed ${seed}`);
});

test('nor because a former build had put down that the clock was set back', async () => {
  const { clock, store, first, watch, isDueAtLast } = await broughtBack();
  await first.look();
  await store.marks.putMark('clock set back', JSON.stringify({ since: clock.ms, forward: 0, isDone: true }));
  const next = watch();
  for (const hours of [0, 12, 12]) {
    clock.ms += hours * HOUR_MS;
    await next.look();
  }
  await isDueAtLast();
});

test('what was rightly set back stays so where a process dies amid a little more, hours later', async () => {
  await inOwnTime(async (goesBy) => {
    const { clock, store, watch } = watched();
    clock.ms = START + 24 * HOUR_MS;
    const first = watch();
    await first.look();
    const timers = [{ name: 'EXPIRE', at: iso(clock.ms + 12 * HOUR_MS) }];
    await grow(store, randomUUID(), [chargeCreated(clock.ms, { timers })]);
    clock.ms = START;
    await first.look();
    goesBy(2 * HOUR_MS);
    clock.ms += 2 * HOUR_MS - 2_000;
    const { putMark } = store.marks;
    store.marks.putMark = () => Promise.reject(new StoreUnavailable('killed'));
    await expectRejection(first.look(), StoreUnavailable);
    store.marks.putMark = putMark;
    await watch().look();
    assert.is((await store.due.claim('timer', START + 12 * HOUR_MS, 1)).length, 1);
  });
});

/** A charge that a clock two hours behind brought back comes when it is due, whoever sees which of the steps. */
for (const [what, happens] of [
  [
    'one of two processes saw the first alone',
    async ({ watch, set }) => {
      const [one, other] = [watch(), watch()];
      const looks = async (...watches: ClockWatch[]) => {
        for (const each of watches) await each.look();
      };
      await looks(one, other);
      set(-2 * HOUR_MS);
      await looks(one, other);
      set(HOUR_MS);
      await looks(one);
      set(HOUR_MS);
      await looks(other, one);
    },
  ],
  [
    'who followed the first died before it put that down',
    async ({ store, watch, set }) => {
      const first = watch();
      await first.look();
      set(-2 * HOUR_MS);
      await first.look();
      const { putMark } = store.marks;
      store.marks.putMark = (name, text) =>
        name === 'clock'
          ? Promise.reject(new StoreUnavailable('dead'))
          : putMark.call(store.marks, name, text);
      set(HOUR_MS);
      await expectRejection(first.look(), StoreUnavailable);
      store.marks.putMark = putMark;
      set(HOUR_MS);
      await watch().look();
    },
  ],
  [
    'the store was away while the first was followed',
    async ({ store, watch, set }) => {
      const first = watch();
      await first.look();
      set(-2 * HOUR_MS);
      await first.look();
      const { unwind } = store.due;
      store.due.unwind = () => Promise.reject(new StoreUnavailable('away'));
      set(HOUR_MS);
      await expectRejection(first.look(), StoreUnavailable);
      store.due.unwind = unwind;
      set(HOUR_MS);
      await first.look();
    },
  ],
  [
    'a command wrote before the next server saw them',
    async ({ store, now, watch, set }) => {
      const first = watch();
      await first.look();
      set(-2 * HOUR_MS);
      await first.look();
      set(2 * HOUR_MS);
      await putClockDown(store.marks, now());
      await watch().look();
    },
  ],
] satisfies [string, (around: ReturnType<typeof watched> & { set(ms: number): void }) => Promise<void>][])
  test(`no step is lost where ${what}`, async () => {
    const around = watched();
    const { clock, store } = around;
    const at = START + 6 * HOUR_MS;
    await grow(store, randomUUID(), [chargeCreated(START, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
    const set = (ms: number): void => {
      clock.ms += ms;
    };
    await happens({ ...around, set });
    assert.equal(await store.due.claim('timer', at - 1, 10), []);
    assert.is((await store.due.claim('timer', at, 10)).length, 1);
  });

for (const amid of ['unwind', 'putMark'] as const)
  test(`a step too far is undone where who followed it died ${amid === 'unwind' ? 'amid that' : 'before it put the time down'}`, async () => {
    const { clock, store, notices, watch } = watched();
    const at = START + 6 * HOUR_MS;
    await grow(store, randomUUID(), [chargeCreated(START, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
    const first = watch();
    await first.look();
    clock.ms -= 4 * HOUR_MS;
    await first.look();
    clock.ms += 3 * HOUR_MS;
    const { putMark } = store.marks;
    const { unwind } = store.due;
    const dead = (): Promise<never> => Promise.reject(new StoreUnavailable('dead'));
    if (amid === 'unwind') store.due.unwind = (forward) => unwind.call(store.due, forward).then(dead);
    else
      store.marks.putMark = (name, text) =>
        name === 'clock' ? dead() : putMark.call(store.marks, name, text);
    await expectRejection(first.look(), StoreUnavailable);
    Object.assign(store.due, { unwind });
    Object.assign(store.marks, { putMark });
    clock.ms -= HOUR_MS;
    await watch().look();
    assert.match(notices.at(-1) ?? '', /set back by 3600 s/);
    assert.equal(await store.due.claim('timer', at - 2 * HOUR_MS - 1, 10), []);
    assert.is((await store.due.claim('timer', at - 2 * HOUR_MS, 10)).length, 1);
  });

test('a command that writes without a server puts its clock down, but for one that is behind', async () => {
  const { clock, now, store, notices, watch } = watched();
  clock.ms += 24 * HOUR_MS;
  await putClockDown(store.marks, now());
  clock.ms -= HOUR_MS;
  await putClockDown(store.marks, now());
  clock.ms = START;
  await watch().look();
  assert.match(notices[0] ?? '', /set back by 86400 s/);
});

test('what was rightly set back stays so when it goes a little forward, or nothing ran for a while', async () => {
  const { clock, now, store, watch } = watched();
  clock.ms = START + 24 * HOUR_MS;
  const first = watch();
  await first.look();
  const at = clock.ms + HOUR_MS;
  await grow(store, randomUUID(), [chargeCreated(clock.ms, { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
  for (const ms of [-12 * HOUR_MS, 12 * HOUR_MS, -24 * HOUR_MS]) {
    clock.ms += ms;
    await first.look();
  }
  clock.ms += 2_000;
  await first.look();
  clock.ms += 60_000;
  await watch().look();
  assert.is((await store.due.claim('timer', now() + HOUR_MS, 10)).length, 1);
});

test('what the right clock makes due before a process has looked at it stays as it is', async () => {
  const { clock, now, store, watch } = watched();
  const before = watch();
  await before.look();
  clock.ms -= 2 * HOUR_MS;
  await before.look();
  // Set right while nothing runs.
  clock.ms += 2 * HOUR_MS + 120_000;
  const next = watch();
  const [ahead, due] = [HOUR_MS, now() + 60_000];
  const timers = [{ name: 'EXPIRE', at: iso(due + ahead) }];
  const instead = (thing: Due): Due => ({ ...thing, at: thing.at - ahead, ahead });
  await grow(store, randomUUID(), [chargeCreated(now() + ahead, { timers })], { instead });
  clock.ms += 1_000;
  await next.look();
  assert.is((await store.due.claim('timer', due, 10)).length, 1);
});

test('a clock that is not known before the first look, as a database’s, was not set until then', async () => {
  const { clock, notices, watch } = watched();
  await watch().look();
  clock.ms = START + HOUR_MS;
  const next = watch();
  clock.ms = START + 1_000;
  await next.look();
  assert.equal(notices, []);
});

test('what a process made while it could not look, by a clock that was set right since, is brought back', async () => {
  const { clock, now, store, notices, watch } = watched();
  await watch().look();
  clock.ms += HOUR_MS;
  const next = watch();
  const { mark } = store.marks;
  store.marks.mark = () => Promise.reject(new StoreUnavailable('away'));
  await expectRejection(next.look(), StoreUnavailable);
  const at = now() + 60_000;
  await grow(store, randomUUID(), [chargeCreated(now(), { timers: [{ name: 'EXPIRE', at: iso(at) }] })]);
  clock.ms -= HOUR_MS - 1_000;
  store.marks.mark = mark;
  await next.look();
  assert.match(notices.at(-1) ?? '', /set back by 3599 s/);
  const due = now() + 60_000;
  assert.equal(await store.due.claim('timer', due - 1, 10), []);
  assert.is((await store.due.claim('timer', due, 10)).length, 1);
});

test.run();
