import type { JobId, JobParameters, JobRepository } from 'agenda';

/**
 * Where a job clock keeps its jobs: the part of Agenda's repository that a clock reaches, so that Agenda's own
 * repositories fit as they are. All of its jobs recur, and a name has one job at most. Each method may reject
 * where the backend can't be reached; the next call may work then.
 */
export interface ClockBackend {
  /** Makes ready the place that holds the jobs, or makes it anew where it was dropped. */
  connect(): Promise<void>;
  /** The names of all jobs. */
  getDistinctJobNames(): Promise<string[]>;
  /** The jobs of these names, as far as there are any, with their locks: `lockedAt`, and `lastModifiedBy` holds it. */
  queryJobs(options: { names: string[] }): Promise<{ jobs: (JobParameters & { _id: JobId })[] }>;
  /**
   * Puts a job in that is due now. Where there is one of its name, that one keeps its time and its lock. Gives the
   * job back with its id and its time.
   */
  saveJob: JobRepository['saveJob'];
  /** Locks the job of a name if it is due by the next scan, or if its lock is as old as the deadline. */
  getNextJobToRun: JobRepository['getNextJobToRun'];
  /** Stores the lock and the time of the next run; without `lockedAt` it unlocks. Rejects where the job is gone. */
  saveJobState: JobRepository['saveJobState'];
  /** Unlocks a job that waits for its next run. */
  unlockJob: JobRepository['unlockJob'];
  /** Removes the job of an id; gives how many jobs that were. */
  removeJobs(options: { id: string }): Promise<number>;
  /** Unlocks the jobs of these ids. */
  unlockJobs: JobRepository['unlockJobs'];
}
