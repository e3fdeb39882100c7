/*
 * Agenda's jobs in a collection of MongoDB, shared by any number of processes. Owns nothing but the times: the
 * connection is the caller's. The library's repository does the work; here is what it lacks.
 *
 * 1. Stored times are the database's, whatever the clocks of the processes say; a process sees its own time.
 * 2. A recurring job is one document, however many processes put it in at once, since its name gives its id.
 * 3. Putting a job in again keeps the lock of the process that runs it.
 * 4. No document waits for a majority: a job that a failover loses is put in again, and a run that happens
 *    twice is harmless, since what is due is claimed.
 */
import { createHash } from 'node:crypto';
import { MongoJobRepository } from '@agendajs/mongo-backend';
import type {
  JobParameters,
  JobRepositoryOptions,
  JobsQueryOptions,
  JobsResult,
  TJobDatefield,
} from 'agenda';
import { datefields } from 'agenda';
import { type Collection, type Db, type Document, ObjectId } from 'mongodb';
import { within } from '../waiting.ts';
import type { ClockBackend } from './clock-backend.ts';

export interface MongoBackendOptions {
  /** Its client stays the caller's to open and to close. */
  db: Db;
  /** This process's clock, by which Agenda schedules: ms since the epoch. */
  now: () => number;
  /** `jobs` by default. */
  collection?: string;
}

/**
 * How a job clock on this backend is set. What becomes due waits for a tick; where the process that has the job
 * dies, for the end of its lock and a look besides: less than a second. The looks are not in step with the ticks, nor
 * (`JobClock` sees to that) with those of other processes, or the same one would always be the first to look.
 */
export const SHARED_CLOCK = { tickMs: 200, processEveryMs: 170, lockLifetimeMs: 750 } as const;

/** How often the process's clock, which may be set at any time, is compared with the database's. */
const MEASURE_EVERY_MS = 1_000;
/** Longer than what the driver's own bounds give. */
const LONGEST_WAIT_MS = 7_000;
/** Clocks that differ by less count as equal: nothing here depends on so little. */
const SAME_TIME_MS = 50;

/** A clock's backend on a database, of which nothing is asked before `connect`. */
export function openMongoBackend({ db, now, collection = 'jobs' }: MongoBackendOptions): ClockBackend {
  const jobsDb = db.client.db(db.databaseName, { writeConcern: { w: 1 }, readPreference: 'primary' });
  // Not the library's backend, of which this is a part: that would make a collection for logs that nobody writes.
  return bounded(new SharedJobRepository(jobsDb, collection, now));
}

/**
 * Ends every wait: the driver may wait without end for a socket that was destroyed a moment before, and a look for
 * jobs that never ends would be this process's last.
 */
function bounded<Repository extends object>(repository: Repository): Repository {
  const get = (target: Repository, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(target, name);
    if (typeof member !== 'function') return member;
    return (...args: unknown[]) => {
      const result: unknown = member.apply(target, args);
      return result instanceof Promise ? inTime(result) : result;
    };
  };
  return new Proxy(repository, { get });
}

function inTime<Value>(work: Promise<Value>): Promise<Value> {
  return within(LONGEST_WAIT_MS, work, () => new Error('the database takes too long'));
}

class SharedJobRepository extends MongoJobRepository {
  readonly #now: () => number;
  #offsetMs = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  /** The process's clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt = 0;

  constructor(db: Db, collection: string, now: () => number) {
    super({ mongo: db, db: { collection } });
    this.#now = now;
  }

  /** Makes the index that scans use, if it isn't there. */
  override async connect(): Promise<void> {
    await super.connect();
    await this.#measure();
    await this.#mend();
  }

  override async getJobById(id: string): Promise<JobParameters | null> {
    const job = await super.getJobById(id);
    return job && this.#toLocal(job);
  }

