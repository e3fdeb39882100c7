/*
 * Agenda's jobs in the memory of one process. Owns the jobs; nothing survives the process, which is
 * enough where the jobs are defined anew at each start and what is due lives in a store of its own.
 *
 * 1. Every method reads and writes in one synchronous step, so a job is locked by one caller at most.
 * 2. A stored job is never changed in place: a write replaces it.
 * 3. What comes in and what goes out is a copy.
 *
 * Several Agenda instances of one process may share a backend; disconnecting one keeps the jobs.
 * There is no notification channel: a shared one is closed for all by the first instance that stops,
 * and recurring jobs are locked a scan before they are due anyway.
 */
import type {
  AgendaBackend,
  DebounceOptions,
  JobId,
  JobParameters,
  JobRepository,
  JobRepositoryOptions,
  JobState,
  JobsOverview,
  JobsQueryOptions,
  JobsResult,
  JobWithState,
  RemoveJobsOptions,
} from 'agenda';
import { computeJobState, toJobId } from 'agenda';
import { jobOrder, matchesUnique, selectJobs } from './memory-backend-query.ts';

type StoredJob = JobParameters & { _id: JobId };

/** What `MemoryBackend` needs: the clock that it locks and schedules by, in ms since the epoch. */
export interface MemoryBackendOptions {
  now: () => number;
}

/** Agenda's backend port, held in memory. */
export class MemoryBackend implements AgendaBackend {
  readonly name = 'memory';
  readonly ownsConnection = false;
  readonly repository: JobRepository;

  constructor(options: MemoryBackendOptions) {
    this.repository = new MemoryJobRepository(options.now);
  }

  async connect(): Promise<void> {}

  async disconnect(): Promise<void> {}
}

class MemoryJobRepository implements JobRepository {
  readonly #jobs = new Map<string, StoredJob>();
  readonly #now: () => number;
  #lastId = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  async connect(): Promise<void> {}

  async queryJobs(options: JobsQueryOptions = {}): Promise<JobsResult> {
    const { search, state, includeDisabled = true, sort, skip = 0, limit = 0 } = options;
    const now = this.#date();
    const words = search?.toLowerCase();
    // A search replaces the choice of names, as it does on MongoDB.
    const { name: _name, names: _names, ...rest } = options;
    const selected = selectJobs(words ? rest : options);
    const jobs = this.#all()
      .filter((job) => selected?.(job) ?? true)
      .filter((job) => !words || job.name.toLowerCase().includes(words))
      .filter((job) => includeDisabled || !job.disabled)
      .filter((job) => !state || isInState(job, state, now))
      .sort(jobOrder(sort));
    const page = jobs.slice(skip, limit > 0 ? skip + limit : undefined);
    return { jobs: page.map((job) => withState(job, now)), total: jobs.length };
  }

  async getJobsOverview(): Promise<JobsOverview[]> {
    const now = this.#date();
    const overviews = new Map<string, JobsOverview>();
    for (const job of this.#all()) {
      const overview = overviews.get(job.name) ?? emptyOverview(job.name);
      overview.total += 1;
      overview[computeJobState(job, now)] += 1;
      if (job.disabled) overview.paused += 1;
      overviews.set(job.name, overview);
    }
    return [...overviews.values()];
  }

