/** A piece of work that a clock does again and again; it bounds its own time. */
export interface RecurringJob {
  /** Unique among the jobs of a clock, and the same in each process that shares the work. */
  name: string;
  everyMs: number;
  run(): Promise<void>;
}
