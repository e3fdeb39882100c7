/**
 * Brings back what a clock that was ahead made due for later: it is due after as long from now. Where the clock had been
 * right, and is so again, what was brought back is due when it was before.
 */
import { FAR_MS } from '../../../engine/store/backlog.ts';
import { ownTime, SET_MS, type SetForward } from '../../../engine/store/due.ts';
import type { Projections } from '../projections/projections.ts';
import { revise } from './revise.ts';
import type { Reckoned } from './schedule.ts';

/** By how many ms the clock was ahead by which a thing was made. */
function aheadBy({ due, made }: Reckoned, now: number): number {
  if (made > now + SET_MS) return made - now;
  return due.kind === 'bank' && due.at > now + FAR_MS ? due.at - now : 0;
}

/** A thing that a clock made which was ahead of now, brought back; any other as it is. */
export function broughtBack(thing: Reckoned, now: number): Reckoned {
  const ms = aheadBy(thing, now);
  if (ms === 0) return thing;
  const { due } = thing;
  return { due: { ...due, at: due.at - ms, ahead: (due.ahead ?? 0) + ms }, made: now };
}

/** How many things were brought back. What is made due by the right clock while others are looked at is let be. */
export function rewindSchedule(projections: Projections, now: () => number): Promise<number> {
  return revise(projections, { revision: (thing) => broughtBack(thing, now()), all: true });
}

/** How many things are due again when they were before they were brought back. */
export function unwindSchedule(projections: Projections, { ms, since, until }: SetForward): Promise<number> {
  return revise(projections, {
    revision: (thing) => {
      const { due, made } = thing;
      const { ahead = 0 } = due;
      const isIts = ahead > 0 && ahead <= ms + SET_MS && made >= since && made <= until;
      // Reckoned by the clock of then again: the present one may have been set too far.
      return isIts ? { due: { ...due, at: ownTime(due), ahead: 0 }, made: made + ahead } : thing;
    },
    all: true,
  });
}
