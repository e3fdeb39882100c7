/** What was noted for a person to look at, on MongoDB: an item stays, marked, once somebody is done with it. */
import type { Document } from 'mongodb';
import type { About } from '../../domain/sentences/item-codes.ts';
import { countedTogether, countOf } from '../../engine/attention/counted.ts';
import type { AttentionKind } from '../../engine/journal.ts';
import {
  type Attention,
  type AttentionFilter,
  type AttentionItem,
  type AttentionKey,
  type AttentionPlace,
  type DoneBy,
  itemOf,
  type Settlement,
} from '../../engine/store.ts';
import { fromBson, type Plain, toBson, toDate, toIso } from './bson.ts';
import { MAJORITY, type MongoConnection } from './connection.ts';
import type { MongoReads } from './reads.ts';
import { allTaken, updateAll } from './writes/writes.ts';

export interface AttentionDocument extends Plain {
  /** Kind and id. */
  _id: string;
  kind: AttentionItem['kind'];
  id: string;
  what: string;
  next: string;
  /** Absent in items of former builds. */
  code?: string | null;
  data?: object | null;
  since: Date | string;
  done: boolean;
  /** Absent in items of former builds. */
  amount?: number | null;
  about?: About;
  /** Absent while it is on the list, and where nobody said it. */
  doneBy?: Omit<DoneBy, 'at'> & { at: Date | string };
}

/** How long counts are taken to be still so: they are read by whoever watches, from several processes. */
const COUNTS_MS = 2_000;

function idOf({ kind, id }: AttentionKey): string {
  return `${kind}:${id}`;
}

function attentionDocument(item: AttentionItem): AttentionDocument {
  return toBson({ _id: idOf(item), ...item, done: false }) as AttentionDocument;
}

export function attentionFromDocument(document: AttentionDocument): AttentionItem {
  const { kind, id, code = null, data = null, what, next, since, about, amount = null } = document;
  const note = { kind, id, code, data: fromBson(data) as object | null, what, next };
  return itemOf(note, toIso(since), about, amount);
}

/** The statement that puts an item in the place of the one before, done or not: news again. */
export function attentionAnew(item: AttentionItem): object {
  const { _id, ...parts } = attentionDocument(item);
  return { q: { _id }, u: { $set: parts }, upsert: true };
}

/** Puts items on the list until that is known to be done; those that are known stay as they are. */
export async function noteAll(connection: MongoConnection, items: readonly AttentionItem[]): Promise<void> {
  const statements = items.map((item) => {
    const { _id, ...parts } = attentionDocument(item);
    return { q: { _id }, u: { $setOnInsert: parts }, upsert: true };
  });
  allTaken(await updateAll(connection, 'attention', statements));
}

/** Counts items in those that are known, done or not, until that is known to be done; others are put on the list. */
export async function countAll(connection: MongoConnection, items: readonly AttentionItem[]): Promise<void> {
  let statements = countedTogether(items).map((item): Document => {
    const { _id, data, ...parts } = attentionDocument(item);
    const { count: _count, ...others } = { count: 0, ...data };
    const named = Object.entries(others).map(([name, value]) => [`data.${name}`, value]);
    const first = { ...parts, ...Object.fromEntries(named) };
    return { q: { _id }, u: { $inc: { 'data.count': countOf(item) }, $setOnInsert: first }, upsert: true };
  });
  // Where another process was first, there is something to count in now.
  while (statements.length > 0)
    statements = allTaken(await updateAll(connection, 'attention', statements)).taken;
}

/** Ids of items of a kind that nobody is done with, some of them. */
export async function notedAs(
  reads: MongoReads,
  kind: AttentionItem['kind'],
  limit: number,
): Promise<string[]> {
  const filter = { _id: { $gt: `${kind}:`, $lt: `${kind};` }, done: false };
  const found = await reads.find<AttentionDocument>('attention', filter, { limit });
  return found.map(({ id }) => id);
}

/** Forgets the items that fit one of the queries, on the list or not. */
async function forget(connection: MongoConnection, queries: readonly Document[]): Promise<void> {
  if (queries.length === 0) return;
  const deletes = queries.map((q) => ({ q, limit: 0 }));
  await connection.surely(() => connection.send({ delete: 'attention', deletes, writeConcern: MAJORITY }));
}

/** Forgets items, on the list or not. */
export async function withdrawAll(connection: MongoConnection, keys: readonly AttentionKey[]): Promise<void> {
  if (keys.length > 0) await forget(connection, [{ _id: { $in: keys.map(idOf) } }]);
}

/** When an item was noted, by its kind and id. */
export type NotedAt = ReadonlyMap<string, Date | string>;

/** When the items that settlements withdraw were noted, as they stand now. @throws StoreUnavailable */
export async function notedAt(reads: MongoReads, settlements: readonly Settlement[]): Promise<NotedAt> {
  const ids = settlements.flatMap(({ withdrawn }) => (withdrawn === undefined ? [] : idOf(withdrawn)));
  if (ids.length === 0) return new Map();
  const options = { projection: { since: 1 } };
  const found = await reads.find<AttentionDocument>('attention', { _id: { $in: ids } }, options);
  return new Map(found.map(({ _id, since }) => [_id, since]));
}

/**
 * Forgets what settlements withdraw, once they are written: whoever is killed before leaves an item too many, and none
 * is missing. What was noted after they were looked at stays: their things came to the same end again.
 */
