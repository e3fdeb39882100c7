/** The run ends where something isn't as it must be; `what` says what. @throws Error */
export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}
