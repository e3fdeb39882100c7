/**
 * Times of entries: ms since 1970, and as text (ISO 8601 in UTC, with ms). What is decided together has one time, and it
 * is asked for several times: the last one is remembered, either way.
 */
let lastMs = 0;
let lastText = new Date(lastMs).toISOString();

/** @throws RangeError where no text stands for it */
export function textOfTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}

/** NaN for a text that is no time. */
export function timeOfText(text: string): number {
  if (text !== lastText) {
    lastMs = Date.parse(text);
    lastText = text;
  }
  return lastMs;
}
