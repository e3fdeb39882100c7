/**
 * Keys of the projections' tables are texts in the order in which they are read. Parts are put together with blanks;
 * only the last one may have blanks of its own.
 */

/** Digits of the largest number. */
const DIGITS = 16;

/** A whole number from 0 on, in the order of numbers. */
export function ordered(number: number): string {
  return String(Math.min(Math.max(number, 0), Number.MAX_SAFE_INTEGER)).padStart(DIGITS, '0');
}

export function keyOf(...parts: readonly string[]): string {
  return parts.join(' ');
}

/** What lies behind all keys that begin with these parts. */
export function endOf(...parts: readonly string[]): string {
  // The character after the blank.
  return `${parts.join(' ')}!`;
}

/** The longest text that is looked up: LMDB's keys are bounded, and what callers name is not. */
const LONGEST_KEY = 200;

/** Whether a text may be looked up at all; a longer one was never stored. */
export function fitsKey(text: string): boolean {
  return text.length <= LONGEST_KEY;
}

/** The order of two keys, as LMDB has it: by their UTF-8. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x === y) continue;
    // Halves of characters behind U+FFFF come after all others.
    const isHigh = x >= 0xd800 && y >= 0xd800;
    return isHigh ? ((x + 0x2000) & 0xffff) - ((y + 0x2000) & 0xffff) || x - y : x - y;
  }
  return a.length - b.length;
}

/** Before and behind all keys. */
export const ALL = ['', '\u{10ffff}'] as const;
