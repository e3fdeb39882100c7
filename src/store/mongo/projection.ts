/**
 * What a batch leaves in `transactions`, `deliveries`, `adjustments`, `refusals` and `attention`, and how it gets there.
 *
 * 1. Every write may be made again, by any process: first versions are inserts, later ones hold only over an older
 *    sequence number, the rest is put where nothing is.
 * 2. All else is there before the transactions that it is about: where a transaction has the batch's number, all
 *    that the batch made of it is there.
 * 3. What a batch makes due is named after its document, so that every process writes the same.
 */
import type { Batch, TransactionRecord } from '../../engine/journal.ts';
import { type Claim, claimOn, type Due, isClaimed } from '../../engine/store/due.ts';
import type { LookupRow } from '../../engine/store/lookups.ts';
import type { Append, AttentionItem, AttentionKey } from '../../engine/store.ts';
import { noteAll, withdrawAll } from './attention.ts';
import { toBson, toDate } from './bson.ts';
import type { MongoConnection } from './connection.ts';
import {
  type AdjustmentDocument,
  type ChangingParts,
  changingParts,
  type LookupElement,
  type OrderElement,
  type RefusalDocument,
  type TimerElement,
  type TransactionDocument,
  WAITS,
  waitMark,
} from './documents.ts';
import { type BatchLease, claimToken, type DeliveryDocument, dueParts } from './due/documents.ts';
import { type Patch, type PatchKind, patchAll } from './writes/patches.ts';
import { allTaken, insertAll, type Written } from './writes/writes.ts';

/** Room for the entries of a batch between two sequence numbers. */
const ORDERS_A_BATCH = 65_536;

/** One batch's writes. */
export interface Projection {
  inserts: TransactionDocument[];
  patches: Patch[];
  deliveries: DeliveryDocument[];
  adjustments: AdjustmentDocument[];
  refusals: RefusalDocument[];
  attention: AttentionItem[];
  withdrawn: AttentionKey[];
  claims: Claim[];
}

/** A batch and what it projects, of the whole of it or of what a crash cut off. */
export interface Projecting {
  /** The `_id` of the batch's document. */
  document: string;
  append: Omit<Append, 'content'>;
  /** When the claims end on what is due by `claimUntil`, ms since 1970. */
  leaseEnd: number;
  /** Whether the batch's content may be odd. */
  mayBeOdd: boolean;
}

/** What a batch changes of one transaction besides its record. */
interface Change {
  due: { due: Due; id: string; isOurs: boolean }[];
  lookups: LookupElement[];
  externalRef: string | null;
  changesTimers: boolean;
  /** Position of the transaction's first entry in the batch. */
  position: number;
}

/** Orders transactions, and what they are found by, over all of an account's batches. */
export function orderIn(seq: number, position: number): number {
  return seq * ORDERS_A_BATCH + position;
}

/** The changes by transaction. */
function changesOf({ document, append }: Projecting): Map<string, Change> {
  const { batch, lookups, due, claimUntil } = append;
  const all = new Map<string, Change>();
  batch.entries.forEach(({ transaction, timers }, position) => {
    if (transaction === null) return;
    const change = all.get(transaction);
    const changesTimers = timers !== null || change?.changesTimers === true;
    if (change !== undefined) change.changesTimers = changesTimers;
    else all.set(transaction, { due: [], lookups: [], externalRef: null, changesTimers, position });
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
    return { name, at: toDate(at), id, ...dueParts(due, isOurs ? lease : null) };
  });
}

function orderElements(change: Change, lease: BatchLease): OrderElement[] {
  return change.due.flatMap(({ due, id, isOurs }) => {
    if (due.kind !== 'bank') return [];
    const order = toBson(due.order) as OrderElement['order'];
    return [{ id, order, ...dueParts(due, isOurs ? lease : null) }];
  });
}

type Named = Pick<DeliveryDocument, 'event' | 'url'>;

function deliveryDocuments(change: Change, named: ReadonlyMap<string, Named>, lease: BatchLease) {
  return change.due.flatMap(({ due, isOurs }): DeliveryDocument[] => {
    if (due.kind !== 'delivery') return [];
    const { delivery, transaction, account } = due;
    const document: DeliveryDocument = {
      _id: delivery,
      account,
      transaction,
      ...named.get(delivery),
      status: 'pending',
      attempts: [],
      nextAttemptAt: null,
      deliveredAt: null,
      ...dueParts(due, isOurs ? lease : null),
    };
    return [document];
  });
}

function namedDeliveries(batch: Batch): Map<string, Named> {
  const named = new Map<string, Named>();
  for (const { name, deliveries } of batch.entries.flatMap(({ events }) => events))
    for (const { id, url } of deliveries) named.set(id, { event: name, url });
  return named;
}

