/** An account's lookups page by page, for verify and rebuild: where the documents keep them, one kind after the other. */
import { type Document, MaxKey, MinKey } from 'mongodb';
import type { LookupPage, LookupRow } from '../../../engine/store/lookups.ts';
import type { AdjustmentDocument, RefusalDocument, TransactionDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';

/** Where a page ended: at a transaction, by its place in the index, or at another document, by its `_id`. */
type Place =
  | { transaction: [type: string, externalRef: string | null, order: number] }
  | { adjustment: string }
  | { refusal: string };

type Found = Pick<TransactionDocument, '_id' | 'type' | 'externalRef' | 'order' | 'lookups'>;

/** The index that the pages go by: of an account's charges with one external reference the newest is the last. */
const BY_REFERENCE = 'account_externalRef';
const PROJECTION = { type: 1, externalRef: 1, order: 1, lookups: 1 };

/** Those that lie in a transaction's document. */
export function rowsOf({ _id, externalRef, lookups = [] }: Found): LookupRow[] {
  const rows: LookupRow[] = lookups.map(({ name, key }) => ({ name, key, value: _id }));
  if (externalRef !== undefined) rows.push({ name: 'externalRef', key: externalRef, value: _id });
  return rows;
}

export function rowOfAdjustment({ key, digest }: AdjustmentDocument): LookupRow {
  return { name: 'adjustment', key, value: digest };
}

export function rowOfRefusal({ name, key, transaction }: RefusalDocument): LookupRow {
  return { name, key, value: transaction };
}

function placeOf({ type, externalRef, order }: Found): Place {
  return { transaction: [type, externalRef ?? null, order] };
}

export class LookupPages {
  readonly #reads: MongoReads;

  constructor(reads: MongoReads) {
    this.#reads = reads;
  }

  async page(account: string, after: string | null, limit: number): Promise<LookupPage> {
    const place: Place | null = after === null ? null : JSON.parse(after);
    if (place !== null && 'adjustment' in place) return this.#adjustments(account, place.adjustment, limit);
    if (place !== null && 'refusal' in place) return this.#refusals(account, place.refusal, limit);
    const found = await this.#transactions(account, place, limit);
    const last = found.at(-1);
    const next: Place = last === undefined || found.length < limit ? { adjustment: '' } : placeOf(last);
    return { rows: found.flatMap(rowsOf), next: JSON.stringify(next) };
  }

  /** The transactions behind a place; the index's own bounds begin at it. */
  async #transactions(account: string, after: Place | null, limit: number): Promise<Found[]> {
    const [type, externalRef, order] =
      after !== null && 'transaction' in after
        ? after.transaction
        : [new MinKey(), new MinKey(), new MinKey()];
    const end = new MaxKey();
    const options: Document = {
      hint: BY_REFERENCE,
      min: { account, type, externalRef, order },
      max: { account, type: end, externalRef: end, order: end },
      sort: { account: 1, type: 1, externalRef: 1, order: 1 },
      projection: PROJECTION,
      limit: limit + 1,
    };
    const found = await this.#reads.find<Found>('transactions', { account }, options);
    const known = after === null ? null : JSON.stringify(after);
    return found.filter((document) => JSON.stringify(placeOf(document)) !== known).slice(0, limit);
  }

  async #adjustments(account: string, after: string, limit: number): Promise<LookupPage> {
    const found = await this.#documents<AdjustmentDocument>('adjustments', account, after, limit);
    const rows = found.map(rowOfAdjustment);
    const last = found.at(-1);
    const next: Place =
      last === undefined || found.length < limit ? { refusal: '' } : { adjustment: last._id };
    return { rows, next: JSON.stringify(next) };
  }

  async #refusals(account: string, after: string, limit: number): Promise<LookupPage> {
    const found = await this.#documents<RefusalDocument>('refusals', account, after, limit);
    const rows = found.map(rowOfRefusal);
    const last = found.at(-1);
    const next: Place | null = last === undefined || found.length < limit ? null : { refusal: last._id };
    return { rows, next: next === null ? null : JSON.stringify(next) };
  }

  /** The account's documents of a collection whose ids begin with the account's. */
  #documents<Found extends Document>(
    collection: string,
    account: string,
    after: string,
    limit: number,
  ): Promise<Found[]> {
    const range = { $gt: after === '' ? `${account}:` : after, $lt: `${account};` };
    return this.#reads.find<Found>(collection, { _id: range }, { sort: { _id: 1 }, limit });
  }
}
