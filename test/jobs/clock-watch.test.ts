/** What a process puts down of its clock, for the one that comes after it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ClockWatch } from '../../src/jobs/clock-watch.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('the watch over the clock');

const START = Date.UTC(2026, 0, 5, 12);
const HOUR_MS = 3_600_000;

test('a clock that was set forward is put down at once: who dies soon after leaves things of that time', async () => {
  const clock = { ms: START };
  const now = (): number => clock.ms;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const notices: string[] = [];
  const watch = (): ClockWatch =>
    new ClockWatch({ store, now, engine: { checkClock() {} }, onNotice: (text) => notices.push(text) });
  const before = watch();
  await before.look();
  clock.ms += HOUR_MS;
  await before.look();
  clock.ms = START;
  await watch().look();
  assert.is(notices.length, 1);
  assert.match(notices[0] ?? '', /set back by 3600 s/);
});

test.run();
