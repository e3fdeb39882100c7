/** What is due, and claims on it: the part of the store's port that its roles share. */
import { textOfTime, timeOfText } from '../../domain/time.ts';
import type { BankOrder } from '../journal.ts';

interface DueParts {
  at: number;
  account: string;
  transaction: string;
  tries: number;
  /** By how many ms the time that it was set by was ahead of the clock; absent: by none. */
  ahead?: number;
  /** The number of the last step of the clock, forward, that put it off; absent or 0: none since it was brought back. */
  followed?: number;
}

/** Those of an append that are to be carried out. */
export function allDue(due: readonly (Due | null)[]): Due[] {
  return due.filter((each) => each !== null);
}

/** A clock that was set back by less (ms) is let be. */
export const SET_MS = 1_000;

/** A thing that is due at a time (ms since 1970). It is a hint: its claimer reads again the state that it acts on. */
export type Due = DueParts &
  /** `own`: once it was put off, when it was due before that, by the clock of then. */
  (
    | { kind: 'timer'; name: string; own?: { at: number; ahead: number } }
    | { kind: 'bank'; order: BankOrder }
    /** Without `url` the journal has to be asked for it. */
    | { kind: 'delivery'; delivery: string; url?: string }
  );

/**
 * A step of the clock, forward by `ms`, after it had been set back to `since`; until then it showed no more than `until`
 * (ms since 1970). Steps have rising numbers: what has followed one doesn't follow it again.
 */
export interface SetForward {
  number: number;
  ms: number;
  since: number;
  until: number;
}

/** A due thing, and the clock by which it was reckoned, ms. */
export interface Reckoned {
  due: Due;
  made: number;
}

/** A thing that was brought back by `ms` more. */
export function broughtBackBy<Some extends Due>(due: Some, ms: number): Some {
  return { ...due, at: due.at - ms, ahead: (due.ahead ?? 0) + ms, followed: 0 };
}

/**
 * A thing after a step of the clock: one that was brought back waits as long as before, or until its own time. By then
 * it is reckoned by the clock as it had been: the present one may have been set too far. Any other is as it was.
 */
export function putForward(thing: Reckoned, { number, ms, since, until }: SetForward): Reckoned {
  const { due, made } = thing;
  const { ahead = 0, followed = 0 } = due;
  if (ahead <= 0 || followed >= number || made < since || made > until) return thing;
  const by = ahead <= ms + SET_MS ? ahead : ms;
  return { due: { ...due, at: due.at + by, ahead: ahead - by, followed: number }, made: made + by };
}

/** When a thing is due by the time that it was set by, which may have been ahead of the clock. */
export function ownTime({ at, ahead = 0 }: Pick<Due, 'at' | 'ahead'>): number {
  return at + ahead;
}

/**
 * Up to which time, as its thing was dated, what was claimed may be taken as come: a clock has shown the time that it
 * was due at, even where it was set back since.
 */
export function seen({ at, ahead = 0 }: Pick<Due, 'at' | 'ahead'>, clock: number): number {
  return (at > clock + SET_MS ? at : clock) + ahead;
}

/**
 * Whether what was claimed by a clock that was ahead lies ahead of it, now that it is set right. What that clock set
 * itself, at `setAt` (ISO), has come by it.
 */
export function isEarly({ at, ahead = 0 }: Pick<Due, 'at' | 'ahead'>, setAt: string, clock: number): boolean {
  const soon = clock + SET_MS;
  return at > soon && timeOfText(setAt) - ahead <= soon;
}

/**
 * What was claimed and is put off: what has come stays so, whatever the clock says now. Once the clock has come to the
 * time that it was due at by the one that was ahead, it is ahead no more, and nothing moves it if that clock was right.
 */
export function postponed<Some extends Due>(due: Some, delayMs: number, clock: number): Some {
  const ahead = Math.max(0, ownTime(due) - clock);
  return { ...due, at: clock + delayMs, ahead, tries: due.tries + 1 };
}

