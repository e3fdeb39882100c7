/** What is thrown, and what can be made of it. */

/** The operator did something that can be mended: one clear sentence, no stack. */
export class OperatorError extends Error {}

/** What was thrown, as an Error: anything can be thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What was thrown, as a sentence for people. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** What the operating system calls an error (`ENOSPC`), or the error's text where it gave no name. */
export function codeOf(thrown: unknown): string {
  return (thrown as NodeJS.ErrnoException).code ?? String(thrown);
}
