/** Work that goes on and on, and takes a twentieth of a core at the most. */

const LOOK_MS = 1_000;
/** It rests so many times as long as it was busy. */
const REST = 19;
/** No longer than that: what took so long has waited for a store that is slow. */
const LONGEST_REST_MS = 5_000;

/** For so long it works at a time. */
export const BUSY_MS = 50;

function restAfter(busyMs: number): number {
  return Math.min(LONGEST_REST_MS, Math.max(LOOK_MS, REST * busyMs));
}

export class Pace {
  readonly #work: () => Promise<void>;
  readonly #onTrouble: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(work: () => Promise<void>, onTrouble: (error: unknown) => void) {
    this.#work = work;
    this.#onTrouble = onTrouble;
    this.#next(0);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves once nothing is done any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  #next(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      const begun = performance.now();
      this.#working = this.#work()
        .catch(this.#onTrouble)
        .then(() => this.#next(restAfter(performance.now() - begun)));
    }, afterMs);
  }
}
