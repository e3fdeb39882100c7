/** When a bank counts as down: by failures in a row, and by none that a later answer shows to be a single call's. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Breaker } from '../../../src/bank/api-pix/wire/breaker.ts';

const test = suite('breaker');

/** Calls that have begun one after the other. */
function begun(breaker: Breaker, count: number): number[] {
  return Array.from({ length: count }, () => breaker.begin());
}

function fail(breaker: Breaker, calls: readonly number[]): void {
  for (const call of calls) breaker.failed(call);
}

test('a bank that answers nothing is down after five failures', () => {
  const breaker = new Breaker();
  const calls = begun(breaker, 5);
  fail(breaker, calls.slice(0, 4));
  assert.not.ok(breaker.isOpen);
  fail(breaker, calls.slice(4));
  assert.ok(breaker.isOpen);
});

test('calls that began together and end together are no failures of a bank that answered a later one', () => {
  const breaker = new Breaker();
  const hanging = begun(breaker, 100);
  const [answered = 0, last = 0] = begun(breaker, 2);
  breaker.succeeded(answered);
  fail(breaker, hanging);
  assert.not.ok(breaker.isOpen);
  // What began after the answer tells of the time after it.
  fail(breaker, [last, ...begun(breaker, 3)]);
  assert.not.ok(breaker.isOpen);
  fail(breaker, begun(breaker, 1));
  assert.ok(breaker.isOpen);
});

test('an answer to a call that began before says nothing of those after it', () => {
  const breaker = new Breaker();
  const [early = 0, ...others] = begun(breaker, 6);
  breaker.succeeded(early);
  fail(breaker, others);
  assert.ok(breaker.isOpen);
});

test('any answer closes it', () => {
  const breaker = new Breaker();
  const [slow = 0, ...others] = begun(breaker, 6);
  fail(breaker, others);
  assert.ok(breaker.isOpen);
  breaker.succeeded(slow);
  assert.not.ok(breaker.isOpen);
});

test.run();
