/**
 * What a batch leaves in `transactions`, `deliveries`, `adjustments` and `attention`, and how it gets there.
 *
 * 1. Every write may be made again, by whoever: first versions are inserts, later ones hold only over an older
 *    sequence number, the rest is put where nothing is.
 * 2. Deliveries are there before the transactions that name them: where a transaction has the batch's number,
 *    all that the batch made of it is there.
 * 3. What a batch makes due is named after its document, so that whoever writes it writes the same.
 */
import type { Document } from 'mongodb';
import type { Batch, Entry, TransactionRecord } from '../../engine/journal.ts';
import { lookupsOf } from '../../engine/lookups.ts';
import { attentionItems, dueOf, project } from '../../engine/project.ts';
import type { Append, AttentionItem, Claim, Due } from '../../engine/store.ts';
import { toBson, toDate } from './bson.ts';
import type { MongoConnection } from './connection.ts';
import {
  type AdjustmentDocument,
  changingParts,
  type DeliveryDocument,
  type LookupElement,
  type OrderElement,
  recordOf,
  type TimerElement,
  type TransactionDocument,
} from './documents.ts';
import { tokenOf } from './place.ts';
import { insertAll, noteAll, updateAll } from './writes.ts';

/** Room for the entries of a batch between two sequence numbers. */
const ORDERS_A_BATCH = 65_536;
/** One batch's writes. */
export interface Projection {
  inserts: TransactionDocument[];
  updates: Document[];
  deliveries: DeliveryDocument[];
  adjustments: AdjustmentDocument[];
  attention: AttentionItem[];
  claims: Claim[];
}

/** A batch and what it projects, of the whole of it or of what a crash cut off. */
export interface Projecting {
  /** The `_id` of the batch's document. */
  document: string;
  append: Pick<Append, 'batch' | 'records' | 'lookups' | 'due' | 'attention' | 'claimUntil'>;
  /** Who claims what is due by `claimUntil`. */
  incarnation: string;
}

interface Own {
  due: { due: Due; id: string; isOurs: boolean }[];
  lookups: LookupElement[];
  externalRef: string | null;
  changesTimers: boolean;
  /** Position of the transaction's first entry in the batch. */
  position: number;
}

function orderOf(seq: number, position: number): number {
  return seq * ORDERS_A_BATCH + position;
}

/** What the batch says of each of its transactions besides their records. */
function ownOf({ document, append }: Projecting): Map<string, Own> {
  const { batch, lookups, due, claimUntil } = append;
  const all = new Map<string, Own>();
  batch.entries.forEach(({ transaction, timers }, position) => {
    if (transaction === null) return;
    const own = all.get(transaction);
    const changesTimers = timers !== null || own?.changesTimers === true;
    if (own !== undefined) own.changesTimers = changesTimers;
    else all.set(transaction, { due: [], lookups: [], externalRef: null, changesTimers, position });
  });
  due.forEach((item, index) => {
    const isOurs = item.at <= claimUntil;
    all.get(item.transaction)?.due.push({ due: item, id: `${document}.${index}`, isOurs });
  });
  lookups.forEach(({ name, key, value }, index) => {
    const own = all.get(value);
    if (own === undefined) return;
    if (name === 'externalRef') own.externalRef = key;
    else own.lookups.push({ name, key, order: orderOf(batch.seq, index) });
  });
  return all;
}

function timersOf(record: TransactionRecord, own: Own, held: (id: string) => object): TimerElement[] {
  return record.timers.map(({ name, at }) => {
    // A timer that was set twice in one batch is due at the last time.
    const found = own.due.findLast(({ due }) => due.kind === 'timer' && due.name === name);
    if (found === undefined) return { name, at: toDate(at) };
    const { due, id, isOurs } = found;
    const tries = due.tries > 0 ? { tries: due.tries } : {};
    return { name, at: toDate(at), id, due: new Date(due.at), ...tries, ...(isOurs ? held(id) : {}) };
  });
}

