/** Where rebuild keeps what it made so far: beside what serves, and on a disk, since it may be more than memory holds. */

/** Values are JSON. `record`: a transaction's `Rebuilt`. `lookup`: its row. `account`: how an account was left. */
export type ScratchKey = [kind: string, account: string, ...rest: string[]];

export interface ScratchRow {
  key: ScratchKey;
  value: string;
}

export interface Scratch {
  /** Null where nothing was put. */
  get(key: ScratchKey): string | null;
  put(rows: readonly ScratchRow[]): void;
  /** An account's rows of a kind in the order of their keys, those behind `after`. */
  page(kind: string, account: string, after: ScratchKey | null, limit: number): ScratchRow[];
}
