import { MAX_AMOUNT } from './money.ts';

/**
 * The fee of one type of transaction: fixed + amount × percent / 10,000, held between `min` and `max`.
 * `fixed`, `min` and `max` are cents (`max` null: no bound), `percent` is hundredths of a percent
 * (100 is 1 %).
 */
export interface FeeRule {
  fixed: number;
  percent: number;
  min: number;
  max: number | null;
}

/** An account's fees. */
export interface FeePolicy {
  pixIn: FeeRule;
  cashout: FeeRule;
}

/** The demo account's fees: PIX IN 1 % but at least one cent, cashout 50 cents. */
export const DEMO_FEES: FeePolicy = {
  pixIn: { fixed: 0, percent: 100, min: 1, max: null },
  cashout: { fixed: 50, percent: 0, min: 0, max: null },
};

const PERCENT_BASE = 10_000;
const RULE_NAMES = ['fixed', 'percent', 'min', 'max'];
const POLICY_NAMES = ['pixIn', 'cashout'];

/**
 * The fee of an amount, both in cents: the share is rounded half up to a cent, then the sum is held between
 * `min` and `max`. Exact for every amount of 0..MAX_AMOUNT; throws a RangeError for any other.
 */
export function totalFee(rule: FeeRule, amount: number): number {
  if (!Number.isSafeInteger(amount) || amount < 0 || amount > MAX_AMOUNT) {
    throw new RangeError(`An amount must be whole cents from 0 to ${MAX_AMOUNT}, but this is ${amount}.`);
  }
  const fee = rule.fixed + shareOf(amount, rule.percent);
  return Math.min(Math.max(fee, rule.min), rule.max ?? Number.POSITIVE_INFINITY);
}

/** The fee of a charge, in cents; it never exceeds the amount, so that the net amount is never negative. */
export function pixInFee(policy: FeePolicy, amount: number): number {
  return Math.min(totalFee(policy.pixIn, amount), amount);
}

/** The fee of a transfer, in cents; it is debited on top of the amount. */
export function cashoutFee(policy: FeePolicy, amount: number): number {
  return totalFee(policy.cashout, amount);
}

/**
 * Reads a fee policy of the shape {pixIn?: {fixed?, percent?, min?, max?}, cashout?: {...}}.
 * A part that is left out or null is 0, and no bound. Cents go up to MAX_AMOUNT, `percent` up to 10,000 (100 %).
 * Returns an English sentence that says what is wrong with anything else.
 */
export function parseFeePolicy(input: unknown): FeePolicy | string {
  if (!isObject(input)) return 'The fees must be an object with pixIn and cashout.';
  const unknown = unknownName(input, POLICY_NAMES);
  if (unknown !== undefined) return `The fees have no "${unknown}"; known are pixIn and cashout.`;
  const pixIn = parseFeeRule(input.pixIn ?? {}, 'pixIn');
  if (typeof pixIn === 'string') return pixIn;
  const cashout = parseFeeRule(input.cashout ?? {}, 'cashout');
  if (typeof cashout === 'string') return cashout;
  return { pixIn, cashout };
}

/** amount × percent / 10,000, rounded half up, without ever leaving exact integers. */
function shareOf(amount: number, percent: number): number {
  const raised = amount * percent + PERCENT_BASE / 2;
  if (!Number.isSafeInteger(raised)) {
    return Number((BigInt(amount) * BigInt(percent) + BigInt(PERCENT_BASE / 2)) / BigInt(PERCENT_BASE));
  }
  // Taking the remainder off first keeps the division exact, where flooring a quotient could round.
  return (raised - (raised % PERCENT_BASE)) / PERCENT_BASE;
}

function parseFeeRule(input: unknown, where: string): FeeRule | string {
  if (!isObject(input)) return `${where} must be an object with fixed, percent, min and max.`;
  const unknown = unknownName(input, RULE_NAMES);
  if (unknown !== undefined) return `${where} has no "${unknown}"; known are fixed, percent, min and max.`;
  for (const name of RULE_NAMES) {
    const wrong = wrongNumber(input[name] ?? 0, name === 'percent' ? PERCENT_BASE : MAX_AMOUNT);
    if (wrong !== null) return `${where}.${name} ${wrong}`;
  }
  const rule = {
    fixed: numberOr0(input.fixed),
    percent: numberOr0(input.percent),
    min: numberOr0(input.min),
    max: typeof input.max === 'number' ? numberOr0(input.max) : null,
  };
  if (rule.max !== null && rule.min > rule.max) return `${where}.min must not be above ${where}.max.`;
  return rule;
}

function wrongNumber(value: unknown, most: number): string | null {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return 'must be a whole number.';
  if (value < 0) return 'must not be negative.';
  return value > most ? `must be at most ${most}.` : null;
}

/** Adding 0 makes a plain zero of JSON's -0. */
function numberOr0(value: unknown): number {
  return typeof value === 'number' ? value + 0 : 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unknownName(value: Record<string, unknown>, known: readonly string[]): string | undefined {
  return Object.keys(value).find((name) => !known.includes(name));
}
