/** The largest amount, in cents: what field 54 of a BR Code and the central bank's API can hold. */
export const MAX_AMOUNT = 999_999_999_999;

/** The smallest charge, in cents. */
export const MIN_PIX_IN = 100;

/** The smallest transfer, in cents. */
export const MIN_CASHOUT = 1;

/**
 * A side of the double entry: `available` is the merchant's balance, `clearing` holds payouts on their way,
 * `fees` is what was charged, `bank` is the outside (plus when money leaves us).
 */
export type Leg = 'available' | 'clearing' | 'fees' | 'bank';

/** A change of one leg, in cents; plus is more in that leg. The postings of an entry sum to zero. */
export interface Posting {
  leg: Leg;
  amount: number;
}

/** The sum of each leg, in cents. */
export type Balances = Record<Leg, number>;

/** The balances of an account without entries. */
export const ZERO_BALANCES: Readonly<Balances> = Object.freeze({
  available: 0,
  clearing: 0,
  fees: 0,
  bank: 0,
});

/**
 * The sum of the postings, in cents; zero for a sound entry.
 * Throws a RangeError where an amount or a subtotal is no safe integer, since the sum would be a guess.
 */
export function sumOfPostings(postings: readonly Posting[]): number {
  let sum = 0;
  for (const { leg, amount } of postings) {
    assertSafe(amount, `The posting to ${leg}`);
    sum += amount;
    assertSafe(sum, 'The sum of the postings');
  }
  return sum;
}

/**
 * The balances after the postings, as a new object.
 * Throws a RangeError when the postings don't sum to zero or a balance leaves the safe integers.
 */
export function applyPostings(balances: Readonly<Balances>, postings: readonly Posting[]): Balances {
  const sum = sumOfPostings(postings);
  if (sum !== 0) throw new RangeError(`Postings must sum to zero, but these sum to ${sum}.`);
  const next: Balances = { ...balances };
  for (const { leg, amount } of postings) {
    next[leg] += amount;
    assertSafe(next[leg], `The balance of ${leg}`);
  }
  return next;
}

function assertSafe(cents: number, what: string): void {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`${what} is no safe integer: ${cents}.`);
}
