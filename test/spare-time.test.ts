/** Work that can wait, beside callers: how much of a thread's time it gets, by a clock of the test's own. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SpareTime } from '../src/spare-time.ts';
import { sleep, until } from './support/wait.ts';

const test = suite('spare time');

const PIECE_MS = 2;

/** Runs the body with a clock that moves where somebody waits, and by what pieces take. */
async function withClock(body: (clock: { ms: number; onPause(): void }) => Promise<void>): Promise<void> {
  const clock = { ms: 1_000, onPause: (): void => {} };
  const real = globalThis.setTimeout;
  const later = (run: () => void, ms: number): NodeJS.Immediate => {
    clock.ms += ms;
    clock.onPause();
    return setImmediate(run);
  };
  Object.defineProperty(performance, 'now', { value: () => clock.ms, configurable: true });
  Object.assign(globalThis, { setTimeout: later });
  try {
    await body(clock);
  } finally {
    Object.assign(globalThis, { setTimeout: real });
    Reflect.deleteProperty(performance, 'now');
  }
}

/** When each of so many pieces began, ms since the first one. */
async function beginnings(spareTime: SpareTime, clock: { ms: number }, count: number): Promise<number[]> {
  const began: number[] = [];
  const piece = async (): Promise<void> => {
    began.push(clock.ms);
    clock.ms += PIECE_MS;
  };
  await Promise.all(Array.from({ length: count }, () => spareTime.take(piece)));
  return began.map((at) => at - (began[0] ?? 0));
}

test('while nobody calls, pieces follow each other', async () => {
  await withClock(async (clock) => {
    assert.equal(await beginnings(new SpareTime(), clock, 4), [0, 2, 4, 6]);
  });
});

test('the more call, the longer is the pause after a piece, up to fifteen times as long as it took', async () => {
  const pauseWith = async (callers: number): Promise<number> => {
    let pause = 0;
    await withClock(async (clock) => {
      const spareTime = new SpareTime();
      for (let count = 0; count < callers; count += 1) spareTime.called();
      const [, second = 0] = await beginnings(spareTime, clock, 2);
      pause = second - PIECE_MS;
    });
    return pause;
  };
  assert.is(await pauseWith(0), 0);
  const pauses = [await pauseWith(1), await pauseWith(12), await pauseWith(60), await pauseWith(40_000)];
  assert.equal(pauses, [1, 6, 30, 30]);
});

test('a piece may say that it is put off for fewer times as long', async () => {
  await withClock(async (clock) => {
    const spareTime = new SpareTime();
    for (let count = 0; count < 40_000; count += 1) spareTime.called();
    const pauses: number[] = [];
    for (const times of [99, 4, 1, undefined]) {
      await spareTime.take(async () => {
        clock.ms += PIECE_MS;
      });
      const ended = clock.ms;
      await spareTime.take(async () => void pauses.push(clock.ms - ended), times);
    }
    assert.equal(pauses, [30, 8, 2, 30]);
  });
});

test('other work of the thread waits for the same callers, and not for this one’s pieces', async () => {
  const spareTime = new SpareTime();
  const other = new SpareTime(spareTime);
  spareTime.called();
  assert.not(other.isAlone);
  const answers: (() => void)[] = [];
  const waits = (): Promise<void> => new Promise((resolve) => answers.push(resolve));
  const waiting = Array.from({ length: 9 }, () => spareTime.take(waits));
  await until(() => answers.length === 8, 5_000, 'the eighth piece');
  assert.is(await other.take(async () => 'done'), 'done');
  assert.is(answers.length, 8);
  for (const answer of answers) answer();
  await until(() => answers.length === 9, 5_000, 'the ninth piece');
  answers[8]?.();
  await Promise.all(waiting);
});

test('after a start callers wait for what the process before had in hand', async () => {
  await withClock(async (clock) => {
    const spareTime = new SpareTime();
    spareTime.started();
    clock.onPause = () => spareTime.called();
    for (let count = 0; count < 1_000; count += 1) spareTime.called();
    assert.equal(await beginnings(spareTime, clock, 3), [0, 6, 12]);
    clock.ms += 5_000;
    for (let count = 0; count < 1_000; count += 1) spareTime.called();
    assert.equal(await beginnings(spareTime, clock, 2), [0, 32]);
  });
});

test('callers who have gone are not waited for', async () => {
  await withClock(async (clock) => {
    const spareTime = new SpareTime();
    for (let count = 0; count < 1_000; count += 1) spareTime.called();
    clock.ms += 200;
    assert.equal(await beginnings(spareTime, clock, 3), [0, 2, 4]);
  });
});

test('it is alone until somebody calls, and again once they have gone', async () => {
  await withClock(async (clock) => {
    const spareTime = new SpareTime();
    const alone = [spareTime.isAlone];
    spareTime.called();
    alone.push(spareTime.isAlone);
    clock.ms += 199;
    alone.push(spareTime.isAlone);
    clock.ms += 1;
    alone.push(spareTime.isAlone);
    assert.equal(alone, [true, false, false, true]);
  });
});

test('a piece that waited for its store is not paid for by all of that', async () => {
  await withClock(async (clock) => {
    const spareTime = new SpareTime();
    for (let count = 0; count < 1_000; count += 1) spareTime.called();
    await spareTime.take(async () => {
      clock.ms += 1_000;
    });
    const ended = clock.ms;
    clock.onPause = () => spareTime.called();
    for (let count = 0; count < 1_000; count += 1) spareTime.called();
    await spareTime.take(async () => {});
    assert.is(clock.ms - ended, 60);
  });
});

test('one piece at a time, in order, also after one that fails', async () => {
  const spareTime = new SpareTime();
  const seen: string[] = [];
  const piece =
    (name: string, fails = false) =>
    async (): Promise<string> => {
      seen.push(`${name} begins`);
      await new Promise(setImmediate);
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const [first, second, third] = [
    spareTime.take(piece('a')),
    spareTime.take(piece('b', true)),
    spareTime.take(piece('c')),
  ];
  const failure = await second.catch(String);
  assert.equal([await first, failure, await third], ['a', 'Error: b', 'c']);
  assert.equal(seen, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

test('pieces that wait for their store hold up nobody, unless they are eight', async () => {
  const spareTime = new SpareTime();
  const answers: (() => void)[] = [];
  const waits = (): Promise<void> => new Promise((resolve) => answers.push(resolve));
  const waiting = Array.from({ length: 7 }, () => spareTime.take(waits));
  assert.is(await spareTime.take(async () => 'done'), 'done');
  const others = [spareTime.take(waits), spareTime.take(waits)];
  await until(() => answers.length === 8, 5_000, 'the eighth piece');
  await sleep(50);
  assert.is(answers.length, 8);
  answers[3]?.();
  await waiting[3];
  await until(() => answers.length === 9, 5_000, 'the ninth piece');
  for (const answer of answers) answer();
  await Promise.all([...waiting, ...others]);
});

test.run();
