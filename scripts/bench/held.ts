/** What a steady rate of creations leaves behind, and whether that grows. */
import type { Moment } from './generator.ts';

/** The first part of the time is the start: what is on its way then has yet to end for the first time. */
const START = 0.3;
/** The backlog grows where it gains more than this share of what is created meanwhile. */
const GROWTH = 0.03;

export interface Backlog {
  grew: boolean;
  /** What was unfinished after the start, and at the end. */
  first: number;
  last: number;
  /** Finished a second, after the start. */
  rate: number;
}

/** The count at a moment, on a line between the looks before and after it. */
export function countAt(moments: readonly Moment[], at: number): number {
  const next = moments.findIndex((moment) => moment.at >= at);
  const [before, after] = [moments[next - 1], moments[next]];
  if (after === undefined) return moments.at(-1)?.count ?? 0;
  if (before === undefined) return after.count;
  const share = (at - before.at) / (after.at - before.at);
  return before.count + share * (after.count - before.count);
}

/** The slope of the line that fits best, a millisecond. */
function slopeOf(moments: readonly Moment[]): number {
  const mean = (of: (moment: Moment) => number): number =>
    moments.reduce((sum, moment) => sum + of(moment), 0) / moments.length;
  const [at, count] = [mean((moment) => moment.at), mean((moment) => moment.count)];
  const square = mean((moment) => (moment.at - at) ** 2);
  return square === 0 ? 0 : mean((moment) => (moment.at - at) * (moment.count - count)) / square;
}

/** Of what was created by when, and finished by when. @throws where there is too little of it */
export function backlogOf(created: readonly Moment[], finished: readonly Moment[]): Backlog {
  const [first, last] = [created[0], created.at(-1)];
  const from = first === undefined || last === undefined ? 0 : first.at + START * (last.at - first.at);
  const backlog = created
    .filter(({ at }) => at >= from)
    .map(({ at, count }) => ({ at, count: count - countAt(finished, at) }));
  const [begin, end] = [backlog[0], backlog.at(-1)];
  if (begin === undefined || end === undefined || end.at === begin.at)
    throw new Error('the time is too short to say whether a backlog grows');
  const ms = end.at - begin.at;
  const gained = slopeOf(backlog) * ms;
  const made = countAt(created, end.at) - countAt(created, begin.at);
  const done = countAt(finished, end.at) - countAt(finished, begin.at);
  return { grew: gained > GROWTH * made, first: begin.count, last: end.count, rate: (done / ms) * 1000 };
}
