/** Checks a message's `data` (design, "Messages"; decisions, "`data`"). Unknown parts are never refused. */
import { isEndToEndId } from './end-to-end-id.ts';
import type { MessageData } from './messages.ts';
import { MAX_AMOUNT } from './money.ts';
import { codePoints, isPrintable } from './text.ts';
import type { TransactionType } from './transactions.ts';

export interface FieldError {
  field: string;
  message: string;
}

const MAX_REASON = 500;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/;

/** A time in ISO 8601 as UTC with milliseconds; null where it is none. */
export function normalizeTime(value: unknown): string | null {
  if (typeof value !== 'string' || !TIMESTAMP.test(value)) return null;
  const ms = Date.parse(value);
  if (Number.isNaN(ms)) return null;
  // `Date.parse` takes February 30 for March 1: such a day is no day.
  const day = value.slice(0, 10);
  const isDay = new Date(`${day}T00:00:00.000Z`).toISOString().startsWith(day);
  const year = new Date(ms).getUTCFullYear();
  return isDay && year >= 2000 && year < 10_000 ? new Date(ms).toISOString() : null;
}

type Check = (value: unknown) => string | null;

const CHECKS: Record<string, Check> = {
  endToEndId: (value) =>
    typeof value === 'string' && isEndToEndId(value)
      ? null
      : 'must be an end-to-end id: E, ISPB, yyyyMMddHHmm, 11 of [A-Za-z0-9]',
  amount: (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_AMOUNT
      ? null
      : `must be whole cents from 1 to ${MAX_AMOUNT}`,
  paidAt: (value) => (normalizeTime(value) === null ? 'must be a time in ISO 8601 with a zone' : null),
  reason: (value) =>
    typeof value === 'string' && isPrintable(value) && codePoints(value) <= MAX_REASON
      ? null
      : `must be text of at most ${MAX_REASON} printable characters`,
};

interface Parts {
  required: readonly string[];
  optional: readonly string[];
}

const REASON: Parts = { required: [], optional: ['reason'] };
const PARTS: Record<TransactionType, Record<string, Parts>> = {
  'pix-in': {
    PAY: { required: ['endToEndId', 'amount', 'paidAt'], optional: [] },
    HOLD: { required: ['endToEndId', 'amount', 'paidAt'], optional: [] },
    REFUND: { required: [], optional: ['reason', 'amount'] },
    CHARGEBACK: { required: [], optional: ['reason', 'amount'] },
  },
  cashout: {
    START: { required: ['endToEndId'], optional: [] },
    SETTLE: { required: ['endToEndId', 'paidAt'], optional: [] },
    FAIL: { required: [], optional: ['endToEndId', 'reason'] },
  },
};

/**
 * The mistakes in the known parts of a message's data; empty where all is well. `data` is an object whose
 * null parts count as left out.
 */
export function checkMessageData(
  type: TransactionType,
  message: string,
  data: Record<string, unknown>,
): FieldError[] {
  const { required, optional } = PARTS[type][message] ?? REASON;
  const errors: FieldError[] = [];
  for (const name of [...required, ...optional]) {
    const value = data[name] ?? null;
    const missing = required.includes(name) ? 'is required' : null;
    const wrong = value === null ? missing : (CHECKS[name]?.(value) ?? null);
    if (wrong !== null) errors.push({ field: `data.${name}`, message: wrong });
  }
  return errors;
}

/** The known parts of data that `checkMessageData` found right, times normalised; null and unknown parts are left out. */
export function knownParts(
  type: TransactionType,
  message: string,
  data: Record<string, unknown>,
): MessageData {
  const { required, optional } = PARTS[type][message] ?? REASON;
  const known: Record<string, unknown> = {};
  for (const name of [...required, ...optional]) {
    const value = data[name] ?? null;
    if (value !== null) known[name] = name === 'paidAt' ? normalizeTime(value) : value;
  }
  return known;
}