  override async queryJobs(options?: JobsQueryOptions): Promise<JobsResult> {
    const { jobs, total } = await super.queryJobs(options);
    return { jobs: jobs.map((job) => this.#toLocal(job)), total };
  }

  override async getNextJobToRun(
    name: string,
    nextScanAt: Date,
    lockDeadline: Date,
    now: Date | undefined,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters | undefined> {
    const isSet = Math.abs(this.#now() - performance.now() - this.#setAt) > SAME_TIME_MS;
    if (isSet || performance.now() - this.#measuredAt > MEASURE_EVERY_MS) await this.#measure();
    const offset = this.#offsetMs;
    const job = await super.getNextJobToRun(
      name,
      later(nextScanAt, offset),
      later(lockDeadline, offset),
      later(now ?? new Date(this.#now()), offset),
      options,
    );
    return job && this.#toLocal(job);
  }

  override async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    await super.saveJobState(this.#toDatabase(job), options);
  }

  /** The schedule that other processes keep already stays where there is one, and so does the lock. */
  override async saveJob<DATA = unknown>(
    job: JobParameters<DATA>,
    options: JobRepositoryOptions | undefined,
  ): Promise<JobParameters<DATA>> {
    const id = idOf(job.name);
    const { nextRunAt, ...fields } = this.#toDatabase(job);
    // The library would set what it isn't given to null, and so unlock a job that runs.
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const schedule = { nextRunAt, lastModifiedBy: options?.lastModifiedBy ?? null };
    const update = { $set: given, $setOnInsert: schedule };
    await this.#documents.updateOne({ _id: id }, update, { upsert: true });
    return ((await this.getJobById(id.toHexString())) as JobParameters<DATA> | null) ?? job;
  }

  /** Compares the clocks; half of the round trip is what that may be off. */
  async #measure(): Promise<void> {
    this.#measuredAt = performance.now();
    this.#setAt = this.#now() - performance.now();
    const before = this.#now();
    const { localTime } = await this.getDb().command({ hello: 1 });
    const after = this.#now();
    const offset = Math.round((localTime as Date).getTime() - (before + after) / 2);
    // It stays as it is where it may still be right, so that times don't tremble.
    if (Math.abs(offset - this.#offsetMs) <= Math.max(SAME_TIME_MS, (after - before) / 2)) return;
    this.#offsetMs = offset;
    await this.#mend();
  }

  /** Where a clock was set back, a job would wait for a time that lies far ahead. */
  async #mend(): Promise<void> {
    const recurring = { type: 'single', repeatInterval: { $type: 'number' }, nextRunAt: { $ne: null } };
    const nextRunAt = { $min: ['$nextRunAt', { $add: ['$$NOW', '$repeatInterval'] }] };
    const lockedAt = { $cond: [{ $gt: ['$lockedAt', '$$NOW'] }, '$$NOW', '$lockedAt'] };
    await this.#documents.updateMany(recurring, [{ $set: { nextRunAt, lockedAt } }]);
  }

  /** The library knows its documents' fields, but not ours by type. */
  get #documents(): Collection<Document> {
    return this.collection as unknown as Collection<Document>;
  }

  #toLocal<Job extends JobParameters<unknown>>(job: Job): Job {
    return shifted(job, -this.#offsetMs);
  }

  #toDatabase<Job extends JobParameters<unknown>>(job: Job): Job {
    return shifted(job, this.#offsetMs);
  }
}

/** The job's document: the same in each process, so that its insert can't happen twice. */
function idOf(name: string): ObjectId {
  return new ObjectId(createHash('sha256').update(name).digest().subarray(0, 12));
}

function later(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms);
}

/** The job with all of its times moved. */
function shifted<Job extends JobParameters<unknown>>(job: Job, ms: number): Job {
  if (ms === 0) return job;
  const times: Partial<Record<TJobDatefield, Date>> = {};
  for (const field of datefields) {
    const time = job[field];
    if (time) times[field] = later(time, ms);
  }
  return { ...job, ...times };
}
