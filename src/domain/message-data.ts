/** Checks a message's `data` (design, "Messages"; decisions, "`data`"). Unknown parts are never refused. */

import { isEndToEndId } from './end-to-end-id.ts';
import { MESSAGE_TYPES, type MessageData } from './messages.ts';
import { MAX_AMOUNT } from './money.ts';
import { codePoints, isPrintable, isUuidV4 } from './text.ts';
import { isDay, textOfTime, timeOfText, YEAR_10000_MS } from './time.ts';
import type { TransactionType } from './transactions.ts';

export interface FieldError {
  field: string;
  message: string;
}

const MAX_REASON = 500;
/** Times are of the years 2000 to 9999. */
const FIRST_MS = Date.UTC(2000, 0);
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/;

/** A time in ISO 8601 as UTC with milliseconds; null where it is none. */
export function normalizeTime(value: unknown): string | null {
  if (typeof value !== 'string' || !TIMESTAMP.test(value)) return null;
  const ms = timeOfText(value);
  return ms >= FIRST_MS && ms < YEAR_10000_MS && isDay(value.slice(0, 10)) ? textOfTime(ms) : null;
}

const NO_TIME = 'must be a time in ISO 8601 with a zone';
const RETURN_ID = /^D[A-Za-z0-9]{1,31}$/;

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
  paidAt: (value) => (normalizeTime(value) === null ? NO_TIME : null),
  completedAt: (value) => (normalizeTime(value) === null ? NO_TIME : null),
  refundId: (value) => (typeof value === 'string' && isUuidV4(value) ? null : 'must be a UUID v4'),
  returnId: (value) =>
    typeof value === 'string' && RETURN_ID.test(value)
      ? null
      : 'must be the id of a return: D and up to 31 of [A-Za-z0-9]',
  reason: (value) =>
    typeof value === 'string' && isPrintable(value) && codePoints(value) <= MAX_REASON
      ? null
      : `must be text of at most ${MAX_REASON} printable characters`,
};

/** Ids as real banks give them: not all keep to the central bank's forms. */
const LOOSE: Record<string, Check> = {
  endToEndId: (value) =>
    typeof value === 'string' && /^[A-Za-z0-9]{32}$/.test(value) ? null : 'must be 32 of [A-Za-z0-9]',
  returnId: (value) =>
    typeof value === 'string' && /^[A-Za-z0-9]{1,35}$/.test(value) ? null : 'must be up to 35 of [A-Za-z0-9]',
};

export interface Parts {
  required: readonly string[];
  optional: readonly string[];
}

const REASON: Parts = { required: [], optional: ['reason'] };
const PARTS: Record<TransactionType, Record<string, Parts>> = {
  'pix-in': {
    PAY: { required: ['endToEndId', 'amount', 'paidAt'], optional: [] },
    HOLD: { required: ['endToEndId', 'amount', 'paidAt'], optional: [] },
    REFUND: { required: [], optional: ['reason', 'amount', 'returnId', 'completedAt'] },
    CHARGEBACK: { required: [], optional: ['reason', 'amount', 'returnId'] },
    REFUND_DONE: { required: ['refundId'], optional: ['returnId', 'reason', 'completedAt'] },
    REFUND_FAILED: { required: ['refundId'], optional: ['returnId', 'reason'] },
  },
  cashout: {
    START: { required: ['endToEndId'], optional: [] },
    SETTLE: { required: ['endToEndId', 'paidAt'], optional: [] },
    FAIL: { required: [], optional: ['endToEndId', 'reason'] },
    RETURN: { required: ['returnId', 'amount'], optional: ['reason'] },
  },
};

/** The parts that a message's data may have. */
export function partsOf(type: TransactionType, message: string): Parts {
  return PARTS[type][message] ?? REASON;
}

/**
 * The mistakes in the known parts of a message's data; empty where all is well. `data` is an object whose
 * null parts count as left out. `looseIds`: the bank's ids need not keep to their forms.
 */
function checkMessageData(
  type: TransactionType,
  message: string,
  data: Record<string, unknown>,
  looseIds = false,
): FieldError[] {
  const { required, optional } = partsOf(type, message);
  const errors: FieldError[] = [];
  for (const name of [...required, ...optional]) {
    const value = data[name] ?? null;
    const missing = required.includes(name) ? 'is required' : null;
    const check = (looseIds ? LOOSE[name] : undefined) ?? CHECKS[name];
    const wrong = value === null ? missing : (check?.(value) ?? null);
    if (wrong !== null) errors.push({ field: `data.${name}`, message: wrong });
  }
  return errors;
}

/** A part as charts and lookups read it. */
function normalized(name: string, value: unknown): unknown {
  if (name === 'paidAt' || name === 'completedAt') return normalizeTime(value);
  return name === 'refundId' ? String(value).toLowerCase() : value;
}

/** The known parts of data that `checkMessage` found right, times normalised; null and unknown parts are left out. */
export function knownParts(
  type: TransactionType,
  message: string,
  data: Record<string, unknown>,
): MessageData {
  const { required, optional } = partsOf(type, message);
  const known: Record<string, unknown> = {};
  for (const name of [...required, ...optional]) {
    const value = data[name] ?? null;
    if (value !== null) known[name] = normalized(name, value);
  }
  return known;
}

/** Parts that are null count as left out. */
export function withoutNulls(data: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(data).includes(null)) return data;
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

/** What is wrong with a message: its type, if it is none of the transaction's, else its data. */
export function checkMessage(
  type: TransactionType,
  message: string,
  data: Record<string, unknown>,
  looseIds = false,
): FieldError[] {
  const known = MESSAGE_TYPES[type];
  if (known.includes(message)) return checkMessageData(type, message, data, looseIds);
  return [{ field: 'type', message: `must be one of ${known.join(', ')}` }];
}
