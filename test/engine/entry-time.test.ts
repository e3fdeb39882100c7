/** Times of entries as texts and as numbers. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { textOfTime, timeOfText } from '../../src/engine/entry-time.ts';

const test = suite('times of entries');

const TIME = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const TEXT = '2026-01-02T03:04:05.678Z';

test('each way gives what the platform does, however often and in whichever order it is asked', () => {
  for (const ms of [TIME, TIME, TIME + 1, TIME, 0, -1, TIME + 0.5, TIME]) {
    assert.is(textOfTime(ms), new Date(ms).toISOString());
    const text = new Date(ms).toISOString();
    assert.is(timeOfText(text), Date.parse(text));
    assert.is(timeOfText(TEXT), TIME);
  }
});

test('a text of another form is read, and never given for its time', () => {
  assert.is(timeOfText('2026-01-02T00:04:05.678-03:00'), TIME);
  assert.is(textOfTime(TIME), TEXT);
  assert.is(timeOfText('2026-01-02T00:04:05.678-03:00'), TIME);
});

test('what is no time is none, and what comes after it is one', () => {
  assert.ok(Number.isNaN(timeOfText('yesterday')));
  assert.ok(Number.isNaN(timeOfText('yesterday')));
  assert.is(timeOfText(TEXT), TIME);
  assert.throws(() => textOfTime(Number.NaN), /Invalid time value/);
  assert.is(textOfTime(TIME), TEXT);
});

test.run();
