/** Errors: the operator's own kind, and how anything that was thrown is told. */

/** The operator did something that can be mended: one clear sentence, no stack. */
export class OperatorError extends Error {}

/** A thrown value as an Error: anything can be thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** A thrown value as a sentence for people. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The operating system's name of an error (`ENOSPC`), or the error's text where it has none. */
export function codeOf(thrown: unknown): string {
  return (thrown as NodeJS.ErrnoException).code ?? String(thrown);
}

/**
 * What a store in a data folder could not write: its log, and what that holds isn't known then; or the projections, and
 * all of them follows from the log, which is taken up by who opens the store next.
 */
export type Unwritten = 'log' | 'projections';

/** The sentence that a process ends with because its store could not write. */
export function writeFailure(error: Error): string {
  return `the store could not write (${error.message}): is there space on the disk?`;
}
