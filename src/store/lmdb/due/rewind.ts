/**
 * Brings back what a clock that was ahead made due for later: it is due after as long from now. Where the clock had been
 * right, and is set forward, what was brought back is put off by as much, until it is due when it was before.
 */
import {
  broughtBackBy,
  putForward,
  type Reckoned,
  SET_MS,
  type SetForward,
} from '../../../engine/store/due.ts';
import type { Projections } from '../projections/projections.ts';
import { revise } from './revise.ts';

/** A thing that a clock made which was ahead of now, brought back; any other as it is. */
export function broughtBack(thing: Reckoned, now: number): Reckoned {
  const { due, made } = thing;
  return made > now + SET_MS ? { due: broughtBackBy(due, made - now), made: now } : thing;
}

/** How many things were brought back. What is made due by the right clock while others are looked at is let be. */
export function rewindSchedule(projections: Projections, now: () => number): Promise<number> {
  return revise(projections, { revision: (thing) => broughtBack(thing, now()), all: true });
}

/** How many things that were brought back were put off by a step of the clock. */
export function unwindSchedule(projections: Projections, forward: SetForward): Promise<number> {
  return revise(projections, { revision: (thing) => putForward(thing, forward), all: true });
}
