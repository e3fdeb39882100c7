/** Where a statement ends that is given no end: before whatever isn't durable yet, whoever has decided it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { endOf, OTHERS_LATE_MS } from '../../src/engine/statement/end.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { until } from '../support/wait.ts';
import { engineOn } from './on-store.ts';
import { ACCOUNT, START } from './support.ts';

const s = suite('statement end');

let made = 0;

/** A clock, and processes that share a store where there are several. */
function scene(isShared: boolean) {
  const state = new MemoryState();
  const clock = { ms: START };
  const open = (incarnation: string) => {
    const faults = new FaultPlan();
    const now = (): number => clock.ms;
    const store = new MemoryStore({ state, incarnation, now, silentAfterMs: 5_000, faults });
    const engine = engineOn(store, now, { incarnation, isShared });
    const end = endOf({ journal: store.journal, engine, now, isShared });
    const book = async (): Promise<void> => {
      await adjust(engine, ACCOUNT, { id: `${++made}`, amount: 1, reason: 'a test', allowNegative: false });
    };
    /** Decides something now, which isn't durable before it is let go. */
    const decided = async (): Promise<() => Promise<void>> => {
      const letGo = faults.hang('append');
      const booked = book();
      const isDecided = async (): Promise<boolean> => {
        clock.ms += 1;
        return engine.undurableFrom(ACCOUNT) < clock.ms;
      };
      await until(isDecided, 1_000, 'it is decided');
      return async () => {
        letGo();
        await booked;
      };
    };
    return { end: (from: number | null = null) => end(ACCOUNT, from), book, decided };
  };
  const lastAt = async (): Promise<number> => {
    const store = new MemoryStore({ state, incarnation: 'look', now: () => START, silentAfterMs: 5_000 });
    return Date.parse((await store.journal.head(ACCOUNT)).at);
  };
  return { clock, open, lastAt };
}

s('it is now, and before what is decided and not durable', async () => {
  const { clock, open, lastAt } = scene(false);
  const one = open('one');
  assert.is(await one.end(), START);
  await one.book();
  assert.is(await one.end(), START);
  clock.ms += 10;
  const release = await one.decided();
  clock.ms += 500;
  const end = await one.end();
  await release();
  assert.ok(end > START && end <= (await lastAt()), `${end}`);
  assert.is(await one.end(), clock.ms);
});

s('of an account that is ahead of the clock it is now', async () => {
  const { clock, open, lastAt } = scene(false);
  const one = open('one');
  clock.ms += 60_000;
  await one.book();
  clock.ms = START;
  assert.is(await one.end(), START);
  await one.book();
  assert.is(await lastAt(), START + 60_000);
});

s('it is not before the beginning that is given, where that does not lie ahead', async () => {
  const { clock, open } = scene(false);
  const one = open('one');
  const release = await one.decided();
  clock.ms += 500;
  assert.is(await one.end(clock.ms - 1), clock.ms - 1);
  assert.ok((await one.end(clock.ms + 1)) < clock.ms);
  await release();
});

s('where others write it is right behind the last batch, and what follows comes later', async () => {
  const { clock, open, lastAt } = scene(true);
  const [one, other] = [open('one'), open('other')];
  await one.book();
  clock.ms += 10;
  const release = await other.decided();
  clock.ms += 500;
  assert.is(await one.end(), START + 1);
  assert.is(await one.end(clock.ms), clock.ms);
  await release();
  // Whoever's clock is behind: no two batches have one time.
  const end = (await lastAt()) + 1;
  assert.is(await one.end(), end);
  clock.ms = START;
  await other.book();
  assert.is(await lastAt(), end);
  await one.book();
  assert.is(await lastAt(), end + 1);
  assert.is(await one.end(), START);
  assert.is(await one.end(end + 2), end + 2);
});

s('where others write it stays a minute behind, once an account rests', async () => {
  const { clock, open } = scene(true);
  const one = open('one');
  assert.is(await one.end(), START - OTHERS_LATE_MS);
  await one.book();
  clock.ms += OTHERS_LATE_MS - 1;
  assert.is(await one.end(), START + 1);
  clock.ms += 3_600_000;
  assert.is(await one.end(), clock.ms - OTHERS_LATE_MS);
  assert.is(await one.end(clock.ms), clock.ms);
  assert.ok((await one.end(clock.ms + 1)) < clock.ms + 1);
});

s.run();
