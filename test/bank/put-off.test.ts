/** Which questions wait until they are asked again. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PutOff } from '../../src/bank/put-off.ts';
import type { DueOrder } from '../../src/engine/store/due.ts';

const test = suite('questions that wait');
/** `elapsed` never steps. */
const clock = { ms: 0, elapsed: 0 };

function question(at: number, tries: number, turn = 0, payment?: string): DueOrder<'ask'> {
  const order = { kind: 'ask' as const, turn, ...(payment === undefined ? {} : { payment }) };
  return { kind: 'bank', account: 'a', transaction: 't', at, tries, order };
}

function putOff(): PutOff {
  Object.assign(clock, { ms: 1_000, elapsed: 50 });
  return new PutOff({ now: () => clock.ms, elapsed: () => clock.elapsed });
}

/** The clock goes on to a time, as it does while nobody sets it. */
function passUntil(ms: number): void {
  clock.elapsed += ms - clock.ms;
  clock.ms = ms;
}

test('of those about the same one waits, and goes on waiting', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  assert.not.ok(all.mustWait(question(3_000, 1)));
  assert.ok(all.mustWait(question(3_000, 1, 0, 'E1')), 'what is about a payment is another one');
  passUntil(5_000);
  all.come(question(5_000, 1));
  assert.ok(all.mustWait(question(9_000, 2)));
  assert.not.ok(all.mustWait(question(7_000, 1)));
});

test('one that is nearer to its last turn keeps no newer one from its own', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 3, 3)));
  assert.ok(all.mustWait(question(3_000, 1, 1)));
  assert.not.ok(all.mustWait(question(3_000, 1, 1)));
});

test('one whose time has come may have ended elsewhere', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  passUntil(5_000);
  assert.ok(all.mustWait(question(7_000, 1)));
});

test('one that comes early, since the clock was set back, is not kept from waiting by itself', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  clock.ms = 500;
  all.come(question(400, 1));
  assert.ok(all.mustWait(question(4_400, 2)));
});

test('one waits for as long as it was put off, whatever the clock is set to meanwhile', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  // Set back by an hour: another process has it as soon as the time has passed, and may be at its end.
  clock.ms -= 3_600_000;
  passUntil(clock.ms + 3_999);
  assert.not.ok(all.mustWait(question(clock.ms + 4_000, 1)));
  passUntil(clock.ms + 1);
  assert.ok(all.mustWait(question(clock.ms + 4_000, 1)));
  // Set forward.
  clock.ms += 7_200_000;
  assert.not.ok(all.mustWait(question(clock.ms + 4_000, 1)));
});

test('one that another has by now keeps no newer one from waiting', () => {
  for (const counts of [true, false]) {
    const all = putOff();
    const outcome = all.outcome(question(5_000, 1));
    if (typeof outcome === 'object') outcome.onSettled?.(counts);
    assert.is(all.mustWait(question(5_000, 1)), !counts);
  }
});

test.run();
