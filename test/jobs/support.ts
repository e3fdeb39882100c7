import type { JobParameters } from 'agenda';
import * as assert from 'uvu/assert';
import type { RecurringJob } from '../../src/jobs/recurring-job.ts';

/** Waits until a condition holds; fails after a bound that is far above what a busy machine needs. */
export async function waitUntil(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) assert.unreachable(`waited in vain until ${what}`);
    await sleep(10);
  }
}

/** For showing that something does not happen: it can miss a fault on a slow machine, never invent one. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A time relative to now. */
export function fromNow(ms: number): Date {
  return new Date(Date.now() + ms);
}

/** A recurring job as Agenda puts it in, due since a second, with the given fields. */
export function newJob(fields: Partial<JobParameters> & { name: string }): JobParameters {
  const due = { nextRunAt: fromNow(-1_000), repeatInterval: 200 };
  return { priority: 0, type: 'single', data: undefined, ...due, ...fields };
}

/** The value, which must be there. */
export function present<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined, 'a value was expected');
  return value as T;
}

export function job(name: string, everyMs: number, run: () => Promise<void>): RecurringJob {
  return { name, everyMs, run };
}

/** A job that notes when each of its runs begins, in ms of the monotonic clock. */
export function countingJob(name: string, everyMs: number): { job: RecurringJob; begunAt: number[] } {
  const begunAt: number[] = [];
  const run = async (): Promise<void> => {
    begunAt.push(performance.now());
  };
  return { job: job(name, everyMs, run), begunAt };
}

/** A job that takes `runMs`, and how many of its runs began, are under way, and were so at once at most. */
export interface Overlap {
  job: RecurringJob;
  runs: number;
  now: number;
  most: number;
}

/** A job that tells whether its runs overlap. */
export function overlapOf(name: string, everyMs: number, runMs: number): Overlap {
  const overlap = { job: job(name, everyMs, run), runs: 0, now: 0, most: 0 };
  async function run(): Promise<void> {
    overlap.runs += 1;
    overlap.now += 1;
    overlap.most = Math.max(overlap.most, overlap.now);
    await sleep(runMs);
    overlap.now -= 1;
  }
  return overlap;
}

/** What the work rejects with, as text. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no failure',
    (error: unknown) => String(error),
  );
}
