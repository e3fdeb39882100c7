import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Leg, Posting } from '../../src/domain/money.ts';
import {
  applyPostings,
  MAX_AMOUNT,
  MIN_CASHOUT,
  MIN_PIX_IN,
  sumOfPostings,
  ZERO_BALANCES,
} from '../../src/domain/money.ts';
import { holds } from './holds.ts';

const s = suite('money');

s('amounts have the bounds of the contract', () => {
  assert.is(MAX_AMOUNT, 999_999_999_999);
  assert.is(MIN_PIX_IN, 100);
  assert.is(MIN_CASHOUT, 1);
});

s('a paid charge and a settled transfer move through the legs', () => {
  const paid = applyPostings(ZERO_BALANCES, [
    { leg: 'bank', amount: -10_000 },
    { leg: 'available', amount: 9_900 },
    { leg: 'fees', amount: 100 },
  ]);
  assert.equal(paid, { available: 9_900, clearing: 0, fees: 100, bank: -10_000 });
  const created = applyPostings(paid, [
    { leg: 'available', amount: -5_050 },
    { leg: 'clearing', amount: 5_000 },
    { leg: 'fees', amount: 50 },
  ]);
  const settled = applyPostings(created, [
    { leg: 'clearing', amount: -5_000 },
    { leg: 'bank', amount: 5_000 },
  ]);
  assert.equal(settled, { available: 4_850, clearing: 0, fees: 150, bank: -5_000 });
});

s('applying leaves the balances given as they were', () => {
  const before = { available: 1, clearing: 2, fees: 3, bank: -6 };
  const after = applyPostings(before, []);
  assert.equal(after, before);
  assert.is.not(after, before);
  applyPostings(before, [
    { leg: 'available', amount: 5 },
    { leg: 'bank', amount: -5 },
  ]);
  assert.equal(before, { available: 1, clearing: 2, fees: 3, bank: -6 });
  assert.equal(ZERO_BALANCES, { available: 0, clearing: 0, fees: 0, bank: 0 });
  assert.ok(Object.isFrozen(ZERO_BALANCES));
});

s('a balance may go below zero here: who may is decided elsewhere', () => {
  const after = applyPostings(ZERO_BALANCES, [
    { leg: 'available', amount: -1 },
    { leg: 'bank', amount: 1 },
  ]);
  assert.is(after.available, -1);
});

s('postings that do not sum to zero are thrown out', () => {
  assert.throws(() => applyPostings(ZERO_BALANCES, [{ leg: 'bank', amount: 1 }]), /sum to zero/);
});

s('what is no safe integer is thrown out', () => {
  const huge: Posting[] = [
    { leg: 'available', amount: Number.MAX_SAFE_INTEGER },
    { leg: 'bank', amount: -Number.MAX_SAFE_INTEGER },
  ];
  const once = applyPostings(ZERO_BALANCES, huge);
  assert.is(once.available, Number.MAX_SAFE_INTEGER);
  assert.throws(() => applyPostings(once, huge), /available is no safe integer/);
  assert.throws(() => sumOfPostings([...huge, { leg: 'fees', amount: 0.5 }]), /fees is no safe integer/);
  assert.throws(() => sumOfPostings([{ leg: 'fees', amount: Number.NaN }]), /no safe integer/);
  assert.throws(() => sumOfPostings([...huge.slice(0, 1), ...huge.slice(0, 1)]), /sum of the postings/);
});

s('balances that come from balanced postings sum to zero', () => {
  const leg = fc.constantFrom<Leg>('available', 'clearing', 'fees', 'bank');
  const transfer = fc.tuple(leg, leg, fc.integer({ min: 0, max: MAX_AMOUNT }));
  holds(
    fc.property(fc.array(transfer, { maxLength: 20 }), (transfers) => {
      let balances = { ...ZERO_BALANCES };
      for (const [from, to, amount] of transfers) {
        const postings = [
          { leg: from, amount: -amount },
          { leg: to, amount },
        ];
        assert.is(sumOfPostings(postings), 0);
        balances = applyPostings(balances, postings);
      }
      assert.is(balances.available + balances.clearing + balances.fees + balances.bank, 0);
    }),
  );
});

s.run();
