/** What a process makes of a clock that is set, and what it puts down of it for the one that comes after it. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { ClockWatch, putClockDown } from '../../src/jobs/clock-watch.ts';
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
  for (const next of [first, watch()]) {
    clock.ms = START - 24 * HOUR_MS;
    await first.look();
    clock.ms = START + 60_000;
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

test.run();
