/** A share of a store's accounts, where several threads verify one store: each reads the whole log, and judges its own. */
import { hashOf } from '../passing.ts';

export interface Share {
  /** Whether an account is in this share. Each is in exactly one. */
  isOurs(account: string): boolean;
  /** How many there are: together they hold no more than one alone. */
  of: number;
  /** One share alone tells of what is in none, or can't be told whose it is. */
  isFirst: boolean;
  /** What all shares have compared together, of which this one has so many. */
  comparedByAll(own: number): Promise<number>;
}

/** All of it in one. */
export const WHOLE: Share = {
  isOurs: () => true,
  of: 1,
  isFirst: true,
  comparedByAll: async (own) => own,
};

/** Which of so many shares an account is in, from 0 on: by a hash of its id. */
export function shareOf(account: string, of: number): number {
  return hashOf(account) % of;
}
