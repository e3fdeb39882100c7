/**
 * Nobody opens the environment while anybody writes to it, in whatever process.
 *
 * lmdb 3.5.6 lacks the fix of LMDB's ITS#9496: whoever opens an environment sets the number of its last
 * transaction to what the file said a moment before. A transaction that was committed in between is gone, though
 * its writer was told that it is durable, and the next one may take its pages.
 *
 * The locks are the operating system's, on bytes of a file in the folder: they end with their process. Writers
 * share the gate, whoever opens has it alone. Between two openers there is a turnstile, which each writer passes
 * as well, so that those who write all the time let an opener in.
 */
import { closeSync, openSync } from 'node:fs';
import { tryLock, unlock } from 'fs-native-extensions';

const TURNSTILE = 0;
const GATE = 1;
const POLL_MS = 1;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export class FolderGate {
  readonly #fd: number;
  /** Writes under way in this process. */
  #writes = 0;
  /** Who waits to write; those who come later wait behind. */
  #waiting: Promise<void> | null = null;
  #closed = false;

  /** @throws Error of the file system, where the folder can't be written to. */
  constructor(folder: string) {
    this.#fd = openSync(`${folder}/pixstate.gate`, 'a+');
  }

  /**
   * Opens the environment once nobody writes to it. Who only reads may have limited patience: a writer that has
   * not come to its end by then is taken for frozen, and those behind it can't commit either.
   */
  async open<Result>(
    work: () => Result | Promise<Result>,
    patienceMs = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    const deadline = performance.now() + patienceMs;
    if (!(await this.#locked(TURNSTILE, deadline))) return work();
    try {
      if (!(await this.#locked(GATE, deadline))) return await work();
      try {
        return await work();
      } finally {
        unlock(this.#fd, GATE, 1);
      }
    } finally {
      unlock(this.#fd, TURNSTILE, 1);
    }
  }

  async #locked(byte: number, deadline: number): Promise<boolean> {
    while (!tryLock(this.#fd, byte, 1)) {
      if (performance.now() > deadline) return false;
      await pause(POLL_MS);
    }
    return true;
  }

  /** Writes to the environment, to the end of what `work` gives. */
  async write<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting !== null || !this.#entered()) await this.#turn();
    try {
      return await work();
    } finally {
      this.#writes -= 1;
      if (this.#writes === 0 && !this.#closed) unlock(this.#fd, GATE, 1);
    }
  }

  #entered(): boolean {
    if (!tryLock(this.#fd, TURNSTILE, 1, { shared: true })) return false;
    try {
      if (this.#writes === 0 && !tryLock(this.#fd, GATE, 1, { shared: true })) return false;
      this.#writes += 1;
      return true;
    } finally {
      unlock(this.#fd, TURNSTILE, 1);
    }
  }

  async #turn(): Promise<void> {
    const before = this.#waiting ?? Promise.resolve();
    const turn = before.then(async () => {
      while (!this.#entered()) await pause(POLL_MS);
    });
    const end = turn.catch(() => {});
    this.#waiting = end;
    await turn;
    if (this.#waiting === end) this.#waiting = null;
  }

  /** After the environment is closed: whatever is locked is free then. */
  close(): void {
    this.#closed = true;
    closeSync(this.#fd);
  }
}
