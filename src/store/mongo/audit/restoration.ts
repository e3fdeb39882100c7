/**
 * Projections that were made again from a journal, put in the place of those that the database has.
 *
 * 1. A document is replaced in the parts that follow from the journal, and only while it is as it was read: what a
 *    server writes meanwhile stays.
 * 2. What is in progress stays: owners and times of what is due. A timer that the document lacked is due again; a
 *    document that was gone comes back with its timers, and a cashout that is open with its order to the bank, which
 *    is asked before anything is sent a second time.
 */
import { BSON, type Document } from 'mongodb';
import { canonicalJson } from '../../../domain/canonical-json.ts';
import type { TransactionRecord } from '../../../engine/journal.ts';
import type { Lookup } from '../../../engine/store/lookups.ts';
import type { Rebuilt, Restoration } from '../../../engine/store/restoration.ts';
import { fromBson, toBson, toDate } from '../bson.ts';
import { orderIn } from '../changes.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import {
  type AdjustmentDocument,
  changingParts,
  type RefusalDocument,
  type TimerElement,
  type TransactionDocument,
  waitMark,
} from '../documents.ts';
import { MOST_KEYS } from '../gathering.ts';
import { refusalDocument } from '../projection.ts';
import type { MongoReads } from '../reads.ts';
import { allTaken, insertAll, updateAll } from '../writes/writes.ts';

/** Parts of a document that follow from the journal, but its timers. */
const REBUILT = [
  ...['account', 'type', 'order', 'createdAt', 'externalRef', 'lookups', 'open', 'inAnalysis', 'refunding'],
  ...['status', 'machine', 'version', 'snapshot', 'final', 'updatedAt', 'seq', 'seqs', 'refusals'],
  ...['messages', 'events', 'lastDeliveries', 'submitted', 'exact'],
] as const;

/** Some of these parts, as they are stored. */
type RebuiltParts = { [Name in (typeof REBUILT)[number]]?: unknown };

function isRefusal<Row extends Lookup>(row: Row): row is Row & Pick<RefusalDocument, 'name'> {
  return row.name === 'refusal' || row.name === 'returned';
}

function partsOf({ record, position, lookups }: Rebuilt): RebuiltParts {
  const { account, type, seqs, snapshot } = record;
  const { createdAt } = snapshot.context;
  const externalRef = lookups.find(({ name }) => name === 'externalRef')?.key;
  const kept = lookups.filter((each) => each.name !== 'externalRef' && !isRefusal(each));
  const elements = kept.map((each) => ({
    name: each.name,
    key: each.key,
    order: orderIn(each.seq, each.position),
  }));
  // A refused message is in no `seqs`, but its batch changed the document.
  const last = Math.max(seqs.at(-1) ?? 0, lookups.at(-1)?.seq ?? 0);
  return {
    account,
    type,
    order: toBson(orderIn(seqs[0] ?? 0, position)),
    createdAt: toDate(createdAt),
    ...(externalRef === undefined ? {} : { externalRef }),
    ...(elements.length === 0 ? {} : { lookups: toBson(elements) }),
    ...changingParts(record, last),
    ...waitMark(record),
  };
}

/** Its refused messages. What was given twice lies under its key first, as the live path leaves it, then beside it. */
function refusalsOf({ record: { id, account }, lookups }: Rebuilt): RefusalDocument[] {
  const known = new Set<string>();
  return lookups.filter(isRefusal).map(({ name, key, seq }) => {
    const document = refusalDocument(account, { name, key, value: id }, seq);
    const { _id } = document;
    if (known.has(_id)) return { ...document, _id: `${_id}:${seq}` };
    known.add(_id);
    return document;
  });
}

/** The parts as they come back from the database, in one text. */
function textOf(parts: Document): string {
  return canonicalJson(fromBson(BSON.deserialize(BSON.serialize(parts))));
}

function storedParts(document: TransactionDocument): RebuiltParts {
  return Object.fromEntries(REBUILT.flatMap((name) => (name in document ? [[name, document[name]]] : [])));
}

/** The record's timers, with what is in progress of those that the document has; null where it has just these. */
function timersOf(record: TransactionRecord, document: TransactionDocument | null): TimerElement[] | null {
  const stored = document?.timers ?? [];
  const wanted = record.timers.map(({ name, at }): TimerElement => {
    const time = toDate(at);
    const known = stored.find((each) => each.name === name && +each.at === +time);
    return known ?? { name, at: time, id: `restored.${record.id}.${name}`, due: new Date(at) };
  });
  const isSame = stored.length === wanted.length && stored.every((each, index) => each === wanted[index]);
  return document !== null && isSame ? null : wanted;
}

function insertOf(rebuilt: Rebuilt): TransactionDocument {
  const { record } = rebuilt;
  const isOpenCashout = record.type === 'cashout' && !record.final;
  const order = {
    id: `restored.${record.id}`,
    order: { kind: 'payout' as const },
    due: new Date(record.updatedAt),
  };
  const parts = { ...partsOf(rebuilt), timers: timersOf(record, null) ?? [] };
  const document = { _id: record.id, ...parts, ...(isOpenCashout ? { orders: [order] } : {}) };
  // All parts of a document are there: `partsOf` has those of every record.
  return document as TransactionDocument;
}

