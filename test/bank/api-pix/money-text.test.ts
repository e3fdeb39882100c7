import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { centsOf, reaisText } from '../../../src/bank/api-pix/money-text.ts';
import { MAX_AMOUNT } from '../../../src/domain/money.ts';
import { holds } from '../../domain/holds.ts';

const test = suite('money text');

test('any amount comes back from its text', () => {
  holds(
    fc.property(fc.integer({ min: 0, max: MAX_AMOUNT }), (cents) => {
      const text = reaisText(cents);
      assert.match(text, /^\d{1,10}\.\d{2}$/);
      assert.is(centsOf(text), cents);
    }),
  );
});

test('any amount comes back from the number that a bank writes it as', () => {
  holds(
    fc.property(fc.integer({ min: 0, max: MAX_AMOUNT }), (cents) => {
      assert.is(centsOf(JSON.parse(reaisText(cents))), cents);
    }),
  );
});

test('what a float would round is exact', () => {
  assert.is(reaisText(1_005), '10.05');
  assert.is(centsOf('1.005'), null);
  assert.is(centsOf(1.005), null);
  assert.is(centsOf('0.29'), 29);
  assert.is(centsOf(4.35), 435);
  assert.is(centsOf(0.1 + 0.2), null);
});

test('what is exactly cents is taken, however many digits it has', () => {
  assert.equal(['7', '7.5', '7.50', '7.5000', 7, 7.5].map(centsOf), [700, 750, 750, 750, 700, 750]);
});

test('what is no amount is refused', () => {
  const wrong = ['', '-1.00', '+1.00', '1,00', '1.', '.50', ' 1.00', '1.001', '1e3', 'NaN', '10000000000.00'];
  for (const value of [...wrong, 1e21, Number.NaN, -1, null, undefined, {}, true]) {
    assert.is(centsOf(value), null, String(value));
  }
  for (const cents of [-1, 1.5, Number.NaN, MAX_AMOUNT + 1])
    assert.throws(() => reaisText(cents), RangeError);
});

test.run();
