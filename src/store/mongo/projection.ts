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
import { type Claim, claimOn } from '../../engine/store/due.ts';
import type { LookupRow } from '../../engine/store/lookups.ts';
import type { AttentionItem, AttentionKey } from '../../engine/store.ts';
import { noteAll, withdrawAll } from './attention.ts';
import { type Plain, toBson } from './bson.ts';
import {
  type Change,
  changesOf,
  deliveryDocuments,
  insertOf,
  LATER_VERSION,
  namedDeliveries,
  type Projecting,
  patchOf,
} from './changes.ts';
import type { MongoConnection } from './connection.ts';
import {
  type AdjustmentDocument,
  changingParts,
  type JournalDocument,
  type RefusalDocument,
  type TransactionDocument,
} from './documents.ts';
import { claimToken, type DeliveryDocument } from './due/documents.ts';
import { type Patch, patchAll } from './writes/patches.ts';
import { allTaken, insertAll, type Written } from './writes/writes.ts';

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
  /** Claims that end with it. */
  ended: Claim[];
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

/**
 * A record's snapshot as the batch's document has it, where one entry of the batch has made the record: it says nothing
 * that the batch doesn't. Undefined for any other, and where the batch has something odd.
 */
function storedSnapshot(
  made: JournalDocument | null,
  batch: Batch,
  position: number,
  { seqs, snapshot }: TransactionRecord,
): Plain | undefined {
  const isEntrys = seqs.length === 1 && batch.entries[position]?.snapshot === snapshot;
  if (made === null || made.exact !== undefined || !isEntrys) return undefined;
  return made.entries[position]?.snapshot as Plain | undefined;
}

/** The writes of a batch. */
export function projectionOf(projecting: Projecting): Projection {
  const { append, document, leaseEnd, made } = projecting;
  const { batch, records, attention, withdrawn, ends = [] } = append;
  const changes = changesOf(projecting);
  const named = namedDeliveries(batch);
  const projection: Projection = {
    inserts: [],
    patches: [],
    deliveries: [],
    adjustments: [],
    refusals: [],
    attention,
    withdrawn,
    claims: [],
    ended: [],
  };
  const lease = { token: document, end: new Date(leaseEnd) };
  for (const record of records) {
    const change = changes.get(record.id);
    if (change === undefined) continue;
    const isFirst = record.seqs[0] === batch.seq;
    const parts = changingParts(record, batch.seq, storedSnapshot(made, batch, change.position, record));
    if (isFirst) projection.inserts.push(insertOf(record, parts, change, lease));
    else {
      const ended = ends.filter(({ due }) => due.transaction === record.id);
      projection.patches.push(patchOf(record, parts, change, { lease, ended }));
      projection.ended.push(...ended);
    }
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