  async getDistinctJobNames(): Promise<string[]> {
    return [...new Set(this.#all().map((job) => job.name))];
  }

  async getJobById(id: string): Promise<JobParameters | null> {
    const job = this.#jobs.get(id);
    return job ? structuredClone(job) : null;
  }

  async getQueueSize(): Promise<number> {
    const now = this.#now();
    return this.#all().filter((job) => job.nextRunAt && job.nextRunAt.getTime() < now).length;
  }

  async removeJobs(options: RemoveJobsOptions): Promise<number> {
    const removed = this.#select(options);
    for (const job of removed) this.#jobs.delete(job._id);
    return removed.length;
  }

  async purgeAllJobs(): Promise<number> {
    const count = this.#jobs.size;
    this.#jobs.clear();
    return count;
  }

  /**
   * Inserts or updates: by id; else by name if the type is `single`; else by the unique constraint.
   * An id that is gone gives the argument back and stores nothing.
   */
  async saveJob<DATA = unknown>(
    job: JobParameters<DATA>,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters<DATA>> {
    const { _id, unique, uniqueOpts, ...given } = job;
    const fields = { ...given, ...modifiedBy(options) };
    if (_id) {
      const stored = this.#jobs.get(_id);
      if (stored?.name !== job.name) return structuredClone(job);
      return this.#write<DATA>(stored, fields);
    }
    if (job.type === 'single') return this.#saveSingle<DATA>(fields);
    if (!unique) return this.#write<DATA>(undefined, fields);

    const stored = this.#all().find((other) => other.name === job.name && matchesUnique(other, unique));
    if (uniqueOpts?.debounce) {
      return this.#write<DATA>(stored, {
        ...fields,
        ...this.#debounced(fields, stored, uniqueOpts.debounce),
      });
    }
    if (stored && uniqueOpts?.insertOnly) return structuredClone(stored) as JobParameters<DATA>;
    return this.#write<DATA>(stored, fields);
  }

  async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    const stored = job._id ? this.#jobs.get(job._id) : undefined;
    if (stored?.name !== job.name) {
      throw new Error(`job ${job._id} (name: ${job.name}) can't be updated: it isn't stored`);
    }
    this.#write(stored, {
      name: stored.name,
      lockedAt: job.lockedAt,
      nextRunAt: job.nextRunAt ?? null,
      lastRunAt: job.lastRunAt,
      progress: job.progress,
      failReason: job.failReason,
      failCount: job.failCount,
      failedAt: job.failedAt,
      lastFinishedAt: job.lastFinishedAt,
      ...modifiedBy(options),
    });
  }

  /** Locks the job if it is neither locked, disabled nor scheduled anew since the caller read it. */
  async lockJob(
    job: JobParameters,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters | undefined> {
    const stored = job._id ? this.#jobs.get(job._id) : undefined;
    const isUnchanged =
      stored?.name === job.name &&
      !stored.lockedAt &&
      !stored.disabled &&
      stored.nextRunAt?.getTime() === job.nextRunAt?.getTime();
    return stored && isUnchanged ? this.#lock(stored, this.#date(), options) : undefined;
  }

  /** Unlocks a job that waits for its next run; one that runs for the last time keeps its lock. */
  async unlockJob(job: JobParameters): Promise<void> {
    const stored = job._id ? this.#jobs.get(job._id) : undefined;
    if (stored?.nextRunAt) this.#write(stored, { name: stored.name, lockedAt: undefined });
  }

  async unlockJobs(jobIds: (JobId | string)[]): Promise<void> {
    for (const id of jobIds) {
      const stored = this.#jobs.get(id);
      if (stored) this.#write(stored, { name: stored.name, lockedAt: undefined });
    }
  }

  /** Locks the first job that is due by `nextScanAt`, or whose lock is as old as `lockDeadline`. */
  async getNextJobToRun(
    jobName: string,
    nextScanAt: Date,
    lockDeadline: Date,
    now: Date | undefined,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters | undefined> {
    const [next] = this.#all()
      .filter((job) => job.name === jobName && !job.disabled)
      .filter((job) =>
        job.lockedAt ? job.lockedAt <= lockDeadline : job.nextRunAt !== null && job.nextRunAt <= nextScanAt,
      )
      .sort(jobOrder({ nextRunAt: 'asc', priority: 'desc' }));
    return next ? this.#lock(next, now ?? this.#date(), options) : undefined;
  }

  async disableJobs(options: RemoveJobsOptions): Promise<number> {
    return this.#setDisabled(options, true);
  }

  async enableJobs(options: RemoveJobsOptions): Promise<number> {
    return this.#setDisabled(options, false);
  }

  #saveSingle<DATA>(fields: Fields): JobParameters<DATA> {
    const stored = this.#all().find((other) => other.name === fields.name && other.type === 'single');
    // A process that starts asks for "now"; the schedule that others already keep stays as it is.
    const asksForNow = fields.nextRunAt && fields.nextRunAt.getTime() <= this.#now();
    if (!stored || !asksForNow) return this.#write<DATA>(stored, fields);
    return this.#write<DATA>(stored, { ...fields, nextRunAt: stored.nextRunAt });
  }

  #debounced(fields: Fields, stored: StoredJob | undefined, debounce: DebounceOptions): Partial<Fields> {
    const now = this.#date();
    const startedAt = stored?.debounceStartedAt ?? now;
    if (debounce.strategy === 'leading') {
      return { nextRunAt: (stored ?? fields).nextRunAt ?? null, debounceStartedAt: startedAt };
    }
    const quietAt = now.getTime() + debounce.delay;
    const latestAt = startedAt.getTime() + (debounce.maxWait || Number.POSITIVE_INFINITY);
    // Due at last: the next save starts a window of its own.
    if (stored && latestAt <= now.getTime()) return { nextRunAt: now, debounceStartedAt: undefined };
    return { nextRunAt: new Date(Math.min(quietAt, latestAt)), debounceStartedAt: startedAt };
  }

  #setDisabled(options: RemoveJobsOptions, disabled: boolean): number {
    const changed = this.#select(options).filter((job) => job.disabled !== disabled);
    for (const job of changed) this.#write(job, { name: job.name, disabled });
    return changed.length;
  }

  #lock(job: StoredJob, lockedAt: Date, options: JobRepositoryOptions | undefined): JobParameters {
    return this.#write(job, { name: job.name, lockedAt, ...modifiedBy(options) });
  }

  /** Stores the fields over the job, or as a new one; a field that is undefined is dropped. */
  #write<DATA>(stored: StoredJob | undefined, fields: Fields): JobParameters<DATA> {
    const merged = { ...stored, ...structuredClone(fields), _id: stored?._id ?? this.#nextId() };
    const job = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
    this.#jobs.set(merged._id, job as unknown as StoredJob);
    return structuredClone(job) as unknown as JobParameters<DATA>;
  }

  #select(options: RemoveJobsOptions): StoredJob[] {
    const selected = selectJobs(options);
    return selected ? this.#all().filter(selected) : [];
  }

  #all(): StoredJob[] {
    return [...this.#jobs.values()];
  }

  #date(): Date {
    return new Date(this.#now());
  }

  #nextId(): JobId {
    this.#lastId += 1;
    return toJobId(this.#lastId.toString(16).padStart(24, '0'));
  }
}

/** The fields of one write: undefined removes a field, absence keeps it. */
type Fields = Pick<JobParameters, 'name'> & { [K in keyof JobParameters]?: JobParameters[K] | undefined };

function modifiedBy(options: JobRepositoryOptions | undefined): Pick<Fields, 'lastModifiedBy'> {
  return { lastModifiedBy: options?.lastModifiedBy };
}

/** `paused` is the one state that isn't computed from times: it overlaps with the others. */
function isInState(job: StoredJob, state: JobState, now: Date): boolean {
  return state === 'paused' ? job.disabled === true : computeJobState(job, now) === state;
}

function withState(job: StoredJob, now: Date): JobWithState {
  return { ...structuredClone(job), state: computeJobState(job, now) };
}

function emptyOverview(name: string): JobsOverview {
  const states = { running: 0, scheduled: 0, queued: 0, completed: 0, failed: 0, repeating: 0, paused: 0 };
  return { name, total: 0, ...states };
}
