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

/** 16 hex digits of chance, from a pool: a batch wants one each time. */
export function newBatchId(): string {
  return randomUUID().replaceAll('-', '').slice(0, 20);
}

/** Names this run of this process. */
export function newIncarnation(): string {
  return randomBytes(6).toString('hex');
}