function ordersOf(own: Own, held: (id: string) => object): OrderElement[] {
  return own.due.flatMap(({ due, id, isOurs }) => {
    if (due.kind !== 'bank') return [];
    const order = toBson(due.order) as OrderElement['order'];
    const tries = due.tries > 0 ? { tries: due.tries } : {};
    return [{ id, order, due: new Date(due.at), ...tries, ...(isOurs ? held(id) : {}) }];
  });
}

function deliveriesOf(own: Own, entries: ReadonlyMap<string, Entry>, held: (id: string) => object) {
  return own.due.flatMap(({ due, isOurs }): DeliveryDocument[] => {
    if (due.kind !== 'delivery') return [];
    const { delivery, transaction, account } = due;
    const named = namedIn(entries.get(delivery), delivery);
    const tries = due.tries > 0 ? { tries: due.tries } : {};
    const claim = isOurs ? held('') : {};
    const document: DeliveryDocument = {
      _id: delivery,
      account,
      transaction,
      ...named,
      status: 'pending',
      attempts: [],
      nextAttemptAt: null,
      deliveredAt: null,
      due: new Date(due.at),
      ...tries,
      ...claim,
    };
    return [document];
  });
}

function namedIn(entry: Entry | undefined, delivery: string): { event: string; url: string } | object {
  for (const { name, deliveries } of entry?.events ?? []) {
    const found = deliveries.find(({ id }) => id === delivery);
    if (found !== undefined) return { event: name, url: found.url };
  }
  return {};
}

/** Entries by the deliveries that they name. */
function byDelivery(batch: Batch): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const entry of batch.entries)
    for (const { deliveries } of entry.events) for (const { id } of deliveries) entries.set(id, entry);
  return entries;
}

function insertOf(record: TransactionRecord, seq: number, own: Own, held: (id: string) => object) {
  const { id, account, type } = record;
  const { createdAt } = record.snapshot.context as { createdAt?: string };
  const orders = ordersOf(own, held);
  const document: TransactionDocument = {
    _id: id,
    account,
    type,
    order: toBson(orderOf(seq, own.position)) as number,
    ...(createdAt === undefined ? {} : { createdAt: toDate(createdAt) }),
    ...(own.externalRef === null ? {} : { externalRef: own.externalRef }),
    ...(own.lookups.length === 0 ? {} : { lookups: toBson(own.lookups) as LookupElement[] }),
    ...(changingParts(record) as Pick<TransactionDocument, 'status' | 'machine' | 'version' | 'snapshot'> &
      Pick<TransactionDocument, 'final' | 'updatedAt' | 'seq' | 'seqs' | 'messages' | 'events'> &
      Pick<TransactionDocument, 'lastDeliveries' | 'submitted'>),
    ...(type === 'cashout' && !record.final ? { open: true as const } : {}),
    timers: timersOf(record, own, held),
    ...(orders.length === 0 ? {} : { orders }),
  };
  return document;
}

function updateOf(record: TransactionRecord, seq: number, own: Own, held: (id: string) => object): Document {
  const orders = ordersOf(own, held);
  const parts = changingParts(record);
  const pushed: Document = {};
  if (own.lookups.length > 0) pushed.lookups = { $each: toBson(own.lookups) };
  if (orders.length > 0) pushed.orders = { $each: orders };
  const gone: Document = parts.exact === undefined ? { exact: '' } : {};
  if (record.final) gone.open = '';
  return {
    q: { _id: record.id, account: record.account, seq: { $lt: seq } },
    u: {
      $set: own.changesTimers ? { ...parts, timers: timersOf(record, own, held) } : parts,
      ...(Object.keys(gone).length > 0 ? { $unset: gone } : {}),
      ...(Object.keys(pushed).length > 0 ? { $push: pushed } : {}),
    },
  };
}

