/** Errors on their way to another thread: those that the API tells apart keep their class, all others their name. */
import { Overloaded } from '../../engine/actors/host.ts';
import { BankRefused } from '../../engine/bank.ts';
import { StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';

/** An error as plain JSON. */
export interface PackedError {
  name: string;
  message: string;
  stack: string;
  /** Its own members, as far as JSON has words for them. */
  members: object;
  cause: PackedError | null;
}

type ErrorClass = new (message: string, options?: ErrorOptions) => Error;

const KEPT: readonly ErrorClass[] = [StoreUnavailable, Overloaded, BankRefused];
const byName = new Map<string, ErrorClass>(KEPT.map((Kept) => [Kept.name, Kept]));
/** More names than errors have. */
const MOST_NAMES = 1_000;
const DEEPEST = 4;

function membersOf(error: Error): object {
  try {
    return JSON.parse(JSON.stringify({ ...error }));
  } catch {
    return {};
  }
}

/** Whatever was thrown, as plain JSON. */
export function pack(thrown: unknown, depth = 0): PackedError {
  const error = asError(thrown);
  const Kept = KEPT.find((Class) => error instanceof Class);
  const isLast = !(error.cause instanceof Error) || depth === DEEPEST;
  return {
    name: Kept?.name ?? error.constructor.name,
    message: error.message,
    stack: error.stack ?? '',
    members: membersOf(error),
    cause: isLast ? null : pack(error.cause, depth + 1),
  };
}

/** A class of its own for a name that nobody here tells apart: the log shows it. */
function classOf(name: string): ErrorClass {
  const known = byName.get(name);
  if (known !== undefined) return known;
  const { [name]: Named = Error } = { [name]: class extends Error {} };
  if (byName.size < MOST_NAMES) byName.set(name, Named);
  return Named;
}

/** The error again. */
export function unpack({ name, message, stack, members, cause }: PackedError): Error {
  const error = new (classOf(name))(message, cause === null ? undefined : { cause: unpack(cause) });
  error.stack = stack;
  return Object.assign(error, members);
}
