import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FeeRule } from '../../src/domain/fees.ts';
import { cashoutFee, DEMO_FEES, parseFeePolicy, pixInFee, totalFee } from '../../src/domain/fees.ts';
import { MAX_AMOUNT } from '../../src/domain/money.ts';
import { holds } from './holds.ts';

const s = suite('fees');

const FREE: FeeRule = { fixed: 0, percent: 0, min: 0, max: null };

/** The rule in big integers: floor((2 × amount × percent + 10,000) / 20,000) is half up. */
function reference(rule: FeeRule, amount: number): bigint {
  const share = (2n * BigInt(amount) * BigInt(rule.percent) + 10_000n) / 20_000n;
  let fee = BigInt(rule.fixed) + share;
  if (fee < BigInt(rule.min)) fee = BigInt(rule.min);
  if (rule.max !== null && fee > BigInt(rule.max)) fee = BigInt(rule.max);
  return fee;
}

s('the demo account pays 1 % and at least a cent for a charge, 50 for a transfer', () => {
  assert.is(pixInFee(DEMO_FEES, 10_000), 100);
  assert.is(pixInFee(DEMO_FEES, 100), 1);
  assert.is(pixInFee(DEMO_FEES, 1), 1);
  assert.is(cashoutFee(DEMO_FEES, 1), 50);
  assert.is(cashoutFee(DEMO_FEES, MAX_AMOUNT), 50);
});

s('shares are rounded half up', () => {
  const onePercent = { ...FREE, percent: 100 };
  assert.is(totalFee(onePercent, 149), 1);
  assert.is(totalFee(onePercent, 150), 2);
  assert.is(totalFee(onePercent, 151), 2);
  assert.is(totalFee(onePercent, 49), 0);
  assert.is(totalFee({ ...FREE, percent: 1 }, 5_000), 1);
  assert.is(totalFee({ ...FREE, percent: 1 }, 4_999), 0);
});

s('the fixed part counts before the bounds', () => {
  const rule = { fixed: 40, percent: 100, min: 60, max: 100 };
  assert.is(totalFee(rule, 100), 60);
  assert.is(totalFee(rule, 3_000), 70);
  assert.is(totalFee(rule, 1_000_000), 100);
});

s('a charge never costs more than its amount', () => {
  const policy = { pixIn: { ...FREE, fixed: 500 }, cashout: { ...FREE, fixed: 500 } };
  assert.is(pixInFee(policy, 100), 100);
  assert.is(pixInFee(policy, 501), 500);
  assert.is(cashoutFee(policy, 1), 500);
});

s('the largest amounts are exact', () => {
  assert.is(totalFee({ ...FREE, percent: 10_000 }, MAX_AMOUNT), MAX_AMOUNT);
  assert.is(totalFee({ ...FREE, percent: 9_999 }, MAX_AMOUNT), 999_899_999_999);
  assert.is(totalFee({ ...FREE, percent: 9_999 }, 999_999_995_000), 999_899_995_001);
});

s('fees are what big integers say, for any rule and amount', () => {
  const cents = fc.integer({ min: 0, max: MAX_AMOUNT });
  const rule = fc
    .record({
      fixed: cents,
      percent: fc.integer({ min: 0, max: 10_000 }),
      bounds: fc.tuple(cents, cents),
      bounded: fc.boolean(),
    })
    .map(({ fixed, percent, bounds: [a, b], bounded }) => ({
      fixed,
      percent,
      min: Math.min(a, b),
      max: bounded ? Math.max(a, b) : null,
    }));
  const share = fc
    .record({ percent: fc.integer({ min: 0, max: 10_000 }) })
    .map((part) => ({ ...FREE, ...part }));
  holds(
    fc.property(fc.oneof(rule, share), cents, (any, amount) => {
      assert.is(BigInt(totalFee(any, amount)), reference(any, amount));
    }),
    { numRuns: 2_000 },
  );
});

s('amounts outside the bounds are thrown out', () => {
  for (const amount of [-1, 0.5, Number.NaN, MAX_AMOUNT + 1]) {
    assert.throws(() => totalFee(FREE, amount), /whole cents/);
  }
});

s('a policy may leave out what it likes', () => {
  assert.equal(parseFeePolicy({}), { pixIn: FREE, cashout: FREE });
  assert.equal(parseFeePolicy({ pixIn: { percent: 99 } }), {
    pixIn: { ...FREE, percent: 99 },
    cashout: FREE,
  });
  assert.equal(parseFeePolicy({ cashout: { fixed: 50, min: 1, max: 90 } }), {
    pixIn: FREE,
    cashout: { fixed: 50, percent: 0, min: 1, max: 90 },
  });
  const same = { ...FREE, min: 90, max: 90 };
  assert.equal(parseFeePolicy({ pixIn: same, cashout: { min: 0, max: 0 } }), {
    pixIn: same,
    cashout: { ...FREE, max: 0 },
  });
  assert.equal(parseFeePolicy({ cashout: { fixed: null, max: null }, pixIn: null }), {
    pixIn: FREE,
    cashout: FREE,
  });
  assert.equal(parseFeePolicy(DEMO_FEES), DEMO_FEES);
});

s('a policy that is wrong is told how', () => {
  const cases: [unknown, RegExp][] = [
    [null, /^The fees must be an object/],
    [[], /^The fees must be an object/],
    ['{}', /^The fees must be an object/],
    [{ pixin: {} }, /^The fees have no "pixin"; known are pixIn and cashout\.$/],
    [JSON.parse('{"__proto__": {}}'), /have no "__proto__"/],
    [{ pixIn: 1 }, /^pixIn must be an object/],
    [{ cashout: [] }, /^cashout must be an object/],
    [{ cashout: { fix: 1 } }, /^cashout has no "fix"/],
    [{ pixIn: { percent: 1.5 } }, /^pixIn\.percent must be a whole number\.$/],
    [{ pixIn: { fixed: '1' } }, /^pixIn\.fixed must be a whole number\.$/],
    [{ pixIn: { min: true } }, /^pixIn\.min must be a whole number\.$/],
    [{ pixIn: { max: -1 } }, /^pixIn\.max must not be negative\.$/],
    [{ pixIn: { percent: 10_001 } }, /^pixIn\.percent must be at most 10000\.$/],
    [{ cashout: { fixed: MAX_AMOUNT + 1 } }, /^cashout\.fixed must be at most 999999999999\.$/],
    [{ cashout: { min: 2, max: 1 } }, /^cashout\.min must not be above cashout\.max\.$/],
  ];
  for (const [input, message] of cases) {
    const outcome = parseFeePolicy(input);
    assert.type(outcome, 'string');
    assert.match(String(outcome), message);
  }
});

s.run();
