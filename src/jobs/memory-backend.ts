/*
 * A clock's jobs in the memory of one process: the embedded store's clock works on it, in place of a database.
 * Owns the jobs; nothing survives the process, which is enough where the jobs are put in anew at each start and
 * what is due lies in a store of its own.
 *
 * 1. Every method reads and writes in one synchronous step, so a job is locked by one caller at most.
 * 2. A stored job is never changed in place, and what goes out is an object of its own.
 * 3. Where the wall clock is set, stored times go with it: a job waits for an hour of its own, not of the clock's.
 */
import type { JobId, JobParameters, JobRepositoryOptions } from 'agenda';
import { toJobId } from 'agenda';
import type { ClockBackend } from './clock-backend.ts';

/** A job, whose name is its id, and what runs change of it. */
interface StoredJob {
  readonly job: JobParameters & { _id: JobId };
  readonly nextRunAt: Date | null;
  readonly lock: Lock | null;
}

interface Lock {
  readonly lockedAt: Date;
  /** The clock that holds it. */
  readonly lastModifiedBy: string;
}

export interface MemoryBackendOptions {
  /** The clock that locks are dated by: ms since 1970. */
  now: () => number;
}

/** Clocks are kept right in smaller steps than this all the time. */
const SET_MS = 20;

/** Holds the jobs of any number of clocks of this process. */
export class MemoryBackend implements ClockBackend {
  readonly #jobs = new Map<string, StoredJob>();
  readonly #now: () => number;
  /** The wall clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt: number;

  constructor(options: MemoryBackendOptions) {
    this.#now = options.now;
    this.#setAt = options.now() - performance.now();
  }

  /** Moves all stored times by as much as the clock was set. */
  #followClock(): void {
    const setAt = this.#now() - performance.now();
    const ms = setAt - this.#setAt;
    if (Math.abs(ms) < SET_MS) return;
    this.#setAt = setAt;
    for (const [name, { job, nextRunAt, lock }] of this.#jobs) {
      const moved = lock === null ? null : { ...lock, lockedAt: later(lock.lockedAt, ms) };
      this.#jobs.set(name, { job, nextRunAt: nextRunAt && later(nextRunAt, ms), lock: moved });
    }
  }

  async connect(): Promise<void> {}

  async getDistinctJobNames(): Promise<string[]> {
    return [...this.#jobs.keys()];
  }

  async queryJobs({ names }: { names: string[] }): Promise<{ jobs: (JobParameters & { _id: JobId })[] }> {
    const stored = names.map((name) => this.#jobs.get(name)).filter((job) => job !== undefined);
    return { jobs: stored.map(parametersOf) };
  }

  async saveJob<DATA = unknown>(job: JobParameters<DATA>): Promise<JobParameters<DATA>> {
    const stored = this.#jobs.get(job.name);
    const { nextRunAt, lock } = stored ?? { nextRunAt: job.nextRunAt, lock: null };
    const saved = { ...job, _id: toJobId(job.name), nextRunAt };
    this.#jobs.set(job.name, { job: saved, nextRunAt, lock });
    return { ...saved };
  }

  async getNextJobToRun(
    name: string,
    nextScanAt: Date,
    lockDeadline: Date,
    now: Date | undefined,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters | undefined> {
    this.#followClock();
    const stored = this.#jobs.get(name);
    if (stored === undefined || !isFree(stored, nextScanAt, lockDeadline)) return undefined;
    return parametersOf(this.#write(stored, stored.nextRunAt, now ?? new Date(this.#now()), options));
  }

  async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    const stored = this.#jobs.get(job.name);
    if (stored === undefined) throw new Error(`the job ${job.name} is not stored`);
    this.#write(stored, job.nextRunAt, job.lockedAt, options);
  }

  async removeJobs({ id }: { id: string }): Promise<number> {
    return this.#jobs.delete(id) ? 1 : 0;
  }

  async unlockJob({ name }: JobParameters): Promise<void> {
    this.#unlock(name);
  }

  async unlockJobs(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#unlock(id);
  }

  #unlock(name: string): void {
    const stored = this.#jobs.get(name);
    if (stored !== undefined) this.#jobs.set(name, { ...stored, lock: null });
  }

  #write(
    { job }: StoredJob,
    nextRunAt: Date | null,
    lockedAt: Date | undefined,
    options: JobRepositoryOptions | undefined,
  ): StoredJob {
    const lock = lockedAt === undefined ? null : { lockedAt, lastModifiedBy: options?.lastModifiedBy ?? '' };
    const written = { job, nextRunAt, lock };
    this.#jobs.set(job.name, written);
    return written;
  }
}

function later(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms);
}

/** A locked job is free once its lock has expired, any other once it is due. */
function isFree({ nextRunAt, lock }: StoredJob, nextScanAt: Date, lockDeadline: Date): boolean {
  if (lock !== null) return lock.lockedAt <= lockDeadline;
  return nextRunAt !== null && nextRunAt <= nextScanAt;
}

function parametersOf({ job, nextRunAt, lock }: StoredJob): JobParameters & { _id: JobId } {
  return { ...job, nextRunAt, ...lock };
}
