/**
 * Times of entries: ms since 1970, and as text (ISO 8601 in UTC, with ms). What is decided together has one time, which is
 * made a text and read again several times: the last of each is remembered. They are two, since a text that was read need
 * not be the one that is made of its time.
 */

/** The same work, which isn't done again for what it was done for last. */
function remembering<Asked, Answer>(first: Asked, work: (asked: Asked) => Answer): (asked: Asked) => Answer {
  let last = first;
  let answer = work(first);
  return (asked) => {
    if (asked !== last) {
      answer = work(asked);
      last = asked;
    }
    return answer;
  };
}

/** @throws RangeError where no text stands for it */
export const textOfTime = remembering<number, string>(0, (ms) => new Date(ms).toISOString());

/** NaN for a text that is no time. */
export const timeOfText = remembering<string, number>('', (text) => Date.parse(text));
