/*
 * The clock of the jobs that each process does for itself: a timer a job. No other process does these jobs, so
 * there is nothing to lock and no schedule to keep.
 *
 * 1. A job never overlaps itself.
 * 2. A run that fails is reported, now and then if it goes on failing, and changes nothing for the next one.
 * 3. Once stop was called, no run begins; stop ends in bounded time.
 */
import { atMost } from '../waiting.ts';
import { FailureReports } from './failure-reports.ts';
import type { RecurringJob } from './recurring-job.ts';
import { type Repetition, repeat } from './repeat.ts';

/** What a `LocalClock` runs, and how it tells of failures. */
export interface LocalClockOptions {
  jobs: readonly RecurringJob[];
  /**
   * Gets what a run threw, with the name of its job; what goes on failing in the same way is told every ten
   * seconds. Must not throw.
   */
  onError(error: unknown, job?: string): void;
  /** How long `stop` waits for runs that haven't ended. */
  stopTimeoutMs: number;
}

/** Runs recurring jobs by timers of this process. */
export class LocalClock {
  readonly #jobs: readonly RecurringJob[];
  readonly #failures: FailureReports;
  readonly #stopTimeoutMs: number;
  #repetitions: readonly Repetition[] | null = null;
  #isStopped = false;

  constructor({ jobs, onError, stopTimeoutMs }: LocalClockOptions) {
    this.#jobs = jobs;
    this.#failures = new FailureReports(onError);
    this.#stopTimeoutMs = stopTimeoutMs;
  }

  /** Begins to run the jobs, each at once. Rejects if it was stopped. */
  async start(): Promise<void> {
    if (this.#isStopped) throw new Error('a clock that was stopped can not start again');
    this.#repetitions ??= this.#jobs.map((job) => this.#begin(job));
  }

  /**
   * Lets no further run begin and waits for those under way, up to the bound. A run that is still going then is
   * left to itself.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const ended = Promise.all((this.#repetitions ?? []).map((repetition) => repetition.end()));
    await atMost(this.#stopTimeoutMs, ended);
  }

  #begin(job: RecurringJob): Repetition {
    const repetition = repeat(
      job.everyMs,
      () => job.run(),
      (error) => this.#failures.tell(error, job.name),
    );
    repetition.now();
    return repetition;
  }
}
