/*
 * The clock: runs each recurring job about every `everyMs` by means of Agenda. Owns the Agenda instance between
 * start and stop.
 *
 * 1. A job never overlaps itself within this process; across processes its lock in the backend keeps it
 *    to one at a time, unless a process stalls for longer than the lock's lifetime.
 * 2. A run that takes longer than the lock's lifetime keeps its lock for as long as this process lives and
 *    reaches the backend.
 * 3. A run or a scan that fails is reported, now and then if it goes on failing, and changes nothing for the
 *    next one.
 * 4. A job that the backend lost is put in again within a second or two.
 * 5. Once stop was called, no run begins; once it has resolved, no lock is this process's but those of runs
 *    that didn't end.
 * 6. Start and stop end in bounded time, whether the backend answers or not.
 */

import { randomUUID } from 'node:crypto';
import type { AgendaBackend, Job } from 'agenda';
import { Agenda } from 'agenda';
import { asError } from '../errors.ts';
import { within } from '../waiting.ts';
import { AgendaRepository } from './agenda-repository.ts';
import type { ClockBackend } from './clock-backend.ts';
import { FailureReports } from './failure-reports.ts';
import type { RecurringJob } from './recurring-job.ts';
import { type Repetition, repeat } from './repeat.ts';

/** What a `JobClock` runs, where it keeps its schedule and whom it tells of failures. */
export interface JobClockOptions {
  backend: ClockBackend;
  jobs: readonly RecurringJob[];
  /** Names this clock in the locks that it holds, among all clocks of the backend; a random one by default. */
  id?: string;
  /**
   * Gets what a run threw, with the name of its job, and what Agenda itself failed at; what goes on failing in
   * the same way is told every ten seconds. Must not throw.
   */
  onError(error: unknown, job?: string): void;
  /** How often at least Agenda asks the backend for due jobs; half of the shortest `everyMs` by default. */
  processEveryMs?: number;
  /** After how long another process takes over from one that died; more than `processEveryMs`. */
  lockLifetimeMs?: number;
  /** How long `start` waits for the backend. */
  startTimeoutMs?: number;
  /** How long `stop` waits for runs that haven't ended. */
  stopTimeoutMs?: number;
}

const DEFAULT_LOCK_LIFETIME_MS = 5_000;
const DEFAULT_START_TIMEOUT_MS = 5_000;
const DEFAULT_STOP_TIMEOUT_MS = 10_000;
/** How often the clock looks whether the backend still has the jobs. */
const LOOK_EVERY_MS = 1_000;
const RELEASE_TIMEOUT_MS = 1_000;

/** By what share at most a clock scans more often than it must. */
const MOST_FASTER = 0.2;

interface Started {
  agenda: Agenda;
  repository: AgendaRepository;
  watch: Repetition;
}

