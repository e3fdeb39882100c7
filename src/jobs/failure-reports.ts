/** Passes failures on, but what fails at each tick only now and then. */
import { textOf } from '../errors.ts';

const WINDOW_MS = 10_000;
/** Failures that differ, within a window. */
const MOST = 20;

export class FailureReports {
  readonly #report: (error: unknown, job?: string) => void;
  readonly #told = new Set<string>();
  #windowEnd = Number.NEGATIVE_INFINITY;

  constructor(report: (error: unknown, job?: string) => void) {
    this.#report = report;
  }

  /** Tells of a failure, unless the same was told within the last seconds, or too many others were. */
  tell(error: unknown, job?: string): void {
    const now = performance.now();
    if (now > this.#windowEnd) {
      this.#told.clear();
      this.#windowEnd = now + WINDOW_MS;
    }
    const failure = `${job ?? ''}: ${textOf(error)}`;
    if (this.#told.has(failure) || this.#told.size >= MOST) return;
    this.#told.add(failure);
    this.#report(error, job);
  }
}
