/**
 * Keeps calls from a bank that is down: open after five failures in a row that were surely the bank's, until a probe
 * succeeds. While it is open one call at a time, every ten seconds, is that probe.
 */

const FAILURES = 5;
const PROBE_EVERY_MS = 10_000;

export class Breaker {
  readonly #elapsed: () => number;
  readonly #probeEveryMs: number;
  #failures = 0;
  #openSince = 0;
  #probedAt = 0;

  /** `scale` of the waits between probes; `elapsed` is a clock that never steps, ms. */
  constructor(scale = 1, elapsed = () => performance.now()) {
    this.#elapsed = elapsed;
    this.#probeEveryMs = PROBE_EVERY_MS * scale;
  }

  get isOpen(): boolean {
    return this.#failures >= FAILURES;
  }

  /** For how long it has been open, ms; 0 where it isn't. */
  get openMs(): number {
    return this.isOpen ? this.#elapsed() - this.#openSince : 0;
  }

  /** Whether a call may be made now. While open, whoever is told so makes the probe. */
  admits(): boolean {
    if (!this.isOpen) return true;
    const now = this.#elapsed();
    if (now - this.#probedAt < this.#probeEveryMs) return false;
    this.#probedAt = now;
    return true;
  }

  /** The bank answered, whatever it said. */
  succeeded(): void {
    this.#failures = 0;
  }

  /** A failure that was surely the bank's. */
  failed(): void {
    this.#failures += 1;
    if (this.#failures !== FAILURES) return;
    this.#openSince = this.#elapsed();
    this.#probedAt = this.#openSince;
  }
}
