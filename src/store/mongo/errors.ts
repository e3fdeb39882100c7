/** What the driver's errors mean: nothing is known, nothing can be done, or the command was wrong. */

import { MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb';
import { StoreUnavailable } from '../../engine/store.ts';
import { asError, textOf } from '../../errors.ts';

/** The server can't be used, and no waiting mends that: a sentence for the operator. */
export class UnusableServer extends Error {}

/** Nothing is taken any more: the process closes its store. */
export class StoreClosed extends StoreUnavailable {
  constructor() {
    super('the store is closed');
  }
}

/** Server codes of an index that can't be made: another one of its name or keys, or documents against it. */
export const INDEX_CONFLICTS = new Set([67, 85, 86, 11000]);

/** Server codes that no waiting mends: wrong user, missing rights. */
const HOPELESS = new Map([
  [18, 'the database turns the user or password of MONGODB_URI down'],
  [8000, 'the database turns the user or password of MONGODB_URI down'],
  [13, 'the user of MONGODB_URI lacks rights on the database; it needs readWrite'],
  [31, 'the user of MONGODB_URI is not known to the database'],
  [73, 'MONGODB_URI names a database that there can not be'],
]);

/** Why waiting is no use, as a sentence; null where it may be. */
export function hopelessReason(error: unknown): string | null {
  if (error instanceof UnusableServer) return error.message;
  if (!(error instanceof MongoError)) return null;
  // The driver tells it as a server that can't be chosen.
  const isIncompatible = error.name === 'MongoCompatibilityError' || /imum wire version/.test(error.message);
  if (isIncompatible) return `the database can't be used: ${causeOf(error)}`;
  const code = typeof error.code === 'number' ? error.code : null;
  const reason = code === null ? undefined : HOPELESS.get(code);
  return reason === undefined ? null : `${reason} (${error.message})`;
}

/** What went wrong, without what a connection string may hold. */
export function causeOf(error: unknown): string {
  const text = textOf(error);
  return text.replace(/\/\/[^@\s/]*@/g, '//').slice(0, 300);
}

/** Server codes that pass: elections, shutdowns, time-outs of the majority. */
const PASSING = new Set([
  ...[6, 7, 50, 64, 89, 91, 112, 189, 202, 262, 317, 358, 9001],
  ...[10058, 10107, 11600, 11602, 13388, 13435, 13436, 134, 63, 150, 234, 9002],
]);

/** Node's own errors of a connection that ended: EPIPE, ECONNRESET and their like. */
function isOfSocket(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof MongoError) return false;
  // A command that was given up: whether it took effect is not known.
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return true;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^(E[A-Z]+|ERR_(STREAM|SOCKET)_\w+)$/.test(code);
}

/** Whether others would wait in vain as well: no server, or one that doesn't answer. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    (error.name === 'MongoServerSelectionError' ||
      error.name === 'MongoNetworkTimeoutError' ||
      error.name === 'MongoTopologyClosedError')
  );
}

/** What callers are told of an error: StoreUnavailable where nothing is known then. */
export function understood(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error;
  const unavailable = new StoreUnavailable(`the database does not answer: ${causeOf(error)}`);
  // The driver lets some errors of its sockets through as they are.
  if (isOfSocket(error)) return unavailable;
  if (!(error instanceof MongoError)) return asError(error);
  // What a server says about a command is not the network's fault, unless it says so itself.
  const passes =
    !(error instanceof MongoServerError) ||
    error instanceof MongoWriteConcernError ||
    error.hasErrorLabel('RetryableWriteError') ||
    PASSING.has(Number(error.code)) ||
    hopelessReason(error) !== null;
  return passes ? unavailable : error;
}
