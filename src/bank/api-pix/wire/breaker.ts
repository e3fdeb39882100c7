/**
 * Keeps calls from a bank that is down: open after five failures in a row that were surely the bank's, until a probe
 * succeeds. While it is open one call at a time, every ten seconds, is that probe.
 *
 * A failure tells of the time from its call's beginning on. Where the bank has answered a call that began later, it was
 * up: calls that hang and end together are no failures of a bank that goes on answering others.
 */

const FAILURES = 5;
const PROBE_EVERY_MS = 10_000;

export class Breaker {
  readonly #elapsed: () => number;
  readonly #probeEveryMs: number;
  #failures = 0;
  #begun = 0;
  /** The last that began of all calls that were answered. */
  #answered = 0;
  #openSince = 0;
  #probedAt = 0;
  /** Failures that count already. */
  readonly #counted = new WeakSet<Error>();

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

  /** A call begins: its number, by which its end is told. A later call has a higher one. */
  begin(): number {
    this.#begun += 1;
    return this.#begun;
  }

  /** The bank answered the call, whatever it said. */
  succeeded(call: number): void {
    this.#answered = Math.max(this.#answered, call);
    this.#failures = 0;
  }

  /** The call failed, and that was surely the bank's. Calls that share a request for a token share its `failure`: one. */
  failed(call: number, failure?: Error): void {
    if (failure !== undefined) {
      if (this.#counted.has(failure)) return;
      this.#counted.add(failure);
    }
    if (this.#answered > call) return;
    this.#failures += 1;
    if (this.#failures !== FAILURES) return;
    this.#openSince = this.#elapsed();
    this.#probedAt = this.#openSince;
  }
}
