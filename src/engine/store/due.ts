/** What is due, and claims on it: the part of the store's port that its roles share. */
import type { BankOrder } from '../journal.ts';

interface DueParts {
  at: number;
  account: string;
  transaction: string;
  tries: number;
  /** By how many ms the time that it was set by was ahead of the clock; absent: by none. */
  ahead?: number;
}

/** A thing that is due at a time (ms since 1970). It is a hint: its claimer reads again the state that it acts on. */
export type Due = DueParts &
  (
    | { kind: 'timer'; name: string }
    | { kind: 'bank'; order: BankOrder }
    /** Without `url` the journal has to be asked for it. */
    | { kind: 'delivery'; delivery: string; url?: string }
  );

export type DueKind = Due['kind'];

/**
 * A due thing of some kinds in one's hands, until it is settled. The token is the adapter's own: it says which
 * claim it is and whose.
 */
export type ClaimOf<Kind extends DueKind> = Kind extends DueKind
  ? { due: Extract<Due, { kind: Kind }>; token: string }
  : never;

export type Claim = ClaimOf<DueKind>;

/** The claim on a due thing, whatever its kind. */
export function claimOn(due: Due, token: string): Claim {
  // TypeScript does not see that a due thing of each kind gives a claim of that kind.
  return { due, token } as Claim;
}

/** Whether a claim is on a due thing of a kind. */
export function isOf<Kind extends DueKind>(claim: Claim, kind: Kind): claim is Claim & ClaimOf<Kind> {
  return claim.due.kind === kind;
}
