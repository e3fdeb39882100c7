/** The one place that reads the clock and makes ids; everyone else gets them handed in. */
import { randomBytes, randomUUID } from 'node:crypto';

/** Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

/** A UUID v4. */
export function newTransactionId(): string {
  return randomUUID();
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
