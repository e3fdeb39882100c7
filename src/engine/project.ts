/**
 * Projections as pure functions of entries (I7): the live path and `verify` use the same ones, so replaying a
 * journal gives the same bytes.
 */
import type { Snapshot } from '../../machines/index.ts';
import { canonicalJson } from '../domain/canonical-json.ts';
import { timeOfText } from '../domain/time.ts';
import { isEnded } from './chart.ts';
import type { AttentionNote, Entry, JournalMessage, TransactionRecord } from './journal.ts';
import type { Due } from './store/due.ts';
import { type AttentionItem, itemOf } from './store.ts';

/** The changed parts of a context, at its first level: an entry after the first one stores these. */
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

/** Ids that no other record has are no shape that V8 should remember: an object without a prototype has none. */
function withMessage(
  messages: TransactionRecord['messages'],
  { id, digest }: JournalMessage,
): TransactionRecord['messages'] {
  const next: Record<string, string> = Object.create(null);
  for (const known in messages) next[known] = messages[known] as string;
  next[id] = digest;
  return next;
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
  const isRefused = entry.refusal !== null;
  const refusals = (record?.refusals ?? 0) + (isRefused ? 1 : 0);
  const applied = entry.snapshot !== null;
  // Messages of the clock and the API have no id that could come again.
  const remembered =
    applied &&
    (entry.message.door === 'bank' || entry.message.door === 'sandbox' || entry.message.door === 'ops');
  const messages = record?.messages ?? {};
  const lastDeliveries = { ...record?.lastDeliveries };
  for (const event of entry.events) for (const { url, id } of event.deliveries) lastDeliveries[url] = id;
  const snapshot = nextSnapshot(record, entry);
  const next = {
    id: entry.transaction,
    account,
    type: entry.type,
    snapshot,
    final: isEnded(snapshot.machine, snapshot.value),
    updatedAt: applied ? entry.at : (record?.updatedAt ?? entry.at),
    // What grows with the refusals lies outside the record: whoever is refused for ever doesn't make it long.
    seqs: isRefused || seqs.at(-1) === seq ? seqs : [...seqs, seq],
    ...(refusals === 0 ? {} : { refusals }),
    messages: remembered ? withMessage(messages, entry.message) : messages,
    events: (record?.events ?? 0) + entry.events.length,
    timers: entry.timers ?? record?.timers ?? [],
    lastDeliveries,
    submitted: (record?.submitted ?? false) || entry.message.type === 'SUBMIT',
  };
  // The entry's type says whose context it is: no type of ours can.
  return next as TransactionRecord;
}

/** A due thing by the clock, of an account whose time is ahead of it: nothing waits for a time that is wrong. */
function byClock(due: Due, ahead: number): Due {
  return { ...due, at: due.at - ahead, ahead };
}

/** The due things that an entry creates, by the clock, which the account's time is `ahead` of; times in ms. */
export function dueOf(account: string, entry: Entry, ahead: number): Due[] {
  const transaction = entry.transaction;
  if (transaction === null) return [];
  const now = timeOfText(entry.at);
  const rows: Due[] = [];
  for (const timer of entry.timers ?? []) {
    rows.push({ kind: 'timer', at: timeOfText(timer.at), account, transaction, name: timer.name, tries: 0 });
  }
  for (const order of entry.orders) {
    const at = order.kind === 'wake' ? timeOfText(order.at) : now;
    rows.push({ kind: 'bank', at, account, transaction, order, tries: 0 });
  }
  for (const event of entry.events) {
    for (const { id, url } of event.deliveries)
      rows.push({ kind: 'delivery', at: now, account, transaction, delivery: id, url, tries: 0 });
  }
  return ahead === 0 ? rows : rows.map((due) => byClock(due, ahead));
}

/** The amount that an item of an entry is about: what is given back, else the transaction's. */
function amountAbout(entry: Entry, record: TransactionRecord | null): number | null {
  for (const order of entry.orders) if (order.kind === 'return') return order.amount;
  return record?.snapshot.context.amount ?? null;
}

/** The item for ops that an entry calls for; `record` is its transaction's, null where it has none. */
export function attentionItems(
  account: string,
  entry: Entry,
  record: TransactionRecord | null,
): AttentionItem[] {
  const note: AttentionNote | null = entry.attention;
  if (note === null) return [];
  const about = { account, transaction: entry.transaction };
  return [itemOf(note, entry.at, about, amountAbout(entry, record))];
}
