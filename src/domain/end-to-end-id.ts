const FORM = /^E[0-9A-Z]{8}(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})[0-9A-Za-z]{11}$/;
const ISPB = /^[0-9A-Z]{8}$/;
const SUFFIX = /^[0-9A-Za-z]{11}$/;
const LAST_YEAR_OF_FOUR_DIGITS = 9999;

/**
 * Whether the value is an end-to-end identifier of a Pix payment: `E`, ISPB of 8, `yyyyMMddHHmm` in UTC that
 * is a possible time, 11 of [A-Za-z0-9].
 */
export function isEndToEndId(value: string): boolean {
  const parts = FORM.exec(value);
  if (parts === null) return false;
  const [, year, month, day, hour, minute] = parts;
  const written = `${year}-${month}-${day}T${hour}:${minute}:00.000Z`;
  const time = new Date(written);
  // Date rolls 31 April over to May, so a possible time is one that comes back as it was written.
  return !Number.isNaN(time.getTime()) && time.toISOString() === written;
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
  const time = new Date(at);
  const year = time.getUTCFullYear();
  if (!(year >= 0 && year <= LAST_YEAR_OF_FOUR_DIGITS))
    throw new RangeError(`No time of our calendar: ${at}.`);
  return time.toISOString().slice(0, 16).replace(/\D/g, '');
}
