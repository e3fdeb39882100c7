/** What the driver's errors mean: nothing is known, nothing can be done, or the command was wrong. */

import {
  BSON,
  MongoError,
  MongoInvalidArgumentError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { StoreUnavailable, StoreUnusable } from '../../engine/store.ts';
import { asError, textOf } from '../../errors.ts';

/** The server can't be used, and no waiting mends that: a sentence for the operator. */
export class UnusableServer extends Error {}

const OLDEST_VERSION = [6, 0] as const;

/** @throws UnusableServer where a server's version is too old */
export function expectVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_VERSION;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  const oldest = OLDEST_VERSION.join('.');
  throw new UnusableServer(`MongoDB ${oldest} or newer is needed; the server is ${version}`);
}

/** Nothing is taken any more: the process closes its store. */
export class StoreClosed extends StoreUnavailable {
  constructor() {
    super('the store is closed');
  }
}

/** Server codes of an index that can't be made: another one of its name or keys, or documents against it. */
export const INDEX_CONFLICTS = new Set([67, 85, 86, 11000]);

/** Server code of a command that the user may not send. */
const NO_RIGHTS = 13;

/** Server codes of a start that no waiting mends: wrong user, missing rights. */
const UNUSABLE = new Map([
  [18, 'the database turns the user or password of MONGODB_URI down'],
  [8000, 'the database turns the user or password of MONGODB_URI down'],
  [NO_RIGHTS, 'the user of MONGODB_URI lacks rights on the database; it needs readWrite'],
  [31, 'the user of MONGODB_URI is not known to the database'],
  [73, 'MONGODB_URI names a database that there can not be'],
]);

/** Why a start that waits would wait in vain, as a sentence; null where it may not. */
export function unusableReason(error: unknown): string | null {
  if (error instanceof UnusableServer) return error.message;
  if (!(error instanceof MongoError)) return null;
  // The driver tells it as a server that can't be chosen.
  const isIncompatible = error.name === 'MongoCompatibilityError' || /imum wire version/.test(error.message);
  if (isIncompatible) return `the database can't be used: ${causeOf(error)}`;
  const code = typeof error.code === 'number' ? error.code : null;
  const reason = code === null ? undefined : UNUSABLE.get(code);
  return reason === undefined ? null : `${reason} (${error.message})`;
}

/** What went wrong, without what a connection string may hold. */
export function causeOf(error: unknown): string {
  const text = textOf(error);
  return text.replace(/\/\/[^@\s/]*@/g, '//').slice(0, 300);
}

/** Another document has the key: what that means is the caller's to say. */
export const DUPLICATE_KEY = 11000;

/** Whether a write failed since another document has its key. */
export function isTaken(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/**
 * Server codes of what never goes through, however often it is sent. Whatever else a server says passes: elections,
 * shutdowns, lack of memory, an operator's `killOp`, and what its next version may say.
 */
const HOPELESS_CODES = new Set([
  // The command is wrong: values, types, nesting, names, options, paths.
  ...[2, 9, 14, 15, 20, 28, 40, 52, 56, 57, 59, 66, 72, 73, 115, 166, 167, 40414, 40415],
  // What a patch would lengthen isn't an array.
  28664,
  // A validator doesn't allow it.
  121,
  // It is too large: the document, or what an update makes of it.
  ...[10334, 17280, 17419, 17420],
]);

/** Whether a server turns down a document, or a command, for good. */
export function isHopelessCode(code: unknown): boolean {
  return HOPELESS_CODES.has(Number(code));
}

/** Whether a connection has no user any more: whose user was dropped has none for good, though there be one of that name again. */
export function isWithoutUser(error: unknown): boolean {
  return (
    error instanceof MongoServerError &&
    error.code === NO_RIGHTS &&
    /requires authentication/i.test(error.message)
  );
}

/** What the user of a process that runs may not do any more, as a sentence; null where an error is none of that. */
function lackOfRights(error: unknown): string | null {
  if (!(error instanceof MongoServerError) || error.code !== NO_RIGHTS) return null;
  // The rest of the command is what merchants have sent.
  const [what] = causeOf(error).split(',');
  return `${UNUSABLE.get(NO_RIGHTS)} (${what?.replace('{ ', '')})`;
}

/** That an index isn't there by which the database was told to read, as a sentence; null where an error is none of that. */
function lackOfIndex(error: unknown): string | null {
  if (!(error instanceof MongoServerError) || !/hint provided does not correspond/.test(error.message))
    return null;
  return 'the database lacks an index: the next start of a server, or of a command that writes, makes it';
}

/** A lack that was met so long ago may be over. */
const LACKED_MS = 5_000;
const TOLD_EVERY_MS = 60_000;

/** Tells of a lack once a minute while it is met. */
class Told {
  readonly #onLack: (text: string) => void;
  #at = Number.NEGATIVE_INFINITY;

  constructor(onLack: (text: string) => void) {
    this.#onLack = onLack;
  }

  tell(lack: string): void {
    if (performance.now() - this.#at < TOLD_EVERY_MS) return;
    this.#at = performance.now();
    this.#onLack(lack);
  }
}

/**
 * What a process that runs has met that an operator alone mends: rights that its user lost, an index that is gone. What
 * must be written waits for that. Without a right nothing may be served; without an index all else is.
 */
export class Lacks {
  readonly #ofRights: Told;
  readonly #ofIndexes: Told;
  #right = '';
  #metAt = Number.NEGATIVE_INFINITY;

  constructor(onLack: (text: string) => void) {
    this.#ofRights = new Told(onLack);
    this.#ofIndexes = new Told(onLack);
  }

  /** Which right is lacking, as a sentence; null where none was missed lately. */
  get right(): string | null {
    return performance.now() - this.#metAt < LACKED_MS ? this.#right : null;
  }

  /** Takes notice of an error. */
  heed(error: unknown): void {
    const index = lackOfIndex(error);
    if (index !== null) this.#ofIndexes.tell(index);
    const right = lackOfRights(error);
    if (right === null) return;
    this.#right = right;
    this.#metAt = performance.now();
    this.#ofRights.tell(right);
  }
}

/** What can't be sent, before any server was asked. */
const NEVER_SENT = [TypeError, RangeError, BSON.BSONError, MongoInvalidArgumentError];

function isHopeless(error: unknown): boolean {
  if (error instanceof MongoWriteConcernError) return false;
  if (error instanceof MongoServerError) return isTaken(error) || isHopelessCode(error.code);
  return NEVER_SENT.some((kind) => error instanceof kind);
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

/**
 * What callers are told of an error of the driver: the error itself where whoever asks again gets it again, else
 * StoreUnavailable: nothing is known, and a write that must come to its end is tried again.
 */
export function understood(error: unknown): Error {
  const lack = lackOfRights(error) ?? lackOfIndex(error);
  if (lack !== null) return new StoreUnusable(lack);
  if (error instanceof StoreUnavailable || isHopeless(error)) return asError(error);
  return new StoreUnavailable(`the database does not answer: ${causeOf(error)}`);
}
