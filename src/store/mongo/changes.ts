/** What a batch changes of each transaction, as documents, patches and their elements. */
import { timeOfText } from '../../domain/time.ts';
import type { BankOrder, Batch, TransactionRecord } from '../../engine/journal.ts';
import { type ClaimOf, type Due, isClaimed } from '../../engine/store/due.ts';
import type { Append } from '../../engine/store.ts';
import { toBson, toDate } from './bson.ts';
import {
  type ChangingParts,
  type JournalDocument,
  type LookupElement,
  type OrderElement,
  type TimerElement,
  type TransactionDocument,
  WAITS,
  waitMark,
} from './documents.ts';
import {
  type BatchLease,
  type DeliveryDocument,
  elementOfClaim,
  reckoningOf,
  tellDue,
} from './due/documents.ts';
import type { Patch, PatchKind } from './writes/patches.ts';

/** Room for the entries of a batch between two sequence numbers. */
const ORDERS_A_BATCH = 65_536;

/** A batch and what it projects, of the whole of it or of what a crash cut off. */
export interface Projecting {
  /** The `_id` of the batch's document. */
  document: string;
  append: Omit<Append, 'content'>;
  /** When the claims end on what is due by `claimUntil`, ms since 1970. */
  leaseEnd: number;
  /** The batch's document, where it was just made. */
  made: JournalDocument | null;
}

/** What a batch changes of one transaction besides its record. */
export interface Change {
  due: { due: Due; id: string; isOurs: boolean }[];
  lookups: LookupElement[];
  externalRef: string | null;
  changesTimers: boolean;
  /** The batch's time, ms since 1970. */
  at: number;
  /** Position of the transaction's first entry in the batch. */
  position: number;
}

/** Orders transactions, and what they are found by, over all of an account's batches. */
export function orderIn(seq: number, position: number): number {
  return seq * ORDERS_A_BATCH + position;
}

/** The changes by transaction. */
export function changesOf({ document, append }: Projecting): Map<string, Change> {
  const { batch, lookups, due, claimUntil } = append;
  const all = new Map<string, Change>();
  const at = timeOfText(batch.at);
  batch.entries.forEach(({ transaction, timers }, position) => {
    if (transaction === null) return;
    const change = all.get(transaction);
    const changesTimers = timers !== null || change?.changesTimers === true;
    if (change !== undefined) change.changesTimers = changesTimers;
    else all.set(transaction, { due: [], lookups: [], externalRef: null, changesTimers, at, position });
  });
  due.forEach((item, index) => {
    if (item === null) return;
    const isOurs = isClaimed(item, claimUntil);
    all.get(item.transaction)?.due.push({ due: item, id: `${document}.${index}`, isOurs });
  });
  lookups.forEach(({ name, key, value }, index) => {
    const change = all.get(value);
    if (change === undefined) return;
    if (name === 'refusal' || name === 'returned') return;
    if (name === 'externalRef') change.externalRef = key;
    else change.lookups.push({ name, key, order: orderIn(batch.seq, index) });
  });
  return all;
}

function timerElements(record: TransactionRecord, change: Change, lease: BatchLease): TimerElement[] {
  return record.timers.map(({ name, at }) => {
    // A timer that was set twice in one batch is due at the last time.
    const found = change.due.findLast(({ due }) => due.kind === 'timer' && due.name === name);
    if (found === undefined) return { name, at: toDate(at) };
    const { due, id, isOurs } = found;
    const element: TimerElement = { name, at: toDate(at), id };
    tellDue(element, due, isOurs ? lease : null);
    return element;
  });
}

function orderElements(change: Change, lease: BatchLease): OrderElement[] {
  return change.due.flatMap(({ due, id, isOurs }) => {
    if (due.kind !== 'bank') return [];
    const reckoned = reckoningOf(due.at, change.at - (due.ahead ?? 0));
    const element: OrderElement = { id, order: toBson(due.order) as BankOrder, ...reckoned };
    tellDue(element, due, isOurs ? lease : null);
    return [element];
  });
}

/** The name of a delivery's event, and where it goes. */
interface Named {
  event: string;
  url: string;
}

export function deliveryDocuments(change: Change, named: ReadonlyMap<string, Named>, lease: BatchLease) {
  return change.due.flatMap(({ due, isOurs }): DeliveryDocument[] => {
    if (due.kind !== 'delivery') return [];
    const { delivery, transaction, account } = due;
    const document: DeliveryDocument = {
      _id: delivery,
      account,
      transaction,
      status: 'pending',
      attempts: [],
      nextAttemptAt: null,
      deliveredAt: null,
    };
    const known = named.get(delivery);
    if (known !== undefined) {
      document.event = known.event;
      document.url = known.url;
    }
    tellDue(document, due, isOurs ? lease : null);
    return [document];
  });
}

export function namedDeliveries(batch: Batch): Map<string, Named> {
  const named = new Map<string, Named>();
  for (const { name, deliveries } of batch.entries.flatMap(({ events }) => events))
    for (const { id, url } of deliveries) named.set(id, { event: name, url });
  return named;
}

/** A first version. */
export function insertOf(
  record: TransactionRecord,
  parts: ChangingParts,
  change: Change,
  lease: BatchLease,
): TransactionDocument {
  const { context } = record.snapshot;
  const orders = orderElements(change, lease);
  const document: TransactionDocument = Object.assign(
    {
      _id: record.id,
      account: record.account,
      type: record.type,
      order: toBson(orderIn(record.seqs[0] ?? 0, change.position)) as number,
      timers: timerElements(record, change, lease),
    },
    parts,
    waitMark(record),
  );
  if ('createdAt' in context && typeof context.createdAt === 'string')
    document.createdAt = toDate(context.createdAt);
  if (change.externalRef !== null) document.externalRef = change.externalRef;
  if (change.lookups.length > 0) document.lookups = toBson(change.lookups) as LookupElement[];
  if (orders.length > 0) document.orders = orders;
  return document;
}

/** What a batch makes of a transaction that an older one has made; `set` has its number. */
interface LaterVersion extends Patch {
  account: string;
}

export const LATER_VERSION: PatchKind = {
  collection: 'transactions',
  // Where there is no number, any is greater.
  fits: {
    $and: [
      { $eq: ['$account', '$$patch.account'] },
      { $gte: ['$seq', 0] },
      { $lt: ['$seq', '$$patch.set.seq'] },
    ],
  },
  gone: ['exact', ...Object.values(WAITS)],
};

/** `ended`: claims on its orders that end with the change. */
export function patchOf(
  record: TransactionRecord,
  parts: ChangingParts,
  change: Change,
  { lease, ended }: { lease: BatchLease; ended: readonly ClaimOf<'bank'>[] },
): LaterVersion {
  const orders = orderElements(change, lease);
  const set: Patch['set'] = Object.assign(parts, waitMark(record));
  if (change.changesTimers) set.timers = timerElements(record, change, lease);
  const push: Patch['push'] = {};
  if (change.lookups.length > 0) push.lookups = toBson(change.lookups) as LookupElement[];
  if (orders.length > 0) push.orders = orders;
  const patch: LaterVersion = { _id: record.id, account: record.account, set };
  if (Object.keys(push).length > 0) patch.push = push;
  if (ended.length > 0) patch.pull = { orders: ended.map(elementOfClaim) };
  return patch;
}
