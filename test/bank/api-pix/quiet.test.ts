/** When a bank wants to be left alone, and for how long that has been. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Quiet } from '../../../src/bank/api-pix/wire/quiet.ts';

const test = suite('quiet');
const HOUR_MS = 3_600_000;

function quietAt(start: number): { quiet: Quiet; later(ms: number): void } {
  let now = start;
  const quiet = new Quiet(() => now);
  return {
    quiet,
    later: (ms) => {
      now += ms;
    },
  };
}

test('one that is asked for again before its end is one, from the first word on', () => {
  const { quiet, later } = quietAt(HOUR_MS);
  for (let time = 0; time < 10; time += 1) {
    quiet.begin(30_000);
    later(30_000);
  }
  assert.is(quiet.leftMs, 0);
  assert.is(quiet.wholeMs, 0, 'nothing is held back any more');
  quiet.begin(30_000);
  assert.is(quiet.wholeMs, 330_000);
});

test('no time, or one that has passed by our clock, is a second all the same', () => {
  for (const word of [0, -60_000, 1, null]) {
    const { quiet } = quietAt(HOUR_MS);
    quiet.begin(word);
    assert.is(quiet.leftMs, 1_000);
  }
});

test('one that asks for less shortens none', () => {
  const { quiet, later } = quietAt(HOUR_MS);
  quiet.begin(120_000);
  later(1_000);
  for (const word of [null, 0, 30_000]) quiet.begin(word);
  assert.is(quiet.leftMs, 119_000);
  assert.is(quiet.wholeMs, 120_000);
  quiet.begin(130_000);
  assert.is(quiet.leftMs, 130_000);
});

test('what the bank asks for hours later is another one', () => {
  const { quiet, later } = quietAt(HOUR_MS);
  quiet.begin(30_000);
  later(6 * HOUR_MS);
  quiet.begin(30_000);
  assert.is(quiet.wholeMs, 30_000);
});

test('an answer to a call that was under way ends nothing, one after its end does', () => {
  const { quiet, later } = quietAt(HOUR_MS);
  quiet.begin(HOUR_MS);
  quiet.end();
  assert.is(quiet.leftMs, 600_000, 'ten minutes at the most');
  assert.is(quiet.wholeMs, 600_000);
  later(600_000);
  quiet.end();
  later(1_000);
  quiet.begin(null);
  assert.is(quiet.wholeMs, 1_000);
});

test.run();