/** The writes of a batch. */
export function projectionOf(projecting: Projecting): Projection {
  const { append, document, incarnation } = projecting;
  const { batch, records, attention } = append;
  const owned = ownOf(projecting);
  const entries = byDelivery(batch);
  const projection: Projection = {
    inserts: [],
    updates: [],
    deliveries: [],
    adjustments: [],
    attention,
    claims: [],
  };
  const held = { owner: incarnation, token: document };
  for (const record of records) {
    const own = owned.get(record.id);
    if (own === undefined) continue;
    const isFirst = record.seqs.length === 1;
    if (isFirst) projection.inserts.push(insertOf(record, batch.seq, own, () => held));
    else projection.updates.push(updateOf(record, batch.seq, own, () => held));
    projection.deliveries.push(...deliveriesOf(own, entries, () => held));
    projection.claims.push(...claimsOf(own, record, document));
  }
  for (const { name, key, value } of append.lookups) {
    if (name !== 'adjustment') continue;
    const { account } = batch;
    projection.adjustments.push({ _id: `${account}:${key}`, account, key, digest: value });
  }
  return projection;
}

function claimsOf(own: Own, record: TransactionRecord, token: string): Claim[] {
  return own.due.flatMap(({ due, id, isOurs }) => {
    // A timer that the batch itself took back again was not written.
    if (!isOurs || (due.kind === 'timer' && !record.timers.some(({ name }) => name === due.name))) return [];
    const [document, element] = due.kind === 'delivery' ? [due.delivery, ''] : [record.id, id];
    return [{ due, token: tokenOf({ kind: due.kind, document, account: due.account, element, token }) }];
  });
}

/** Whether a batch makes less due than its entries say: it was moved here from another store. */
export function isImported({ batch, due }: Append): boolean {
  return due.length === 0 && batch.entries.some((entry) => dueOf(batch.account, entry).length > 0);
}

/** What of a batch a crash cut off: as an append of the transactions that lack it, claimed by nobody. */
export function missingOf(
  batch: Batch,
  stored: ReadonlyMap<string, TransactionDocument>,
): Projecting['append'] {
  const lacks = (id: string): boolean => (stored.get(id)?.seq ?? 0) < batch.seq;
  const records = new Map<string, TransactionRecord>();
  for (const entry of batch.entries) {
    const id = entry.transaction;
    if (id === null || !lacks(id)) continue;
    const known = stored.get(id);
    const before = records.get(id) ?? (known === undefined ? null : recordOf(known));
    records.set(id, project(before, batch.account, batch.seq, entry));
  }
  // Positions stay those of the whole batch: they name what is due, and order what is looked up.
  const lookups = batch.entries.flatMap(lookupsOf);
  const due = batch.entries.flatMap((entry) => dueOf(batch.account, entry));
  const attention = batch.entries.flatMap(attentionItems);
  return { batch, records: [...records.values()], lookups, due, attention, claimUntil: 0 };
}

/** Writes projections of many batches together; gives the documents that somebody else had written. */
export async function writeProjections(
  connection: MongoConnection,
  projections: readonly Projection[],
): Promise<Set<string>> {
  const all = <Name extends keyof Projection>(name: Name) =>
    projections.flatMap((projection) => projection[name] as Projection[Name][number][]);
  const taken = new Set<string>();
  const keep = (documents: readonly { _id: string }[]): void => {
    for (const { _id } of documents) taken.add(_id);
  };
  const deliveries = all('deliveries') as DeliveryDocument[];
  const adjustments = all('adjustments') as AdjustmentDocument[];
  const attention = all('attention') as AttentionItem[];
  await Promise.all([
    insertAll(connection, 'deliveries', deliveries).then(keep),
    insertAll(connection, 'adjustments', adjustments),
    noteAll(connection, attention),
  ]);
  const inserts = all('inserts') as TransactionDocument[];
  const updates = all('updates') as Document[];
  const [, found] = await Promise.all([
    insertAll(connection, 'transactions', inserts).then(keep),
    updateAll(connection, 'transactions', updates),
  ]);
  // Which of them found theirs is not told: what was claimed in any is looked at again.
  if (found < updates.length) for (const { q } of updates) taken.add(q._id);
  return taken;
}
