/**
 * Brings back what a clock that was ahead made due for later: it is due after as long from now. Where the clock had been
 * right, and is set forward, what was brought back is put off by as much, until it is due when it was before.
 */
import { FAR_MS } from '../../../engine/store/backlog.ts';
import {
  broughtBackBy,
  putForward,
  type Reckoned,
  SET_MS,
  type SetForward,
} from '../../../engine/store/due.ts';
import type { Projections } from '../projections/projections.ts';
import { revise } from './revise.ts';

/** By how many ms the clock was ahead by which a thing was made. */
function aheadBy({ due, made }: Reckoned, now: number): number {
  if (made > now + SET_MS) return made - now;
  return due.kind === 'bank' && due.at > now + FAR_MS ? due.at - now : 0;
}

/** A thing that a clock made which was ahead of now, brought back; any other as it is. */
export function broughtBack(thing: Reckoned, now: number): Reckoned {
  const ms = aheadBy(thing, now);
  return ms === 0 ? thing : { due: broughtBackBy(thing.due, ms), made: now };
}

/** How many things were brought back. What is made due by the right clock while others are looked at is let be. */
export function rewindSchedule(projections: Projections, now: () => number): Promise<number> {
  return revise(projections, { revision: (thing) => broughtBack(thing, now()), all: true });
}

/** How many things that were brought back were put off by a step of the clock. */
export function unwindSchedule(projections: Projections, forward: SetForward): Promise<number> {
  return revise(projections, { revision: (thing) => putForward(thing, forward), all: true });
}
