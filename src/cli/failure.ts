/** How a command fails: what is told, and the exit code. */
import { AccountMoved, DoneBefore } from '../accounts/last-changes.ts';
import { AccountBusy } from '../accounts/manage.ts';
import { ConfigError } from '../config.ts';
import type { FieldError } from '../domain/message-data.ts';
import { Overloaded } from '../engine/actors/host.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { OperatorError, textOf } from '../errors.ts';
import { HolderLost } from '../holder/asking.ts';
import { ActionRefused } from '../ops/acting.ts';

export const REFUSED = 1;
export const WRONG_USAGE = 2;

/** A command that ends without having done what it was asked for. */
export class Failure extends Error {
  /** The error object's `error`. */
  readonly code: string;
  readonly exitCode: number;
  /** Further members of the error object. */
  readonly extra: Record<string, unknown>;

  constructor(
    code: string,
    message: string,
    extra: Record<string, unknown> = {},
    exitCode: number = REFUSED,
  ) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
    this.extra = extra;
  }

  /** The error object. */
  get document(): Record<string, unknown> {
    return { error: this.code, message: this.message, ...this.extra };
  }
}

/** Values that break their rule, all of them at once. */
export function invalidValues(details: readonly FieldError[]): Failure {
  const message = details.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new Failure('VALIDATION_ERROR', message, { details }, WRONG_USAGE);
}

/** A command line that can't be read. */
export function wrongUsage(message: string): Failure {
  return new Failure('INVALID_REQUEST', message, {}, WRONG_USAGE);
}

export function accountNotFound(id: string): Failure {
  return new Failure('ACCOUNT_NOT_FOUND', `no account ${id}`);
}

export function transactionNotFound(id: string): Failure {
  return new Failure('TRANSACTION_NOT_FOUND', `no transaction ${id}`);
}

/** What may be done or not, and is done once under an id, which nobody may have named. */
function openFailure({ message }: Error, id: string | null): Failure {
  if (id === null) return new Failure('SERVICE_UNAVAILABLE', message);
  const again = `${message}; the same command with --id ${id} does it once`;
  return new Failure('SERVICE_UNAVAILABLE', again, { id });
}

/** The failure that a command tells of an error. `id`: under which the command is done once. */
export function failureOf(error: unknown, id: string | null = null): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof ConfigError) {
    const message = `${error.message}: ${error.mistakes.join('; ')}`;
    return new Failure('INVALID_CONFIGURATION', message, { mistakes: error.mistakes }, WRONG_USAGE);
  }
  if (error instanceof ActionRefused) return new Failure('ID_REUSED', error.message);
  if (error instanceof DoneBefore) return new Failure('DONE_BEFORE', error.message);
  if (error instanceof AccountMoved) return new Failure('ACCOUNT_CHANGED', error.message);
  if (error instanceof AccountBusy) return new Failure('ACCOUNT_BUSY', error.message);
  if (error instanceof OperatorError) return new Failure('STORE_NOT_OPENED', error.message);
  if (error instanceof Overloaded || error instanceof StoreUnavailable || error instanceof HolderLost) {
    return openFailure(error, id);
  }
  return new Failure('INTERNAL_ERROR', textOf(error));
}