/** A timer that is due. */
export type DueTimer = Extract<Due, { kind: 'timer' }>;

/** A timer that has come, though the clock was set back since it was claimed: it is due by now, and stays so. */
export function come(due: DueTimer, clock: number): DueTimer {
  return due.at > clock + SET_MS ? { ...due, at: clock, ahead: ownTime(due) - clock } : due;
}

/** A timer that was claimed and waits until a time (ms). Its own is kept: the clock by which it has come may be wrong. */
export function putOff(due: DueTimer, until: number): DueTimer {
  const { at, ahead = 0, own = { at, ahead } } = due;
  return { ...due, at: until, ahead, own };
}

/**
 * A timer by its own time, whatever it was put off to. A step of the clock since, forward, has put that off, too. What
 * the clock was ahead by that was set back since counts where that one had set the timer, too, at `setAt` (ISO).
 */
export function byOwnTime(due: DueTimer, setAt: string, clock: number): DueTimer {
  const { own, ...parts } = due;
  if (own === undefined) return due;
  const { at, ahead } = own;
  const back = (due.ahead ?? 0) - ahead;
  const counts = back < 0 || timeOfText(setAt) - ahead > clock + SET_MS;
  return counts ? { ...parts, at: at - back, ahead: ahead + back } : { ...parts, at, ahead };
}

/** A thing that is due again after an attempt, as the clock is now: it is ahead of that no more. */
export function dueAgain<Some extends Due>(due: Some, at: number, tries: number): Some {
  if (due.ahead === undefined) return { ...due, at, tries };
  const { ahead: _ahead, ...parts } = due;
  return { ...(parts as Some), at, tries };
}

/** The bank's wake-up instead of an order of a transaction; `at` in ms. */
export function wakeUp(due: Due & { kind: 'bank' }, step: number, at: number): Due & { kind: 'bank' } {
  return { ...due, at, tries: 0, order: { kind: 'wake', step, at: textOfTime(at) } };
}

/** A wake-up for the bank's sake that comes within so many ms is claimed beforehand, and waits in memory. */
export const KEPT_MS = 5_000;

/** Whether a batch that claims what is due by a time (ms) claims this. */
export function isClaimed(due: Due, claimUntil: number): boolean {
  const isWake = due.kind === 'bank' && due.order.kind === 'wake';
  return due.at <= (isWake ? claimUntil + KEPT_MS : claimUntil);
}

export type DueKind = Due['kind'];

export const DUE_KINDS: readonly DueKind[] = ['bank', 'timer', 'delivery'];

/**
 * A due thing of some kinds in one's hands, until it is settled. The token is the adapter's own: it says which
 * claim it is and whose.
 */
export type ClaimOf<Kind extends DueKind> = Kind extends DueKind
  ? { due: Extract<Due, { kind: Kind }>; token: string }
  : never;

export type Claim = ClaimOf<DueKind>;

/** An order to the bank that is due. */
export type DueOrder<Kind extends BankOrder['kind'] = BankOrder['kind']> = ClaimOf<'bank'>['due'] & {
  order: BankOrder & { kind: Kind };
};

/** The claim on a due thing, whatever its kind. */
export function claimOn(due: Due, token: string): Claim {
  // TypeScript does not see that a due thing of each kind gives a claim of that kind.
  return { due, token } as Claim;
}

/** A question to the bank about a transaction: about a payment of it (its end-to-end id), or only in a state. */
export function question(
  account: string,
  transaction: string,
  at: number,
  about: { payment?: string; state?: string } = {},
): Due {
  return { kind: 'bank', at, account, transaction, tries: 0, order: { kind: 'ask', ...about } };
}

/** Whether a claim is on a due thing of a kind. */
export function isOf<Kind extends DueKind>(claim: Claim, kind: Kind): claim is Claim & ClaimOf<Kind> {
  return claim.due.kind === kind;
}
