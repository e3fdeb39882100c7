/**
 * What is kept of a clock that was set back, for all processes of a store: which steps forward followed. Each process
 * sees a step at its own look, and a step is followed once, whoever saw it.
 */
import { SET_MS } from '../engine/store/due.ts';

/** A step of the clock, forward, as a look saw it; times in ms since 1970. */
export interface SeenStep {
  /** What the clock showed at the look before, and at this one. */
  from: number;
  to: number;
  /** By how much it was set forward between them, ms. */
  ms: number;
  /** What it made until then may be by the clock as it was before. */
  until: number;
}

/** A step that is followed under a number of its own. */
interface Step extends SeenStep {
  number: number;
}

export interface SetBack {
  /** What it showed then: first, where it was set back again. */
  since: number;
  /** What it showed when it was set back last. */
  last: number;
  /** The steps forward since then, the last ones. */
  steps: readonly Step[];
  /** The number of the last step that there ever was. */
  number: number;
  /** Whether what was due is brought back, as far as the time is put down that tells the next process of it. */
  isDone: boolean;
}

/** A clock that goes on for so long was rightly set back, and what was brought back by it has come. */
const BELIEVED_MS = 7 * 24 * 60 * 60_000;

/** A look that saw none of the last so many steps is none of a process that runs. */
const MOST_STEPS = 20;

/** As it is written; former builds wrote `since` alone, or no steps. */
export function setBackIn(text: string | null): SetBack | null {
  if (text === null) return null;
  const told: number | (Pick<SetBack, 'since'> & Partial<SetBack>) = JSON.parse(text);
  const kept = typeof told === 'number' ? { since: told } : told;
  const { since, last = since, steps = [], number = 0, isDone = true } = kept;
  return { since, last, steps, number, isDone };
}

/** Whether a clock that was set back, and shows `now`, may be the one that is wrong: not once it has gone on for long. */
export function mayBeWrong({ since }: SetBack, now: number): boolean {
  return now - since <= BELIEVED_MS;
}

/** By how many ms a step may be the one that was seen. */
function shared({ from, to, ms }: SeenStep, seen: SeenStep): number {
  return Math.max(0, Math.min(ms, Math.min(to, seen.to) - Math.max(from, seen.from)));
}

/** The steps that what was seen is made of, in their order. */
export function stepsOf({ steps }: SetBack, seen: SeenStep): Step[] {
  return steps.filter((step) => shared(step, seen) > 0);
}

/** With what was seen, as far as it is none of the steps that are known. */
export function withStep(back: SetBack, seen: SeenStep): SetBack {
  const known = back.steps.reduce((sum, step) => sum + shared(step, seen), 0);
  const ms = seen.ms - known;
  if (ms <= SET_MS) return back;
  // The time besides: former builds forget the number, and what has followed a step doesn't.
  const number = Math.max(back.number + 1, seen.to);
  // What has followed the known ones counts as made by as much later.
  const step = { ...seen, ms, until: seen.until + known, number };
  return { ...back, number, steps: [...back.steps, step].slice(-MOST_STEPS) };
}
