/**
 * Times of entries: ms since 1970, and as text (ISO 8601 in UTC, with ms). What is decided together has one time, which is
 * made a text and read again several times: the last of each is remembered. They are two, since a text that was read need
 * not be the one that is made of its time.
 */
let madeOf = 0;
let made = new Date(madeOf).toISOString();
let readOf = made;
let read = madeOf;

/** @throws RangeError where no text stands for it */
export function textOfTime(ms: number): string {
  if (ms !== madeOf) {
    made = new Date(ms).toISOString();
    madeOf = ms;
  }
  return made;
}

/** NaN for a text that is no time. */
export function timeOfText(text: string): number {
  if (text !== readOf) {
    read = Date.parse(text);
    readOf = text;
  }
  return read;
}
