/**
 * Work that can wait, beside callers who don't: it has a thread for itself while nobody calls, and the smaller a part
 * of its time the more call. Pieces begin in the order in which they were asked for, one after the other: the next one
 * once the thread has nothing to do for the one before, which has ended by then or waits for its store.
 */
import { atMost, pause, turn } from './waiting.ts';

/** After a piece callers have the thread for as many times as long as it took as so many of them come in a window. */
const CALLERS_A_TIME = 4;
/** And for at most so many times as long: work that can wait isn't put off for ever. */
const MOST_TIMES = 15;
/** What the process before had in hand goes on within so long after a start (decisions, "after a crash"). */
const STARTING_MS = 5_000;
/** `MOST_TIMES` for that time. */
const MOST_TIMES_STARTING = 2;
const WINDOW_MS = 100;
/** A piece that takes longer, ms, waits for a store and doesn't work. */
const LONGEST_MS = 4;
/** The most pieces that wait for a store at the same time. */
const MOST_WAITING = 8;
const LOOK_EVERY_MS = 5;

/** Who has come lately and waits for an answer, and for how long the thread is left to them. */
class Callers {
  /** Callers in the window that began then, and in the one before. */
  #windowAt = Number.NEGATIVE_INFINITY;
  #callers = 0;
  #callersBefore = 0;
  #startingUntil = Number.NEGATIVE_INFINITY;

  started(): void {
    this.#startingUntil = performance.now() + STARTING_MS;
  }

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

  /** Callers of this window, or of the one before where they were more. */
  lately(now: number): number {
    return now - this.#windowAt < 2 * WINDOW_MS ? Math.max(this.#callers, this.#callersBefore) : 0;
  }

  /** For how many times as long as a piece took they have the thread after it. */
  times(now: number): number {
    const most = now < this.#startingUntil ? MOST_TIMES_STARTING : MOST_TIMES;
    return Math.min(most, this.lately(now) / CALLERS_A_TIME);
  }
}

export class SpareTime {
  readonly #callers: Callers;
  #last: Promise<unknown> = Promise.resolve();
  /** Those that have begun. */
  readonly #underWay = new Set<Promise<void>>();
  /** When the thread was done with the last piece, by `performance.now`, and how long that took, ms. */
  #endedAt = 0;
  #took = 0;

  /** `beside`: other work of the thread, for which this one doesn't wait; it has the same callers. */
  constructor(beside?: SpareTime) {
    this.#callers = beside === undefined ? new Callers() : beside.#callers;
  }

  /** The process is ready: there may be work that one before had in hand. */
  started(): void {
    this.#callers.started();
  }

  /** Somebody has come who waits for an answer. */
  called(): void {
    this.#callers.called();
  }

  /** Nobody has come lately: a piece may be larger. */
  get isAlone(): boolean {
    return this.#callers.lately(performance.now()) === 0;
  }

  /**
   * Does a piece of work of a few ms once there is time for it; `mostTimes`: once callers have had the thread for so
   * many times as long as the piece before took, at the latest. @throws what the piece throws
   */
  take<Result>(piece: () => Promise<Result>, mostTimes = MOST_TIMES): Promise<Result> {
    const begun = this.#last.then(() => this.#begin(piece, mostTimes));
    this.#last = begun.then(({ isAside }) => isAside);
    return begun.then(({ result }) => result);
  }

  /** Begins a piece; `isAside` resolves once the thread is for others. */
  async #begin<Result>(
    piece: () => Promise<Result>,
    mostTimes: number,
  ): Promise<{ result: Promise<Result>; isAside: Promise<void> }> {
    await turn();
    for (let left = this.#callersLeft(mostTimes); left > 0; left = this.#callersLeft(mostTimes))
      await pause(Math.min(LOOK_EVERY_MS, Math.max(1, left)));
    const begun = performance.now();
    const result = (async (): Promise<Result> => piece())();
    return { result, isAside: this.#aside(begun, result) };
  }

  async #aside(begun: number, result: Promise<unknown>): Promise<void> {
    let hasEnded = false;
    const end = (): void => {
      hasEnded = true;
      this.#underWay.delete(ended);
    };
    const ended: Promise<void> = result.then(end, end);
    this.#underWay.add(ended);
    // Most end without waiting for anything.
    await Promise.race([ended, turn()]);
    if (!hasEnded) await atMost(LONGEST_MS, ended);
    if (this.#underWay.size >= MOST_WAITING) await Promise.race(this.#underWay);
    this.#endedAt = performance.now();
    this.#took = Math.min(LONGEST_MS, this.#endedAt - begun);
  }

  /** For how much longer callers have the thread, ms. */
  #callersLeft(mostTimes: number): number {
    const now = performance.now();
    return this.#endedAt + Math.min(mostTimes, this.#callers.times(now)) * this.#took - now;
  }
}
