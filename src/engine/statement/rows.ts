/** What an account's entries are in its statement (additions, "GET /statement"): one row for each that changes the balance. */
import type { TransactionType } from '../../domain/transactions.ts';
import type { Batch, Entry } from '../journal.ts';

export type RowType = TransactionType | 'refund' | 'adjustment';

/** One entry that changed the balance; amounts in cents. */
export interface Row {
  /** ISO 8601, UTC, milliseconds. */
  at: string;
  type: RowType;
  transactionId: string | null;
  refundId: string | null;
  /** The name of the entry's last event, else the message's type. */
  what: string;
  /** Plus is more in the balance. */
  amount: number;
  /** After the entry. */
  balance: number;
}

/** Messages of the refunds that merchants order; what the bank takes back by itself is the charge's. */
const OF_REFUNDS: ReadonlySet<string> = new Set(['REFUND_ORDER', 'REFUND_DONE', 'REFUND_FAILED']);

/** What an entry adds to the balance, in cents. */
export function changeOf({ postings }: Entry): number {
  let change = 0;
  for (const { leg, amount } of postings) if (leg === 'available') change += amount;
  return change;
}

/** The balance before a batch, in cents: what it left, less what its entries added. */
export function balanceBefore({ balances, entries }: Batch): number {
  return entries.reduce((balance, entry) => balance - changeOf(entry), balances.available);
}

function typeOf({ type, message }: Entry): RowType {
  if (type === null) return 'adjustment';
  return OF_REFUNDS.has(message.type) ? 'refund' : type;
}

/** The refund that an entry is of: events name it, those of the bank's own refunds as well. */
function refundOf({ events, message }: Entry): string | null {
  for (const { about } of events) if (about !== undefined && 'refundId' in about) return about.refundId;
  if (!OF_REFUNDS.has(message.type)) return null;
  const { refundId } = message.data as { refundId?: string };
  return refundId ?? null;
}

/** An entry's row; null where it changes nothing. `before`: the balance before it, in cents. */
export function rowOf(entry: Entry, before: number): Row | null {
  const amount = changeOf(entry);
  if (amount === 0) return null;
  return {
    at: entry.at,
    type: typeOf(entry),
    transactionId: entry.transaction,
    refundId: refundOf(entry),
    what: entry.events.at(-1)?.name ?? entry.message.type,
    amount,
    balance: before + amount,
  };
}
