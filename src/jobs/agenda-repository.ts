/*
 * A job clock's backend, as Agenda sees it. Owns which of the clock's jobs are in this process's hands. Each name
 * has one job, so that a clock which holds it needs not look for another.
 *
 * 1. One look for a name at a time: while the database doesn't answer, Agenda's scans don't pile up.
 * 2. No look for a job that is in hand, as long as its lock lives.
 * 3. The state at the start of a run is not written: its lock is stored already, its times come with its end.
 * 4. Once it is shut no lock is taken, and `shut` resolves when none is under way.
 * 5. Unlocking never rejects: Agenda doesn't wait for it, and a lock that stays expires.
 * 6. What Agenda can do and a clock doesn't make it do is refused in plain words.
 */
import type { JobParameters, JobRepository, JobRepositoryOptions, RemoveJobsOptions } from 'agenda';
import type { ClockBackend } from './clock-backend.ts';

/** Puts these rules in front of a backend. */
export class AgendaRepository implements JobRepository {
  readonly #backend: ClockBackend;
  /** When the jobs in hand were locked, by their names. */
  readonly #inHand = new Map<string, Date>();
  readonly #looks = new Map<string, Promise<unknown>>();
  #isShut = false;

  readonly connect = unused('connect');
  readonly queryJobs = unused('queryJobs');
  readonly getJobsOverview = unused('getJobsOverview');
  readonly getDistinctJobNames = unused('getDistinctJobNames');
  readonly getJobById = unused('getJobById');
  readonly getQueueSize = unused('getQueueSize');
  readonly lockJob = unused('lockJob');
  readonly unlockJobs = unused('unlockJobs');
  readonly disableJobs = unused('disableJobs');
  readonly enableJobs = unused('enableJobs');
  readonly purgeAllJobs = unused('purgeAllJobs');

  constructor(backend: ClockBackend) {
    this.#backend = backend;
  }

  async saveJob<DATA = unknown>(
    job: JobParameters<DATA>,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters<DATA>> {
    if (job.type !== 'single') return unused('saveJob of a job that does not recur')();
    if (job._id !== undefined) return unused('saveJob of a stored job')();
    return this.#backend.saveJob(job, options);
  }

  async removeJobs({ id }: RemoveJobsOptions): Promise<number> {
    return id === undefined ? unused('removeJobs without an id')() : this.#backend.removeJobs({ id });
  }

  async getNextJobToRun(
    name: string,
    nextScanAt: Date,
    lockDeadline: Date,
    now: Date | undefined,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters | undefined> {
    const lockedAt = this.#inHand.get(name);
    if (this.#isShut || this.#looks.has(name) || (lockedAt && lockedAt > lockDeadline)) return undefined;
    const look = this.#backend.getNextJobToRun(name, nextScanAt, lockDeadline, now, options);
    const noted = look.then(
      (job) => this.#note(name, job?.lockedAt),
      () => {},
    );
    this.#looks.set(name, noted);
    try {
      return await look;
    } finally {
      this.#looks.delete(name);
    }
  }

  async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    const isStart =
      job.lockedAt !== undefined && this.#inHand.get(job.name)?.getTime() === job.lockedAt.getTime();
    if (isStart) return;
    this.#note(job.name, job.lockedAt);
    await this.#backend.saveJobState(job, options);
  }

  async unlockJob(job: JobParameters): Promise<void> {
    this.#inHand.delete(job.name);
    await this.#backend.unlockJob(job).catch(() => {});
  }

  /** Lets no further lock be taken; resolves once it is known which ones were. */
  async shut(): Promise<void> {
    this.#isShut = true;
    await Promise.all(this.#looks.values());
  }

  #note(name: string, lockedAt: Date | undefined): void {
    if (lockedAt) this.#inHand.set(name, lockedAt);
    else this.#inHand.delete(name);
  }
}

/** Stands where Agenda's type demands a method. */
function unused(method: string): () => Promise<never> {
  return async () => {
    throw new Error(`not used by the clock: ${method}`);
  };
}
