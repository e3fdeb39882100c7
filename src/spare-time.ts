/**
 * Work that can wait, beside callers who don't: it has a thread for itself while nobody calls, and the smaller a part
 * of its time the more call. One piece of it runs at a time, in the order in which they were asked for.
 */
import { pause, turn } from './waiting.ts';

/** After a piece callers have the thread for as many times as long as it took as so many of them come in a window. */
const CALLERS_A_TIME = 4;
/** And for at most so many times as long: work that can wait isn't put off for ever. */
const MOST_TIMES = 15;
/** What the process before had in hand goes on within so long after a start (decisions, "after a crash"). */
const STARTING_MS = 5_000;
/** `MOST_TIMES` for that time. */
const MOST_TIMES_STARTING = 2;
const WINDOW_MS = 100;
/** A piece that took longer, ms, has waited for a store and not worked. */
const LONGEST_MS = 4;
const LOOK_EVERY_MS = 5;

export class SpareTime {
  #last: Promise<unknown> = Promise.resolve();
  /** The last piece's end, by `performance.now`, and how long it took, ms. */
  #endedAt = 0;
  #took = 0;
  /** Callers in the window that began then, and in the one before. */
  #windowAt = Number.NEGATIVE_INFINITY;
  #callers = 0;
  #callersBefore = 0;
  #startingUntil = Number.NEGATIVE_INFINITY;

  /** The process is ready: there may be work that one before had in hand. */
  started(): void {
    this.#startingUntil = performance.now() + STARTING_MS;
  }

  /** Somebody has come who waits for an answer. */
  called(): void {
    const now = performance.now();
    const age = now - this.#windowAt;
    if (age >= WINDOW_MS) {
      this.#callersBefore = age < 2 * WINDOW_MS ? this.#callers : 0;
      this.#callers = 0;
      this.#windowAt = now;
    }
    this.#callers += 1;
  }

  /** Does a piece of work of a few ms once there is time for it. @throws what the piece throws */
  take<Result>(piece: () => Promise<Result>): Promise<Result> {
    const work = (): Promise<Result> => this.#do(piece);
    const taken = this.#last.then(work, work);
    this.#last = taken;
    return taken;
  }

  async #do<Result>(piece: () => Promise<Result>): Promise<Result> {
    await turn();
    for (let left = this.#callersLeft(); left > 0; left = this.#callersLeft())
      await pause(Math.min(LOOK_EVERY_MS, Math.max(1, left)));
    const begun = performance.now();
    try {
      return await piece();
    } finally {
      this.#endedAt = performance.now();
      this.#took = Math.min(LONGEST_MS, this.#endedAt - begun);
    }
  }

  /** For how much longer callers have the thread, ms. */
  #callersLeft(): number {
    const now = performance.now();
    const callers = now - this.#windowAt < 2 * WINDOW_MS ? Math.max(this.#callers, this.#callersBefore) : 0;
    const most = now < this.#startingUntil ? MOST_TIMES_STARTING : MOST_TIMES;
    return this.#endedAt + Math.min(most, callers / CALLERS_A_TIME) * this.#took - now;
  }
}
