/** The bank wants to be left alone: since when, and until when. */

/** A bank that asks to be left alone for longer is tried again all the same. */
const LONGEST_MS = 600_000;
const WITHOUT_WORD_MS = 1_000;

export class Quiet {
  readonly #elapsed: () => number;
  #since: number | null = null;
  #until = 0;

  /** `elapsed` is a clock that never steps, ms. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** For how long nothing is to be asked, from now on, ms. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#elapsed());
  }

  /** How long it is, from the first time that the bank asked for it to the end of the last; 0 where it is over. */
  get wholeMs(): number {
    return this.#since === null ? 0 : this.#until - this.#since;
  }

  /** The bank asks for so long; null: it doesn't say for how long. */
  begin(waitMs: number | null): void {
    const now = this.#elapsed();
    this.#since ??= now;
    this.#until = now + Math.min(waitMs ?? WITHOUT_WORD_MS, LONGEST_MS);
  }

  /** The bank has answered. */
  end(): void {
    this.#since = null;
  }
}
