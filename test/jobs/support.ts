import type { JobParameters } from 'agenda';
import * as assert from 'uvu/assert';

/** Waits until a condition holds; fails after a bound that is far above what a busy machine needs. */
export async function waitUntil(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
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

/** A job that is due since a second, with the given fields. */
export function newJob(fields: Partial<JobParameters> & { name: string }): JobParameters {
  return { priority: 0, nextRunAt: fromNow(-1_000), type: 'normal', data: {}, ...fields };
}

/** The value, which must be there. */
export function present<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined, 'a value was expected');
  return value as T;
}