function insertOf(
  record: TransactionRecord,
  parts: ChangingParts,
  change: Change,
  lease: BatchLease,
): TransactionDocument {
  const { id, account, type } = record;
  const { context } = record.snapshot;
  const createdAt =
    'createdAt' in context && typeof context.createdAt === 'string' ? context.createdAt : null;
  const orders = orderElements(change, lease);
  return {
    _id: id,
    account,
    type,
    order: toBson(orderIn(record.seqs[0] ?? 0, change.position)) as number,
    ...(createdAt === null ? {} : { createdAt: toDate(createdAt) }),
    ...(change.externalRef === null ? {} : { externalRef: change.externalRef }),
    ...(change.lookups.length === 0 ? {} : { lookups: toBson(change.lookups) as LookupElement[] }),
    ...parts,
    ...waitMark(record),
    timers: timerElements(record, change, lease),
    ...(orders.length === 0 ? {} : { orders }),
  };
}

/** A batch changes what an older one has made. */
const LATER_VERSION: PatchKind = {
  collection: 'transactions',
  fits: { $lt: ['$seq', '$$patch.set.seq'] },
  gone: ['exact', ...Object.values(WAITS)],
};

function patchOf(record: TransactionRecord, parts: ChangingParts, change: Change, lease: BatchLease): Patch {
  const orders = orderElements(change, lease);
  const set: Patch['set'] = Object.assign(parts, waitMark(record));
  if (change.changesTimers) set.timers = timerElements(record, change, lease);
  const push: Patch['push'] = {};
  if (change.lookups.length > 0) push.lookups = toBson(change.lookups) as LookupElement[];
  if (orders.length > 0) push.orders = orders;
  return Object.keys(push).length > 0 ? { _id: record.id, set, push } : { _id: record.id, set };
}

/** `seq`: of the batch that gives the row. */
export function refusalDocument(
  account: string,
  row: LookupRow & Pick<RefusalDocument, 'name'>,
  seq: number,
): RefusalDocument {
  const { name, key, value: transaction } = row;
  const _id = `${account}:${name}:${key}`;
  return { _id, account, name, key, transaction, seq: toBson(seq) as number };
}

/** The writes of a batch. */
export function projectionOf(projecting: Projecting): Projection {
  const { append, document, leaseEnd, mayBeOdd } = projecting;
  const { batch, records, attention, withdrawn } = append;
  const changes = changesOf(projecting);
  const named = namedDeliveries(batch);
  const own = { inserts: [], patches: [], deliveries: [], adjustments: [], refusals: [], claims: [] };
  const projection: Projection = { attention, withdrawn, ...own };
  const lease = { token: document, end: new Date(leaseEnd) };
  for (const record of records) {
    const change = changes.get(record.id);
    if (change === undefined) continue;
    const isFirst = record.seqs[0] === batch.seq;
    // What this batch alone has made says nothing that the batch doesn't.
    const parts = changingParts(record, batch.seq, mayBeOdd || !isFirst || record.seqs.length > 1);
    if (isFirst) projection.inserts.push(insertOf(record, parts, change, lease));
    else projection.patches.push(patchOf(record, parts, change, lease));
    projection.deliveries.push(...deliveryDocuments(change, named, lease));
    projection.claims.push(...claimsOf(change, record, document));
  }
  const { account } = batch;
  for (const { name, key, value } of append.lookups) {
    if (name === 'adjustment')
      projection.adjustments.push({ _id: `${account}:${key}`, account, key, digest: value });
    if (name === 'refusal' || name === 'returned')
      projection.refusals.push(refusalDocument(account, { name, key, value }, batch.seq));
  }
  return projection;
}

function claimsOf(change: Change, record: TransactionRecord, token: string): Claim[] {
  return change.due.flatMap(({ due, id, isOurs }) => {
    // A timer that the batch itself took back again was not written.
    if (!isOurs || (due.kind === 'timer' && !record.timers.some(({ name }) => name === due.name))) return [];
    const [document, element] = due.kind === 'delivery' ? [due.delivery, ''] : [record.id, id];
    return [claimOn(due, claimToken(due, document, element, token))];
  });
}

/**
 * Writes projections of many batches together; gives the documents that another process had written.
 * @throws Error where the database never takes something of them; the rest may be written
 */
export async function writeProjections(
  connection: MongoConnection,
  projections: readonly Projection[],
): Promise<Set<string>> {
  const taken = new Set<string>();
  const keep = (written: Written<{ _id: string }>): void => {
    for (const { _id } of allTaken(written).taken) taken.add(_id);
  };
  const all = <Item>(of: (projection: Projection) => Item[]): Item[] => projections.flatMap(of);
  const insert = (name: 'deliveries' | 'adjustments' | 'refusals') =>
    insertAll(
      connection,
      name,
      all((projection): { _id: string }[] => projection[name]),
    );
  await Promise.all([
    insert('deliveries').then(keep),
    insert('adjustments').then(allTaken),
    insert('refusals').then(allTaken),
    noteAll(
      connection,
      all(({ attention }) => attention),
    ),
    withdrawAll(
      connection,
      all(({ withdrawn }) => withdrawn),
    ),
  ]);
  const patches = all((projection) => projection.patches);
  const [, changed] = await Promise.all([
    insertAll(
      connection,
      'transactions',
      all(({ inserts }) => inserts),
    ).then(keep),
    patchAll(connection, LATER_VERSION, patches),
  ]);
  // Which of them were made is not told: what was claimed in any is looked at again.
  if (changed < patches.length) for (const { _id } of patches) taken.add(_id);
  return taken;
}
