/** What GET /statement is asked for: `from`, `to`, `limit`, `cursor`. */

import type { FieldError } from '../../domain/message-data.ts';
import type { Window } from '../../engine/statement/collector.ts';
import type { StatementWish } from '../../engine/statement/page.ts';
import { type Cursor, parseCursor } from './cursor.ts';
import { FIRST, parseMoment } from './moments.ts';

const DAY_MS = 86_400_000;
export const MOST_ROWS = 1_000;
export const DEFAULT_ROWS = 100;

/** The parameters as they were given; null: left out. */
export interface StatementQuery {
  from: string | null;
  to: string | null;
  limit: string | null;
  cursor: string | null;
}

type Parsed = { ok: true; wish: StatementWish } | { ok: false; details: FieldError[] };

function parseLimit(text: string | null, details: FieldError[]): number {
  const limit = text === null ? DEFAULT_ROWS : /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MOST_ROWS)
    details.push({ field: 'limit', message: `must be a whole number from 1 to ${MOST_ROWS}` });
  return limit;
}

function moment(query: StatementQuery, field: 'from' | 'to', details: FieldError[]): number | null {
  const text = query[field];
  const ms = text === null ? null : parseMoment(text);
  if (text !== null && ms === null)
    details.push({ field, message: 'must be a date or a time of RFC 3339, as 2026-01-31T12:00:00Z' });
  return ms;
}

/** The cursor, which carries its window: another one beside it would be passed over in silence. */
function carried(
  account: string,
  text: string,
  given: Partial<Window>,
  details: FieldError[],
): Cursor | null {
  const cursor = parseCursor(account, text);
  const isOther = ({ from, to }: Window): boolean => (given.from ?? from) !== from || (given.to ?? to) !== to;
  if (cursor === null) details.push({ field: 'cursor', message: 'must be a nextCursor of this account' });
  else if (isOther(cursor)) details.push({ field: 'cursor', message: 'is of another window' });
  return cursor;
}

/**
 * What is asked for, or every parameter that breaks its rule. `openEnd`: where a window without an end ends, ms since 1970.
 */
export function parseQuery(account: string, query: StatementQuery, openEnd: number): Parsed {
  const details: FieldError[] = [];
  const from = moment(query, 'from', details);
  const to = moment(query, 'to', details);
  const limit = parseLimit(query.limit, details);
  if (query.cursor !== null) {
    const given = { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
    const cursor = carried(account, query.cursor, given, details);
    return cursor === null || details.length > 0
      ? { ok: false, details }
      : { ok: true, wish: { ...cursor, limit } };
  }
  const end = to ?? openEnd;
  const start = from ?? Math.max(FIRST, end - DAY_MS);
  if (start > end && details.length === 0) details.push({ field: 'from', message: 'must not be after to' });
  if (details.length > 0) return { ok: false, details };
  return { ok: true, wish: { from: start, to: end, limit, place: null } };
}
