/** Money as banks write it, "12.34", and back: by digits alone, never through a float. */
import { MAX_AMOUNT } from '../../domain/money.ts';

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,2})0*)?$/;

/**
 * Cents as the API Pix writes them: 1234 is `12.34`.
 * @throws RangeError where these are no whole cents from 0 to MAX_AMOUNT
 */
export function reaisText(cents: number): string {
  if (!Number.isSafeInteger(cents) || cents < 0 || cents > MAX_AMOUNT) {
    throw new RangeError(`An amount is whole cents from 0 to ${MAX_AMOUNT}.`);
  }
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/**
 * The cents of an amount that a bank gives, as text or, where it gives numbers, by their shortest decimal text; null
 * for what isn't exactly cents. Nothing is rounded.
 */
export function centsOf(value: unknown): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const parts = DECIMAL.exec(String(value));
  if (parts === null) return null;
  const [, reais = '', cents = ''] = parts;
  const amount = Number(reais + cents.padEnd(2, '0'));
  return amount <= MAX_AMOUNT ? amount : null;
}
