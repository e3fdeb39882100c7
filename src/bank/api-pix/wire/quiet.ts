/** The bank wants to be left alone: since when, and until when. */

/** A bank that asks to be left alone for longer is tried again all the same. */
const LONGEST_MS = 600_000;
const WITHOUT_WORD_MS = 1_000;
/** What the bank asks for so long after the last time is over is no part of it. */
const APART_MS = 60_000;

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

  /** How long it is, from the first time that the bank asked for it to the end of the last; 0 where that is over. */
  get wholeMs(): number {
    return this.#since === null || this.leftMs === 0 ? 0 : this.#until - this.#since;
  }

  /** The bank asks for so long; null: it doesn't say for how long. */
  begin(waitMs: number | null): void {
    const now = this.#elapsed();
    // What was asked for long ago is another quiet.
    if (now - this.#until > APART_MS) this.#since = null;
    this.#since ??= now;
    // A date that has passed by our clock, or no time at all, asks for no storm of calls.
    const until = now + Math.min(Math.max(waitMs ?? 0, WITHOUT_WORD_MS), LONGEST_MS);
    // Of calls that were under way together the bank may tell each another time: the latest counts.
    this.#until = Math.max(this.#until, until);
  }

  /** The bank has answered; an answer to a call that was under way before ends nothing. */
  end(): void {
    if (this.leftMs === 0) this.#since = null;
  }
}
