/**
 * A delivery's progress as its statechart has it: pure functions from record and outcome to the next record.
 */
import type { Snapshot } from '../../machines/index.ts';
import { textOfTime, timeOfText } from '../domain/time.ts';
import { allowedTypes, begin, type Step, take, versionOf } from '../engine/chart.ts';
import type { DeliveryAttempt, DeliveryRecord, DeliveryStatus } from '../engine/store/deliveries.ts';

const MACHINE = 'webhook-delivery';

/** Where the statechart begins; it is the same for every delivery, so it is asked once. */
let initialStatus: DeliveryStatus | null = null;

/** A delivery before its first attempt. */
export function newDelivery(id: string, account: string, transaction: string): DeliveryRecord {
  initialStatus ??= begin(MACHINE, { failures: 0, retryAfterMs: 0, scale: 1 }).value as DeliveryStatus;
  return {
    id,
    account,
    transaction,
    status: initialStatus,
    failures: 0,
    attempts: [],
    nextAttemptAt: null,
    deliveredAt: null,
  };
}

function snapshotOf(record: DeliveryRecord): Snapshot {
  const context = { failures: record.failures, retryAfterMs: 0, scale: 1 };
  return { machine: MACHINE, version: versionOf(MACHINE), value: record.status, context };
}

function after(record: DeliveryRecord, step: Step, now: number): DeliveryRecord {
  const timer = step.started[0];
  return {
    ...record,
    status: step.value as DeliveryStatus,
    failures: (step.context as { failures: number }).failures,
    nextAttemptAt: timer === undefined ? null : textOfTime(Math.ceil(now + timer.delayMs)),
  };
}

function attemptsOf(step: Step | null): boolean {
  return step?.actions.some((action) => action.type === 'attempt') ?? false;
}

/** Whether the statechart wants an attempt now: a first one, or a retry whose time has come. */
export function wantsAttempt(record: DeliveryRecord, now: number): boolean {
  if (record.status === 'pending') return true;
  if (record.nextAttemptAt === null || timeOfText(record.nextAttemptAt) > now) return false;
  return attemptsOf(take(snapshotOf(record), { type: 'ATTEMPT' }));
}

/** Which of the statechart's events an answer is (contract, "Delivery and retry"). */
function verdictOf(statusCode: number | null): 'ACCEPTED' | 'DECLINED' | 'FAILED' {
  if (statusCode === null || statusCode === 429 || statusCode >= 500) return 'FAILED';
  return statusCode >= 200 && statusCode < 300 ? 'ACCEPTED' : 'DECLINED';
}

/** The longest time that a receiver's `Retry-After` may ask for. */
const MAX_RETRY_AFTER_MS = 24 * 3600 * 1000;

/** The record after an attempt; `now` is when it ended. */
export function attempted(
  record: DeliveryRecord,
  attempt: DeliveryAttempt,
  retryAfterMs: number | null,
  scale: number,
  now: number,
): DeliveryRecord {
  const type = verdictOf(attempt.statusCode);
  const event = { type, retryAfterMs: Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS), scale };
  const step = take(snapshotOf(record), event);
  if (step === null) throw new Error(`a delivery that is ${record.status} has no attempt`);
  const next = after(record, step, now);
  return {
    ...next,
    attempts: [...record.attempts, attempt],
    deliveredAt: step.value === 'delivered' ? textOfTime(now) : null,
  };
}

/** The record once its URL was taken off the account; null where that changes nothing. */
export function urlRemoved(record: DeliveryRecord, now: number): DeliveryRecord | null {
  const step = take(snapshotOf(record), { type: 'URL_REMOVED' });
  return step === null ? null : after(record, step, now);
}

/** A new round of attempts for a dead or rejected delivery; null for any other. */
export function revived(record: DeliveryRecord, now: number): DeliveryRecord | null {
  if (!allowedTypes(MACHINE, record.status).includes('REVIVE')) return null;
  const step = take(snapshotOf(record), { type: 'REVIVE' });
  return step === null ? null : after(record, step, now);
}
