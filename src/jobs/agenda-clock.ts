/*
 * The clock: runs each recurring job about every `everyMs` by means of Agenda. Owns the Agenda instance
 * and the connection of its backend between start and stop.
 *
 * 1. A job never overlaps itself within this process; across processes its lock in the backend keeps it
 *    to one at a time, unless a process stalls for longer than the lock's lifetime.
 * 2. A run that takes longer than the lock's lifetime keeps its lock for as long as this process lives.
 * 3. A run or a scan that fails is reported and changes nothing for the next one.
 * 4. Once stop was called, no run begins.
 */
import { randomUUID } from 'node:crypto';
import type { AgendaBackend, Job } from 'agenda';
import { Agenda } from 'agenda';

/** A piece of work that is to be done again and again; it bounds its own time. */
export interface RecurringJob {
  /** Unique among the jobs of a backend, and the same in each process that shares the work. */
  name: string;
  everyMs: number;
  run(): Promise<void>;
}

/** What a `JobClock` runs, where it keeps its schedule and whom it tells of failures. */
export interface JobClockOptions {
  backend: AgendaBackend;
  jobs: readonly RecurringJob[];
  /** Gets what a run threw, with the name of its job, and what Agenda itself failed at. Must not throw. */
  onError(error: unknown, job?: string): void;
  /** How often the backend is asked for due jobs; half of the shortest `everyMs` by default. */
  processEveryMs?: number;
  /** After how long another process takes over from one that died. */
  lockLifetimeMs?: number;
  /** How long `stop` waits for runs that haven't ended. */
  stopTimeoutMs?: number;
}

const DEFAULT_LOCK_LIFETIME_MS = 5_000;
const DEFAULT_STOP_TIMEOUT_MS = 10_000;

/** Runs recurring jobs on any Agenda backend. */
export class JobClock {
  readonly #backend: AgendaBackend;
  readonly #jobs: readonly RecurringJob[];
  readonly #onError: JobClockOptions['onError'];
  readonly #processEveryMs: number;
  readonly #lockLifetimeMs: number;
  readonly #stopTimeoutMs: number;
  /** Marks this clock's locks, so that stop releases no other process's. */
  readonly #id = randomUUID();
  readonly #running = new Set<string>();
  #started: Promise<Agenda> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: JobClockOptions) {
    this.#backend = options.backend;
    this.#jobs = options.jobs;
    this.#onError = options.onError;
    this.#processEveryMs = options.processEveryMs ?? halfOfShortest(options.jobs);
    this.#lockLifetimeMs = options.lockLifetimeMs ?? DEFAULT_LOCK_LIFETIME_MS;
    this.#stopTimeoutMs = options.stopTimeoutMs ?? DEFAULT_STOP_TIMEOUT_MS;
  }

  /** Connects the backend and begins to run the jobs, each at once. Rejects if the backend can't be used. */
  async start(): Promise<void> {
    if (this.#stopped) throw new Error('a job clock that was stopped can not start again');
    this.#started ??= this.#start();
    await this.#started;
  }

  /**
   * Lets no further run begin, waits for those under way (up to the bound), releases this process's locks
   * and disconnects the backend if it owns its connection. A run that is still going after the bound is
   * left to itself; its lock expires.
   */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #start(): Promise<Agenda> {
    // Agenda leaves a rejected connect unhandled and then waits for ever: it gets a connected backend.
    await this.#backend.connect();
    try {
      const agenda = new Agenda({
        backend: alreadyConnected(this.#backend),
        name: this.#id,
        processEvery: this.#processEveryMs,
        maxConcurrency: this.#jobs.length,
        removeOnComplete: true,
      });
      agenda.on('error', (error) => this.#onError(error));
      for (const job of this.#jobs) {
        // No lockLimit: a job is one document, and its lock is the limit. After a stall of the process
        // Agenda forgets to count an expired job out, so that any limit would end in a job that never
        // runs again.
        agenda.define(job.name, (execution: Job) => this.#tick(job, execution), {
          concurrency: 1,
          lockLifetime: this.#lockLifetimeMs,
        });
        await agenda.every(job.everyMs, job.name);
      }
      await agenda.start();
      return agenda;
    } catch (error) {
      await this.#disconnect();
      throw error;
    }
  }

  async #stop(): Promise<void> {
    const agenda = await this.#started?.catch(() => undefined);
    if (!agenda) return;
    // Unlike Agenda's stop, drain waits; but it leaves locked what hadn't begun to run.
    await agenda.drain({ timeout: this.#stopTimeoutMs, closeConnection: false });
    await this.#releaseLocks().catch((error: unknown) => this.#onError(error));
    await this.#disconnect();
  }

  async #tick(job: RecurringJob, execution: Job): Promise<void> {
    // Agenda gives a run up once its lock has expired and would begin the next one beside it.
    if (this.#stopped || this.#running.has(job.name)) return;
    this.#running.add(job.name);
    const hold = this.#holdLock(job, execution);
    try {
      await job.run();
    } catch (error) {
      this.#onError(error, job.name);
      // Agenda records the failure, and takes for granted that it is an Error.
      throw error instanceof Error ? error : new Error(String(error));
    } finally {
      await hold.end();
      this.#running.delete(job.name);
    }
  }

  /** Renews a lock until it is told to end; ending waits for a renewal under way, which would lock anew. */
  #holdLock(job: RecurringJob, execution: Job): { end(): Promise<void> } {
    let renewal: Promise<void> | undefined;
    const timer = setInterval(() => {
      renewal ??= execution
        .touch()
        .catch((error: unknown) => this.#onError(error, job.name))
        .finally(() => {
          renewal = undefined;
        });
    }, this.#lockLifetimeMs / 4);
    return {
      end: async () => {
        clearInterval(timer);
        await renewal;
      },
    };
  }

  async #releaseLocks(): Promise<void> {
    const names = this.#jobs.map((job) => job.name).filter((name) => !this.#running.has(name));
    if (names.length === 0) return;
    const { jobs } = await this.#backend.repository.queryJobs({ names });
    const ours = jobs.filter((job) => job.lockedAt && job.lastModifiedBy === this.#id);
    await this.#backend.repository.unlockJobs(ours.map((job) => job._id));
  }

  async #disconnect(): Promise<void> {
    if (this.#backend.ownsConnection ?? true) await this.#backend.disconnect();
  }
}

function alreadyConnected(backend: AgendaBackend): AgendaBackend {
  return {
    name: backend.name,
    repository: backend.repository,
    notificationChannel: backend.notificationChannel,
    logger: backend.logger,
    ownsConnection: false,
    connect: async () => {},
    disconnect: async () => {},
  };
}

/** A job is found up to one scan before it is due and then waits for its time; one that ran past its next
 * time waits for a scan. */
function halfOfShortest(jobs: readonly RecurringJob[]): number {
  return Math.max(10, Math.min(...jobs.map((job) => job.everyMs), 2_000) / 2);
}
