/** A statement's rows as CSV (RFC 4180). */
import type { StatementRow } from '../../engine/statement/page.ts';

/** The columns of a statement, in their order. */
export const COLUMNS = [
  'at',
  'type',
  'transactionId',
  'refundId',
  'what',
  'externalRef',
  'amount',
  'balance',
] as const satisfies readonly (keyof StatementRow)[];

function field(value: string | number | null): string {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A header row and the rows; null is empty. */
export function csvOf(rows: readonly StatementRow[]): string {
  const lines = [COLUMNS.join(','), ...rows.map((row) => COLUMNS.map((name) => field(row[name])).join(','))];
  return `${lines.join('\r\n')}\r\n`;
}