/** Runs recurring jobs on any backend. */
export class JobClock {
  readonly #backend: ClockBackend;
  readonly #jobs: readonly RecurringJob[];
  readonly #failures: FailureReports;
  readonly #processEveryMs: number;
  readonly #lockLifetimeMs: number;
  readonly #startTimeoutMs: number;
  readonly #stopTimeoutMs: number;
  /** Marks this clock's locks, so that stop releases no other process's. */
  readonly #id: string;
  readonly #running = new Set<string>();
  #started: Promise<Started> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: JobClockOptions) {
    this.#backend = options.backend;
    this.#jobs = options.jobs;
    this.#id = options.id ?? randomUUID();
    this.#failures = new FailureReports(options.onError);
    // Clocks that scan at the same pace keep step, and one of them would have nearly every run of all.
    const pace = 1 - Math.random() * MOST_FASTER;
    this.#processEveryMs = (options.processEveryMs ?? halfOfShortest(options.jobs)) * pace;
    this.#lockLifetimeMs = options.lockLifetimeMs ?? DEFAULT_LOCK_LIFETIME_MS;
    this.#startTimeoutMs = options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
    this.#stopTimeoutMs = options.stopTimeoutMs ?? DEFAULT_STOP_TIMEOUT_MS;
  }

  /**
   * Connects the backend and begins to run the jobs, each at once. Rejects if the backend can't be used; it may
   * be called again then.
   */
  async start(): Promise<void> {
    if (this.#stopped) throw new Error('a job clock that was stopped can not start again');
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    await this.#started;
  }

  /**
   * Lets no further run begin, waits for those under way (up to the bound) and releases this process's locks.
   * A run that is still going after the bound is left to itself; its lock expires.
   */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #start(): Promise<Started> {
    const deadline = performance.now() + this.#startTimeoutMs;
    const inTime = <Value>(work: Promise<Value>): Promise<Value> =>
      within(deadline - performance.now(), work, unanswered('the jobs can not be started'));
    // Agenda leaves a rejected connect unhandled and then waits for ever: it gets a connected backend.
    await inTime(this.#backend.connect());
    const repository = new AgendaRepository(this.#backend);
    const agenda = this.#newAgenda(repository);
    for (const job of this.#jobs) await inTime(agenda.every(job.everyMs, job.name));
    await agenda.start();
    const watch = repeat(
      LOOK_EVERY_MS,
      () => this.#putBackLost(agenda),
      (error) => this.#failures.tell(error),
    );
    return { agenda, repository, watch };
  }

  #newAgenda(repository: AgendaRepository): Agenda {
    const agenda = new Agenda({
      backend: connectedBackend(repository),
      name: this.#id,
      processEvery: this.#processEveryMs,
      maxConcurrency: this.#jobs.length,
      // A job that somebody made end would stay for ever, never due: it goes, and is put in again as it was.
      removeOnComplete: true,
    });
    agenda.on('error', (error) => this.#failures.tell(error));
    for (const job of this.#jobs) {
      // No lockLimit: a job is one document, and its lock is the limit. After a stall of the process
      // Agenda forgets to count an expired job out, so that any limit would end in a job that never
      // runs again.
      agenda.define(job.name, (execution: Job) => this.#tick(job, execution), {
        concurrency: 1,
        lockLifetime: this.#lockLifetimeMs,
      });
    }
    return agenda;
  }

  /** Puts jobs in again that the backend doesn't have any more: somebody dropped them. */
  async #putBackLost(agenda: Agenda): Promise<void> {
    const stored = new Set(await this.#backend.getDistinctJobNames());
    const lost = this.#jobs.filter(({ name }) => !stored.has(name));
    // What connecting makes beside the jobs, such as an index, is gone with them.
    if (lost.length > 0) await this.#backend.connect();
    for (const job of lost) await agenda.every(job.everyMs, job.name);
  }

  async #stop(): Promise<void> {
    const started = await this.#started?.catch(() => undefined);
    if (!started) return;
    const { agenda, repository, watch } = started;
    const noMoreLocks = Promise.all([repository.shut(), watch.end()]);
    // Unlike Agenda's stop, drain waits; but it leaves locked what hadn't begun to run.
    await agenda.drain({ timeout: this.#stopTimeoutMs, closeConnection: false });
    const released = noMoreLocks.then(() => this.#releaseLocks());
    await within(
      RELEASE_TIMEOUT_MS,
      released,
      unanswered('the locks can not be released; they expire'),
    ).catch((error: unknown) => this.#failures.tell(error));
  }

  async #tick(job: RecurringJob, execution: Job): Promise<void> {
    // Agenda gives a run up once its lock has expired and would begin the next one beside it.
    if (this.#stopped || this.#running.has(job.name)) return;
    this.#running.add(job.name);
    // Agenda would call a run off by the wall clock wherever this process stalled; the renewal goes on after a stall. And
    // one that is over, while its end is being stored, for the lock that it has no more: it asks in vain then.
    let isOver = false;
    execution.isExpired = () => (isOver ? new Promise(() => {}) : Promise.resolve(false));
    // Ending waits for a renewal under way, which would lock anew.
    const renewal = repeat(
      this.#lockLifetimeMs / 4,
      () => execution.touch(),
      (error) => this.#failures.tell(error, job.name),
    );
    try {
      await job.run();
    } catch (error) {
      this.#failures.tell(error, job.name);
      // Agenda records the failure, and takes for granted that it is an Error.
      throw asError(error);
    } finally {
      await renewal.end();
      this.#running.delete(job.name);
      isOver = true;
    }
  }

  async #releaseLocks(): Promise<void> {
    const names = this.#jobs.map((job) => job.name).filter((name) => !this.#running.has(name));
    if (names.length === 0) return;
    const { jobs } = await this.#backend.queryJobs({ names });
    const ours = jobs.filter((job) => job.lockedAt && job.lastModifiedBy === this.#id);
    await this.#backend.unlockJobs(ours.map((job) => job._id));
  }
}

/** What Agenda takes for a backend: its clock connected the real one. */
function connectedBackend(repository: AgendaRepository): AgendaBackend {
  return {
    name: 'job clock',
    repository,
    ownsConnection: false,
    connect: async () => {},
    disconnect: async () => {},
  };
}

function unanswered(what: string): () => Error {
  return () => new Error(`${what}: no answer in time`);
}

/** A job is found up to one scan before it is due and then waits for its time; one that ran past its next
 * time waits for a scan. */
function halfOfShortest(jobs: readonly RecurringJob[]): number {
  return Math.max(10, Math.min(...jobs.map((job) => job.everyMs), 2_000) / 2);
}
