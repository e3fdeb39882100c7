/** The one place that reads the clock and makes ids; everyone else gets them handed in. */
import { randomBytes, randomUUID } from 'node:crypto';

/** Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

/** Milliseconds of a clock that never steps and that all threads of this machine share. */
export function elapsed(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

/** Ids made within so many ms begin alike. */
const NEIGHBOURS_MS = 8;
const PREFIX_LENGTH = 8;

let prefix = '';
let prefixUntil = 0;

/**
 * A UUID v4: 122 random bits, of which ids of the same few ms share the first 32. What is created together then
 * lies together in the store's tree, and is written with a fifth of the pages; the other 90 bits are each id's
 * own.
 */
export function newTransactionId(): string {
  const id = randomUUID();
  const time = now();
  if (time >= prefixUntil || time < prefixUntil - NEIGHBOURS_MS) {
    prefix = id.slice(0, PREFIX_LENGTH);
    prefixUntil = time + NEIGHBOURS_MS;
  }
  return prefix + id.slice(PREFIX_LENGTH);
}

/** Names this run of this process. */
export function newIncarnation(): string {
  return randomBytes(6).toString('hex');
}

/** Ids of batches: unique over all runs of all processes, since the incarnation is. */
export function batchIds(incarnation: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${incarnation}.${count.toString(36)}`;
  };
}
