/** Which questions wait until they are asked again. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PutOff } from '../../src/bank/put-off.ts';
import type { DueOrder } from '../../src/engine/store/due.ts';

const test = suite('questions that wait');
const clock = { ms: 0 };

function question(at: number, tries: number, turn = 0, payment?: string): DueOrder<'ask'> {
  const order = { kind: 'ask' as const, turn, ...(payment === undefined ? {} : { payment }) };
  return { kind: 'bank', account: 'a', transaction: 't', at, tries, order };
}

function putOff(): PutOff {
  clock.ms = 1_000;
  return new PutOff(() => clock.ms);
}

test('of those about the same one waits, and goes on waiting', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  assert.not.ok(all.mustWait(question(3_000, 1)));
  assert.ok(all.mustWait(question(3_000, 1, 0, 'E1')), 'what is about a payment is another one');
  clock.ms = 5_000;
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
  clock.ms = 5_000;
  assert.ok(all.mustWait(question(7_000, 1)));
});

test('one that comes early, since the clock was set back, is not kept from waiting by itself', () => {
  const all = putOff();
  assert.ok(all.mustWait(question(5_000, 1)));
  clock.ms = 500;
  all.come(question(400, 1));
  assert.ok(all.mustWait(question(4_400, 2)));
});

test.run();
