import { exactTime, textOfTime, YEAR_10000_MS } from './time.ts';

const FORM = /^E[0-9A-Z]{8}(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})[0-9A-Za-z]{11}$/;
const ISPB = /^[0-9A-Z]{8}$/;
const SUFFIX = /^[0-9A-Za-z]{11}$/;
/** Times are of the years 0 to 9999: those that have four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');

/**
 * Whether the value is an end-to-end identifier of a Pix payment: `E`, ISPB of 8, `yyyyMMddHHmm` in UTC that
 * is a possible time, 11 of [A-Za-z0-9].
 */
export function isEndToEndId(value: string): boolean {
  const parts = FORM.exec(value);
  if (parts === null) return false;
  const [, year, month, day, hour, minute] = parts;
  return exactTime(`${year}-${month}-${day}T${hour}:${minute}:00.000Z`) !== null;
}

/**
 * Composes an end-to-end identifier of 32 characters.
 * `ispb`: 8 of [0-9A-Z]; `at`: milliseconds since the epoch; `suffix`: 11 of [A-Za-z0-9].
 * Throws a RangeError for parts that break these forms.
 */
export function composeEndToEndId(ispb: string, at: number, suffix: string): string {
  if (!ISPB.test(ispb)) throw new RangeError('An ISPB has 8 characters of 0-9 and A-Z.');
  if (!SUFFIX.test(suffix)) throw new RangeError('The suffix has 11 characters of 0-9, A-Z and a-z.');
  return `E${ispb}${minuteStamp(at)}${suffix}`;
}

function minuteStamp(at: number): string {
  if (!(at >= FIRST_MS && at < YEAR_10000_MS)) throw new RangeError(`No time of our calendar: ${at}.`);
  const text = textOfTime(at);
  return text.slice(0, 4) + text.slice(5, 7) + text.slice(8, 10) + text.slice(11, 13) + text.slice(14, 16);
}
