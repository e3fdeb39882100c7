/** Times as texts and as numbers: nothing but what `Date` makes and reads. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exactTime, isDay, textOfTime, timeOfText } from '../../src/domain/time.ts';

const test = suite('times');

const TIME = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const TEXT = '2026-01-02T03:04:05.678Z';
const HOUR_MS = 3_600_000;

function expectSame(ms: number): void {
  const text = new Date(ms).toISOString();
  assert.is(textOfTime(ms), text);
  assert.is(timeOfText(text), Date.parse(text));
}

test('each way gives what the platform does, however often and in whichever order it is asked', () => {
  for (const ms of [TIME, TIME, TIME + 1, TIME, 0, -1, TIME + 0.5, -0.5, -HOUR_MS, TIME, 0.25, TIME + 321]) {
    expectSame(ms);
    assert.is(timeOfText(TEXT), TIME);
    assert.is(textOfTime(TIME), TEXT);
  }
});

/** How often `Date` is asked while `work` goes on. */
function datesIn(work: () => void): number {
  const Platform = globalThis.Date;
  let count = 0;
  globalThis.Date = new Proxy(Platform, {
    construct: (target, args: [number]) => {
      count += 1;
      return new target(...args);
    },
    get: (target, name) => {
      if (name === 'parse') count += 1;
      return Reflect.get(target, name);
    },
  });
  try {
    work();
  } finally {
    globalThis.Date = Platform;
  }
  return count;
}

test('what a charge is made and expires at is remembered together, whatever lies between', () => {
  const MINUTE_MS = 60_000;
  for (const apart of [MINUTE_MS, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, 30 * 24 * HOUR_MS]) {
    const times = [TIME, TIME + apart];
    const texts = times.map(textOfTime);
    texts.map(timeOfText);
    const dates = datesIn(() => {
      for (let round = 0; round < 10; round++) assert.equal(times.map(textOfTime).map(timeOfText), times);
    });
    assert.is(dates, 0, `${apart} ms apart`);
  }
  assert.is(
    datesIn(() => timeOfText(textOfTime(TIME + 12_345 * HOUR_MS))),
    2,
  );
});

test('seconds with much in common, and all milliseconds of one, are told apart', () => {
  for (const hours of [0, 1, 0, 24, 8_760, 4_093, 1, -1, -24, 70_000_000, 0, -18_000_000, 0]) {
    expectSame(TIME + hours * HOUR_MS);
    expectSame(TIME + hours * HOUR_MS + 1);
  }
  for (let ms = TIME - 1_700; ms < TIME + 1_700; ms++) expectSame(ms);
});

test('times anywhere in the calendar are as the platform has them', () => {
  let random = 1;
  for (let n = 0; n < 20_000; n++) {
    random = (random * 48_271) % 2_147_483_647;
    expectSame(Math.floor((random / 2_147_483_647 - 0.5) * 1.7e13) * 1_000 + (n % 1_000));
    expectSame(TIME + (random % 7_200_000));
  }
});

/** Texts beside `2026-01-02T03:04:05.678Z` that are another time, no time, or one in another form. */
const OTHERS = [
  '2026-01-02T03:04:05.67aZ',
  '2026-01-02T03:04:05.6:0Z',
  '2026-01-02T03:04:05.678z',
  '2026-01-02T03:04:05.678+',
  '2026-01-02T03:04:05.6789',
  '2026-01-02 03:04:05.678Z',
  '2026-01-02t03:04:05.678Z',
  '2026-01-02T03:04:05,678Z',
  '2026-01-02T03:04:5.6780Z',
  '2026-01-02T0304:05:.678Z',
  '2026-01-02T03:04:65.678Z',
  '2026-01-02T24:04:05.678Z',
  '2026-01-02T24:00:00.000Z',
  '2026-01-02T24:00:00.001Z',
  '2026-02-30T03:04:05.678Z',
  '2026-02-30T03:04:05.679Z',
  '2026-03-02T03:04:05.678Z',
  '2026-13-02T03:04:05.678Z',
  '2026-01-02T00:04:05.678-03:00',
  '2026-01-02T03:04:05Z',
  'yesterday, or so I think',
  '',
];

test('what is no time, or one in another form, is read as the platform reads it', () => {
  for (let round = 0; round < 2; round++)
    for (const text of OTHERS) {
      assert.equal(timeOfText(text), Date.parse(text), text);
      assert.is(timeOfText(TEXT), TIME, `after ${text}`);
    }
});

test('a text that was read is never given for its time', () => {
  for (const text of OTHERS) {
    const ms = timeOfText(text);
    if (!Number.isNaN(ms)) expectSame(ms);
  }
});

test('only a text that comes back as it was written is exact, and only such a day is one', () => {
  assert.is(exactTime(TEXT), TIME);
  for (const text of OTHERS) {
    const ms = Date.parse(text);
    const comesBack = !Number.isNaN(ms) && new Date(ms).toISOString() === text;
    assert.is(exactTime(text), comesBack ? ms : null, text);
  }
  assert.is(exactTime('2026-02-30T03:04:05.678Z'), null);
  assert.equal(
    ['2024-02-29', '2026-02-28', '0000-01-01', '9999-12-31'].map((day) => isDay(day)),
    [true, true, true, true],
  );
  assert.equal(
    ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-01-00', '2026-1-1', ''].map(isDay),
    [false, false, false, false, false, false, false],
  );
});

test('no text stands for what is no time', () => {
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1, -8.64e15 - 1])
    assert.throws(() => textOfTime(ms), RangeError);
  assert.is(textOfTime(TIME), TEXT);
});

test.run();
