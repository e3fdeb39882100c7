/**
 * What transactions are found by, and the finding. The rows are projections of entries (I7); what they mean is
 * with `LookupName` in `store/lookups.ts`.
 */
import type { ReturnData } from '../domain/messages.ts';
import { refundsOf } from '../domain/reversals/sums.ts';
import type { Charge, Transfer } from '../domain/transactions.ts';
import type { Entry, TransactionRecord } from './journal.ts';
import { sha256 } from './store/content.ts';
import type { LookupName, LookupRow } from './store/lookups.ts';
import type { JournalReads } from './store.ts';

function paymentIds(context: Charge): string[] {
  return [context.endToEndId, context.held?.endToEndId ?? null].filter((id) => id !== null);
}

/** A refund is found by its id and its key from the entry on that it begins with: later ones find it there. */
function refundRows({ message, snapshot }: Entry, value: string): LookupRow[] {
  if (message.type !== 'REFUND_ORDER' && message.type !== 'REFUND') return [];
  return refundsOf(snapshot?.context as Charge).flatMap(({ id, refund }): LookupRow[] => {
    const row: LookupRow = { name: 'refund', key: id, value };
    const key = refund.idempotencyKey;
    return key === null ? [row] : [row, { name: 'refundKey', key: lookupKey(key), value }];
  });
}

/** Names a lookup within its account: no lookup's name holds a colon. */
export function nameOf({ name, key }: Pick<LookupRow, 'name' | 'key'>): string {
  return `${name}:${key}`;
}

/** The key of a return that is told again as it was. */
export function returnKey(returnId: string, amount: number): string {
  return `${returnId} ${amount}`;
}

function returnRows({ message, snapshot }: Entry, value: string): LookupRow[] {
  if (message.type !== 'RETURN' || snapshot === null) return [];
  const { returnId, amount } = message.data as Required<ReturnData>;
  return [returnId, returnKey(returnId, amount)].map((key) => ({ name: 'return', key, value }));
}

/** What an action of ops is known by: the digest of what was asked, and its entry's time. */
export function actionMark(digest: string, at: string): string {
  return `${digest} ${at}`;
}

/** The rows by which an entry's transaction is found. */
export function lookupsOf(entry: Entry): LookupRow[] {
  const rows: LookupRow[] = [];
  const id = entry.transaction;
  if (id === null) {
    const { id, digest, type } = entry.message;
    const value = type === 'OPS' ? actionMark(digest, entry.at) : digest;
    rows.push({ name: 'adjustment', key: lookupKey(id), value });
    return rows;
  }
  for (const order of entry.orders) {
    if (order.kind === 'return') rows.push({ name: 'returned', key: order.endToEndId, value: id });
  }
  if (entry.refusal !== null) {
    rows.push({ name: 'refusal', key: refusalKey(id, entry.message), value: id });
  } else if (entry.snapshot === null) {
    return rows;
  } else if (entry.type === 'pix-in') {
    const charge = entry.snapshot.context as Charge;
    if (entry.from === null && charge.externalRef !== null) {
      rows.push({ name: 'externalRef', key: lookupKey(charge.externalRef), value: id });
    }
    if (entry.from === null && charge.idempotencyKey !== undefined) {
      rows.push({ name: 'chargeKey', key: lookupKey(charge.idempotencyKey), value: id });
    }
    rows.push(...refundRows(entry, id));
    for (const key of paymentIds(charge)) if (key) rows.push({ name: 'payment', key, value: id });
  } else {
    const transfer = entry.snapshot.context as Transfer;
    if (entry.from === null && transfer.idempotencyKey !== null) {
      rows.push({ name: 'idempotencyKey', key: lookupKey(transfer.idempotencyKey), value: id });
    }
    rows.push(...returnRows(entry, id));
    if (transfer.reference) rows.push({ name: 'reference', key: transfer.reference, value: id });
  }
  return rows;
}

const LONGEST_KEY_BYTES = 512;
const DIGEST_TIMES = 4;

/**
 * The key of a text: itself, or its digest where it is longer than an index takes (255 code points may be
 * thousands of bytes). The digest is written four times: 256 characters, which no text of 255 can be.
 */
export function lookupKey(text: string): string {
  const isShort = text.length <= LONGEST_KEY_BYTES / 4 || Buffer.byteLength(text) <= LONGEST_KEY_BYTES;
  return isShort ? text : sha256(text).repeat(DIGEST_TIMES);
}

/** The key of a refusal: the same id, type and data to the same transaction is the same refusal. */
export function refusalKey(transaction: string, message: { id: string; digest: string }): string {
  return sha256(`${transaction}:${message.digest}:${message.id}`).slice(0, 32);
}

/** The value of an account's lookup; null where nothing has that key. `key` is as callers give it. */
export async function lookUp(
  journal: Pick<JournalReads, 'read'>,
  account: string,
  name: LookupName,
  key: string,
): Promise<string | null> {
  const wants = { transactions: [], lookups: [{ name, key: lookupKey(key) }] };
  return (await journal.read(account, wants)).lookups[0] ?? null;
}

/** The transaction of an account that a lookup points at. */
export async function findTransaction(
  journal: Pick<JournalReads, 'read' | 'transaction'>,
  account: string,
  name: LookupName,
  key: string,
): Promise<TransactionRecord | null> {
  const id = await lookUp(journal, account, name, key);
  return id === null ? null : journal.transaction(id);
}
