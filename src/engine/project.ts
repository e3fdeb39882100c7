/**
 * Projections as pure functions of entries (I7): the live path and `verify` use the same ones, so replaying a
 * journal gives the same bytes.
 */
import type { Snapshot } from '../../machines/index.ts';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Charge, Transfer } from '../domain/transactions.ts';
import { isFinal } from './chart.ts';
import { type AttentionNote, type Entry, sha256, type TransactionRecord } from './journal.ts';
import type { AttentionItem, Due, LookupRow } from './store.ts';

/** What changed of a context, at its first level: what an entry after the first one stores. */
export function changedParts(before: object, after: object): object {
  const changes: Record<string, unknown> = {};
  const old = before as Record<string, unknown>;
  for (const [name, value] of Object.entries(after)) {
    // Two objects that say the same are the same: which of them it is depends on who read them.
    const isSame = old[name] === value || canonicalJson(old[name]) === canonicalJson(value);
    if (!Object.hasOwn(old, name) || !isSame) changes[name] = value;
  }
  return changes;
}

function nextSnapshot(record: TransactionRecord | null, entry: Entry): Snapshot {
  if (entry.snapshot === null) {
    if (record === null) throw new Error(`the first entry of ${entry.transaction} has no snapshot`);
    return record.snapshot;
  }
  if (record === null) return entry.snapshot;
  return { ...entry.snapshot, context: { ...record.snapshot.context, ...entry.snapshot.context } };
}

/**
 * The record after an entry of its transaction; the given record stays as it is.
 * @throws Error where the entry belongs to no transaction or its first entry has no snapshot.
 */
export function project(
  record: TransactionRecord | null,
  account: string,
  seq: number,
  entry: Entry,
): TransactionRecord {
  if (entry.transaction === null || entry.type === null) throw new Error('an entry of the account itself');
  const seqs = record?.seqs ?? [];
  const applied = entry.snapshot !== null;
  // What the clock and the API send has no id that could come again.
  const remembered =
    applied &&
    (entry.message.door === 'bank' || entry.message.door === 'sandbox' || entry.message.door === 'ops');
  const messages = record?.messages ?? {};
  const lastDeliveries = { ...record?.lastDeliveries };
  for (const event of entry.events) for (const { url, id } of event.deliveries) lastDeliveries[url] = id;
  const snapshot = nextSnapshot(record, entry);
  return {
    id: entry.transaction,
    account,
    type: entry.type,
    snapshot,
    final: isFinal(snapshot.machine, snapshot.value),
    updatedAt: applied ? entry.at : (record?.updatedAt ?? entry.at),
    seqs: seqs.at(-1) === seq ? seqs : [...seqs, seq],
    messages: remembered ? { ...messages, [entry.message.id]: entry.message.digest } : messages,
    events: (record?.events ?? 0) + entry.events.length,
    timers: entry.timers ?? record?.timers ?? [],
    lastDeliveries,
    submitted: (record?.submitted ?? false) || entry.message.type === 'SUBMIT',
  };
}

function paymentIds(context: Charge): string[] {
  return [context.endToEndId, context.held?.endToEndId ?? null].filter((id) => id !== null);
}

/** What an entry makes its transaction found by. */
export function lookupsOf(entry: Entry): LookupRow[] {
  const rows: LookupRow[] = [];
  const id = entry.transaction;
  if (id === null) {
    rows.push({ name: 'adjustment', key: lookupKey(entry.message.id), value: entry.message.digest });
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
    for (const key of paymentIds(charge)) if (key) rows.push({ name: 'payment', key, value: id });
  } else {
    const transfer = entry.snapshot.context as Transfer;
    if (entry.from === null && transfer.idempotencyKey !== null) {
      rows.push({ name: 'idempotencyKey', key: lookupKey(transfer.idempotencyKey), value: id });
    }
    if (transfer.reference) rows.push({ name: 'reference', key: transfer.reference, value: id });
  }
  return rows;
}

const LONGEST_KEY_BYTES = 512;
const DIGEST_TIMES = 4;

/**
 * What a text is found by: itself, or its digest where it is longer than an index takes (255 code points may be
 * thousands of bytes). The digest is written four times: 256 characters, which no text of 255 can be.
 */
export function lookupKey(text: string): string {
  const isShort = text.length <= LONGEST_KEY_BYTES / 4 || Buffer.byteLength(text) <= LONGEST_KEY_BYTES;
  return isShort ? text : sha256(text).repeat(DIGEST_TIMES);
}

/** What tells one refusal from another: the same id, type and data to the same transaction is the same one. */
export function refusalKey(transaction: string, message: { id: string; digest: string }): string {
  return sha256(`${transaction}:${message.digest}:${message.id}`).slice(0, 32);
}

/** What an entry makes due, with times in ms. */
export function dueOf(account: string, entry: Entry): Due[] {
  const transaction = entry.transaction;
  if (transaction === null) return [];
  const now = Date.parse(entry.at);
  const rows: Due[] = [];
  for (const timer of entry.timers ?? []) {
    rows.push({ kind: 'timer', at: Date.parse(timer.at), account, transaction, name: timer.name, tries: 0 });
  }
  for (const order of entry.orders) {
    const at = order.kind === 'wake' ? Date.parse(order.at) : now;
    rows.push({ kind: 'bank', at, account, transaction, order, tries: 0 });
  }
  for (const event of entry.events) {
    for (const { id } of event.deliveries)
      rows.push({ kind: 'delivery', at: now, account, transaction, delivery: id, tries: 0 });
  }
  return rows;
}

/** The item for ops that an entry calls for. */
export function attentionOf(entry: Entry): AttentionItem[] {
  const note: AttentionNote | null = entry.attention;
  return note === null ? [] : [{ ...note, since: entry.at }];
}
