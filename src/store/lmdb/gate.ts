/**
 * Nobody opens or closes the environment while anybody writes to it or opens it, in whatever process.
 *
 * lmdb 3.5.6 lacks the fix of LMDB's ITS#9496: a process that opens an environment sets the number of its last
 * transaction to what the file said a moment before. A transaction that was committed in between is gone, though
 * its writer was told that it is durable, and the next one may take its pages. And the last process to close it
 * takes the locks away from one that is opening it.
 *
 * The locks are the operating system's, on two files in the folder: they end with their process. Writers
 * share the gate, an opener has it alone. Between two openers there is a turnstile, which each writer passes
 * as well, so that those who write all the time let an opener in.
 */

import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { tryLock, unlock } from 'fs-native-extensions';
import { StoreUnavailable } from '../../engine/store.ts';
import { pause } from '../../waiting.ts';

const POLL_MS = 1;
/** A write that takes longer may be in the hands of a process that is stopped. */
const SUSPECT_AFTER_MS = 1_500;
const LOOK_AGAIN_MS = 500;
/** A reader gives up after this; a flush to a disk never takes so long. */
const READER_PATIENCE_MS = 30_000;

function listed(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Whether a process has the file open, as far as proc(5) tells; one that has ended has none. */
export function hasOpen(pid: string, path: string): boolean {
  return listed(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
    } catch {
      return false;
    }
  });
}

function isStopped(pid: string): boolean {
  try {
    return /^State:\s+[Tt]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whether a process that has the file open is stopped (SIGSTOP, a debugger), as far as proc(5) tells. */
function isWithStopped(path: string): boolean {
  return listed('/proc').some((pid) => /^\d+$/.test(pid) && hasOpen(pid, path) && isStopped(pid));
}

/** The gate's file, which whoever works on the folder has open. */
export function gateIn(folder: string): string {
  return `${folder}/pixstate.gate`;
}

export class FolderGate {
  readonly #path: string;
  readonly #gate: number;
  readonly #turnstile: number;
  /** Writes under way in this process. */
  #writes = 0;
  /** The end of the line of writes that wait to be let in; the next one waits behind it. */
  #waiting: Promise<void> | null = null;
  #ended: (() => void) | null = null;
  #closed = false;

  /** @throws Error of the file system, where the folder can't be written to. */
  constructor(folder: string) {
    this.#path = gateIn(folder);
    this.#gate = openSync(this.#path, 'a+');
    this.#turnstile = openSync(`${folder}/pixstate.turnstile`, 'a+');
  }

  /** Opens or closes the environment, once nobody writes to it, opens or closes it. */
  alone<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return this.#alone(work, async (fd) => {
      while (!tryLock(fd)) await pause(POLL_MS);
      return true;
    });
  }

  /**
   * As `alone`, for a process that only reads or is about to close: where another one is stopped in the middle of
   * a write, and all the others wait behind it, nothing is committed meanwhile, and `work` is done beside it.
   * @throws StoreUnavailable where another process is busy for longer than a write takes
   */
  besideStopped<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    let lookAt = startedAt + SUSPECT_AFTER_MS;
    return this.#alone(work, async (fd) => {
      while (!tryLock(fd)) {
        const now = performance.now();
        if (now >= lookAt) {
          if (isWithStopped(realpathSync(this.#path))) return false;
          if (now - startedAt > READER_PATIENCE_MS)
            throw new StoreUnavailable('another process keeps the store busy');
          lookAt = now + LOOK_AGAIN_MS;
        }
        await pause(POLL_MS);
      }
      return true;
    });
  }

  async #alone<Result>(
    work: () => Result | Promise<Result>,
    lock: (fd: number) => Promise<boolean>,
  ): Promise<Result> {
    if (!(await lock(this.#turnstile))) return work();
    try {
      if (!(await lock(this.#gate))) return await work();
      try {
        return await work();
      } finally {
        unlock(this.#gate);
      }
    } finally {
      unlock(this.#turnstile);
    }
  }

  /**
   * Writes to the environment, to the end of what `work` gives.
   * @throws StoreUnavailable after `end`
   */
  async write<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#expectOpen();
    if (this.#waiting !== null || !this.#entered()) await this.#turn();
    try {
      return await work();
    } finally {
      this.#writes -= 1;
      if (this.#writes === 0) {
        unlock(this.#gate);
        this.#ended?.();
      }
    }
  }

  #expectOpen(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed');
  }

  #entered(): boolean {
    if (!tryLock(this.#turnstile, { shared: true })) return false;
    try {
      if (this.#writes === 0 && !tryLock(this.#gate, { shared: true })) return false;
      this.#writes += 1;
      return true;
    } finally {
      unlock(this.#turnstile);
    }
  }

  async #turn(): Promise<void> {
    const before = this.#waiting ?? Promise.resolve();
    const turn = before.then(async () => {
      for (;;) {
        this.#expectOpen();
        if (this.#entered()) return;
        await pause(POLL_MS);
      }
    });
    const end = turn.catch(() => {});
    this.#waiting = end;
    await turn;
    if (this.#waiting === end) this.#waiting = null;
  }

  /** Lets no more writes in; resolves once those under way have come to their end. */
  async end(): Promise<void> {
    this.#closed = true;
    await this.#waiting;
    if (this.#writes === 0) return;
    await new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
  }

  /** After the environment is closed: whatever is locked is free then. */
  close(): void {
    closeSync(this.#gate);
    closeSync(this.#turnstile);
  }
}