export async function withdrawSettled(
  connection: MongoConnection,
  settlements: readonly Settlement[],
  noted: NotedAt,
): Promise<void> {
  const queries = settlements.flatMap(({ withdrawn }) => {
    const _id = withdrawn === undefined ? '' : idOf(withdrawn);
    const since = noted.get(_id);
    return since === undefined ? [] : [{ _id, since }];
  });
  await forget(connection, queries);
}

/** What is on the list behind a place; its order is that of time and `_id`. */
function listed(filter: AttentionFilter, after: AttentionPlace | null): Document {
  const { kind, account, transaction, url, since } = filter;
  const place = after === null ? null : { since: toDate(after.since), _id: idOf(after) };
  return {
    done: false,
    ...(kind === undefined ? {} : { kind }),
    ...(account === undefined ? {} : { 'about.account': account }),
    ...(transaction === undefined ? {} : { 'about.transaction': transaction }),
    ...(url === undefined ? {} : { 'about.url': url }),
    ...(since === undefined ? {} : { since: { $gte: toDate(since) } }),
    ...(place === null
      ? {}
      : { $or: [{ since: { $gt: place.since } }, { since: place.since, _id: { $gt: place._id } }] }),
  };
}

export class MongoAttention implements Attention {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;
  readonly #incarnation: string;
  #counts: Partial<Record<AttentionKind, number>> = {};
  #countedAt = Number.NEGATIVE_INFINITY;
  #discounts = 0;

  constructor(connection: MongoConnection, reads: MongoReads, incarnation: string) {
    this.#connection = connection;
    this.#reads = reads;
    this.#incarnation = incarnation;
  }

  async page(filter: AttentionFilter, after: AttentionPlace | null, limit: number): Promise<AttentionItem[]> {
    this.#connection.check();
    const options = { sort: { since: 1, _id: 1 }, limit };
    const found = await this.#reads.find<AttentionDocument>('attention', listed(filter, after), options);
    return found.map(attentionFromDocument);
  }

  async count(filter: AttentionFilter, after: AttentionPlace | null): Promise<number> {
    this.#connection.check();
    const pipeline = [{ $match: listed(filter, after) }, { $count: 'count' }];
    const [found] = await this.#reads.aggregate<{ count: number }>('attention', pipeline);
    return found?.count ?? 0;
  }

  async counts(): Promise<Partial<Record<AttentionKind, number>>> {
    this.#connection.check();
    if (performance.now() - this.#countedAt < COUNTS_MS) return this.#counts;
    this.#countedAt = performance.now();
    const pipeline = [{ $match: { done: false } }, { $group: { _id: '$kind', count: { $sum: 1 } } }];
    const found = await this.#reads.aggregate<{ _id: AttentionKind; count: number }>('attention', pipeline);
    this.#counts = Object.fromEntries(found.map(({ _id, count }) => [_id, count]));
    return this.#counts;
  }

  async find(id: string): Promise<AttentionItem[]> {
    this.#connection.check();
    const found = await this.#reads.find<AttentionDocument>('attention', { id, done: false });
    return found.map(attentionFromDocument);
  }

  async note(items: AttentionItem[]): Promise<void> {
    this.#connection.check();
    if (items.length > 0) await noteAll(this.#connection, items);
  }

  async dismiss(keys: readonly AttentionKey[], by?: DoneBy): Promise<void> {
    this.#connection.check();
    const $set = toBson({ done: true, ...(by === undefined ? {} : { doneBy: { ...by } }) });
    const updates = keys.map((key) => ({ q: { _id: idOf(key), done: false }, u: { $set } }));
    if (updates.length > 0) allTaken(await updateAll(this.#connection, 'attention', updates));
  }

  async doneBy(id: string, kind?: AttentionKind): Promise<DoneBy | null> {
    this.#connection.check();
    const key = kind === undefined ? { id } : { _id: idOf({ kind, id }) };
    const found = await this.#reads.find<AttentionDocument>('attention', { ...key, done: true });
    const said = found.find(({ doneBy }) => doneBy !== undefined)?.doneBy;
    return said === undefined ? null : { ...said, at: toIso(said.at) };
  }

  async discount(key: AttentionKey, by: number): Promise<void> {
    this.#connection.check();
    const _id = idOf(key);
    // Sent again, it finds that it was done.
    this.#discounts += 1;
    const discountedBy = `${this.#incarnation}#${this.#discounts}`;
    const q = { _id, discountedBy: { $ne: discountedBy } };
    const less = { q, u: { $inc: { 'data.count': -by }, $set: { discountedBy } } };
    allTaken(await updateAll(this.#connection, 'attention', [less]));
    await forget(this.#connection, [{ _id, 'data.count': { $lte: 0 } }]);
  }

  async withdraw(keys: readonly AttentionKey[]): Promise<void> {
    this.#connection.check();
    await withdrawAll(this.#connection, keys);
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    this.#connection.check();
    if (ids.length === 0) return [];
    const found = await this.#reads.find<AttentionDocument>('attention', { id: { $in: ids } });
    const known = new Set(found.map(({ id }) => id));
    const open = new Set(found.filter(({ done }) => !done).map(({ id }) => id));
    return ids.map((id) => known.has(id) && !open.has(id));
  }
}
