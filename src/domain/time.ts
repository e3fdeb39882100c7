/**
 * Times: ms since 1970, and as texts (ISO 8601 in UTC, with ms), just as `Date` makes and reads them. A transaction has
 * dozens of them, nearly all in a few seconds, and a `Date` takes ten times as long: so what the texts of a second begin
 * with is remembered, of one second at each of some thousand places. What was read and what was made are remembered
 * apart, since `Date` also reads texts that it wouldn't make, such as those of a February 30.
 */

/** The first time whose year has five digits, ms. */
export const YEAR_10000_MS = Date.UTC(10_000, 0);
const SECOND_MS = 1_000;
/** A prime: seconds that lie whole minutes, hours or days apart, as a charge's begin and end, have places of their own. */
const PLACES = 4_093;
/** A time of the years 0 to 9999; nothing but 24:00:00.000 begins with hour 24. */
const USUAL = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d\.\d{3}Z$/;
const USUAL_LENGTH = 24;
/** `2026-01-02T03:04:05.` */
const SECOND_LENGTH = 20;
const ZERO = 48;

/** The texts of a second's milliseconds begin with `text`; `at`: its beginning, ms. */
interface Second {
  at: number;
  text: string;
}

/** `isExact`: whether its texts are written just so. */
interface SecondRead extends Second {
  isExact: boolean;
}

function noSeconds<Known extends Second>(): (Known | undefined)[] {
  return Array.from({ length: PLACES });
}

const made = noSeconds();
const read = noSeconds<SecondRead>();
const ENDS = Array.from({ length: SECOND_MS }, (_, ms) => `${ms}Z`.padStart(4, '0'));

/** The text of a time in ms. @throws RangeError where none stands for it */
export function textOfTime(ms: number): string {
  const number = Math.floor(ms / SECOND_MS);
  const known = made[number % PLACES];
  const end = ENDS[ms - number * SECOND_MS];
  if (known !== undefined && end !== undefined && known.at === number * SECOND_MS) return known.text + end;
  const text = new Date(ms).toISOString();
  if (ms >= 0 && text.length === USUAL_LENGTH)
    made[number % PLACES] = { at: number * SECOND_MS, text: text.slice(0, SECOND_LENGTH) };
  return text;
}

/** Two digits of a text as a number; any other where they are none. */
function twoDigits(text: string, index: number): number {
  return (text.charCodeAt(index) - ZERO) * 10 + text.charCodeAt(index + 1) - ZERO;
}

/** Where the second is remembered that a text of the usual length tells. */
function placeOf(text: string): number {
  const day = twoDigits(text, 5) * 31 + twoDigits(text, 8);
  const minute = (day * 24 + twoDigits(text, 11)) * 60 + twoDigits(text, 14);
  return (minute * 60 + twoDigits(text, 17)) % PLACES;
}

/** The milliseconds that a text of the usual length ends with; any other number where it doesn't. */
function endOf(text: string): number {
  return (text.charCodeAt(SECOND_LENGTH) - ZERO) * 100 + twoDigits(text, SECOND_LENGTH + 1);
}

/** What is remembered of the second of a text, and that it ends as such texts do; else undefined. */
function secondOf(text: string): SecondRead | undefined {
  if (text.length !== USUAL_LENGTH) return undefined;
  const known = read[placeOf(text)];
  if (known === undefined || text.slice(0, SECOND_LENGTH) !== known.text) return undefined;
  return text.slice(SECOND_LENGTH) === ENDS[endOf(text)] ? known : undefined;
}

/** The time of a text in ms; NaN where it is no time. */
export function timeOfText(text: string): number {
  const known = secondOf(text);
  if (known !== undefined) return known.at + endOf(text);
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && USUAL.test(text)) {
    const at = Math.floor(ms / SECOND_MS) * SECOND_MS;
    read[placeOf(text)] = { at, text: text.slice(0, SECOND_LENGTH), isExact: textOfTime(ms) === text };
  }
  return ms;
}

/**
 * The time of a text that is written as `textOfTime` writes it, ms; null for any other. `Date` takes February 30 for
 * March 1: such a day is no day, and doesn't come back as it was written.
 */
export function exactTime(text: string): number | null {
  const known = secondOf(text);
  if (known?.isExact === true) return known.at + endOf(text);
  const ms = timeOfText(text);
  return Number.isNaN(ms) || textOfTime(ms) !== text ? null : ms;
}

/** Whether there is a day (`yyyy-mm-dd`). */
export function isDay(day: string): boolean {
  return exactTime(`${day}T00:00:00.000Z`) !== null;
}
