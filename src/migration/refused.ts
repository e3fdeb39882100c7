/** Why a migration stops. Nothing acts in two places then, and the same command may be given again. */
import type { Difference } from '../audit/verify.ts';

export type RefusalCode =
  | 'ACCOUNT_NOT_FOUND'
  /** `verify` finds differences here: they would only be carried on. */
  | 'SOURCE_NOT_VERIFIED'
  /** No key opens a webhook secret. */
  | 'SECRET_NOT_OPENED'
  /** The target has another journal, or another account, of this name. */
  | 'TARGET_CONFLICT'
  /** The copy isn't what was copied. */
  | 'TARGET_NOT_VERIFIED'
  /** Somebody wrote to the account while it was moved. */
  | 'SOURCE_CHANGED'
  | 'TARGET_OF_ANOTHER_BANK';

/** The migration stops with a sentence for the operator. */
export class MigrationRefused extends Error {
  readonly code: RefusalCode;
  /** The findings of a verification. */
  readonly differences: readonly Difference[];

  constructor(code: RefusalCode, message: string, differences: readonly Difference[] = []) {
    super(message);
    this.code = code;
    this.differences = differences;
  }
}

/** A verification that found something, told by its first difference. */
export function notVerified(
  code: 'SOURCE_NOT_VERIFIED' | 'TARGET_NOT_VERIFIED',
  where: string,
  differences: readonly Difference[],
): MigrationRefused {
  const [first] = differences;
  const told = first === undefined ? '' : `: ${first.account} #${first.seq}: ${first.what}`;
  const count = differences.length === 1 ? 'a difference' : `${differences.length} differences, the first`;
  return new MigrationRefused(code, `${where} has ${count}${told}; no account was moved`, differences);
}