/** The statement that mends a document; null where it is as it should be. */
function updateOf(rebuilt: Rebuilt, document: TransactionDocument): Document | null {
  const parts = partsOf(rebuilt);
  const timers = timersOf(rebuilt.record, document);
  if (timers === null && textOf(parts) === textOf(storedParts(document))) return null;
  const gone = REBUILT.filter((name) => name in document && !(name in parts));
  return {
    // Whoever changes a record sets `seq`; whoever claims or settles a timer changes its element.
    q: { _id: document._id, seq: document.seq, ...(timers === null ? {} : { timers: document.timers }) },
    u: {
      $set: { ...parts, ...(timers === null ? {} : { timers }) },
      ...(gone.length === 0 ? {} : { $unset: Object.fromEntries(gone.map((name) => [name, ''])) }),
    },
  };
}

export class Restorations {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;

  constructor(connection: MongoConnection, reads: MongoReads) {
    this.#connection = connection;
    this.#reads = reads;
  }

  async restore(restoration: Restoration): Promise<number> {
    const { account, lookups, gone } = restoration;
    const changed = await this.#transactions(restoration);
    const adjustments = lookups.filter(({ name }) => name === 'adjustment');
    const goneIn = (isWanted: (row: Lookup) => boolean, idOf: (row: Lookup) => string): string[] =>
      gone.lookups.filter(isWanted).map(idOf);
    const goneAdjustments = goneIn(
      ({ name }) => name === 'adjustment',
      ({ key }) => `${account}:${key}`,
    );
    const goneRefusals = goneIn(isRefusal, ({ name, key }) => `${account}:${name}:${key}`);
    return (
      changed +
      (await this.#put(
        'adjustments',
        adjustments.map(({ key, value }) => ({ _id: `${account}:${key}`, account, key, digest: value })),
      )) +
      (await this.#remove('transactions', gone.transactions)) +
      (await this.#remove('adjustments', goneAdjustments)) +
      (await this.#remove('refusals', goneRefusals))
    );
  }

  async #transactions({ account, upTo, transactions }: Restoration): Promise<number> {
    if (transactions.length === 0) return 0;
    const ids = transactions.map(({ record }) => record.id);
    const found = await this.#reads.byId<TransactionDocument>('transactions', ids);
    // Read after the documents: a document that a later batch had changed by then is named here.
    const later = await this.#changedLater(account, upTo);
    const inserts: TransactionDocument[] = [];
    const updates: Document[] = [];
    const refusals: RefusalDocument[] = [];
    let left = 0;
    for (const [index, rebuilt] of transactions.entries()) {
      if (later.has(rebuilt.record.id)) {
        left += 1;
        continue;
      }
      const document = found[index] ?? null;
      const update = document === null ? null : updateOf(rebuilt, document);
      if (document === null) inserts.push(insertOf(rebuilt));
      else if (update !== null) updates.push(update);
      refusals.push(...refusalsOf(rebuilt));
    }
    // Before the documents: those of former builds may be the only ones that had them.
    const put = await this.#put('refusals', refusals);
    allTaken(await insertAll(this.#connection, 'transactions', inserts));
    allTaken(await updateAll(this.#connection, 'transactions', updates));
    // What somebody else was at may be as wrong as before.
    return put + inserts.length + updates.length + left;
  }

  async #changedLater(account: string, upTo: number): Promise<Set<string | null>> {
    const filter = { account, seq: { $gt: upTo } };
    type Found = { entries: { transaction?: string }[] };
    const options = { projection: { 'entries.transaction': 1 } };
    const batches = await this.#reads.find<Found>('journal', filter, options);
    return new Set(batches.flatMap(({ entries }) => entries.map(({ transaction = null }) => transaction)));
  }

  /** Puts documents where they are missing, or others; how many. */
  async #put(collection: string, wanted: readonly (AdjustmentDocument | RefusalDocument)[]): Promise<number> {
    let count = 0;
    for (let from = 0; from < wanted.length; from += MOST_KEYS) {
      const some = wanted.slice(from, from + MOST_KEYS);
      const ids = some.map(({ _id }) => _id);
      const stored = await this.#reads.byId<Document & { _id: string }>(collection, ids);
      const wrong = some.filter((document, index) => textOf(stored[index] ?? {}) !== textOf(document));
      const updates = wrong.map(({ _id, ...parts }) => ({ q: { _id }, u: { $set: parts }, upsert: true }));
      allTaken(await updateAll(this.#connection, collection, updates));
      count += wrong.length;
    }
    return count;
  }

  async #remove(collection: string, ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    const deletes = ids.map((_id) => ({ q: { _id }, limit: 1 }));
    const command = { delete: collection, deletes, ordered: false, writeConcern: MAJORITY };
    await this.#connection.surely(() => this.#connection.send(command));
    return ids.length;
  }
}
