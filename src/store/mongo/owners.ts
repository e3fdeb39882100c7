/** Whom what is due belongs to, as it is stored. */
import type { Document } from 'mongodb';
import type { Claim } from '../../engine/store.ts';
import type { DeliveryDocument, Held, TransactionDocument } from './documents.ts';
import { PARKED } from './due-documents.ts';
import { placeOf } from './place.ts';
import type { MongoReads } from './reads.ts';

/** Where what is due lies: collection, and array in its documents. */
const PLACES = [
  ['transactions', 'timers.'],
  ['transactions', 'orders.'],
  ['deliveries', ''],
] as const;

/** The first owner behind another in a document. */
function nextOwner(document: Document, last: string): string | null {
  const { timers = [], orders = [], owner } = document as { timers?: Held[]; orders?: Held[] } & Held;
  const all = [{ owner }, ...timers, ...orders].flatMap((held) => held.owner ?? []);
  return all.filter((each) => each > last).sort()[0] ?? null;
}

/** All processes that hold anything: the indexes are walked from owner to owner. */
export async function ownersOf(reads: MongoReads): Promise<string[]> {
  const owners = new Set<string>();
  for (const [collection, array] of PLACES) {
    for (let last = ''; ; ) {
      const filter = { [`${array}due`]: { $exists: true }, [`${array}owner`]: { $gt: last } };
      const projection = { [`${array}owner`]: 1 };
      const [found] = await reads.find<Document>(collection, filter, { limit: 1, projection });
      const next = found === undefined ? null : nextOwner(found, last);
      if (next === null) break;
      owners.add(next);
      last = next;
    }
  }
  owners.delete(PARKED);
  return [...owners];
}

/** Whether anything still belongs to a process. */
export async function hasClaims(reads: MongoReads, owner: string): Promise<boolean> {
  for (const [collection, array] of PLACES) {
    const filter = { [`${array}due`]: { $exists: true }, [`${array}owner`]: owner };
    const found = await reads.find(collection, filter, { limit: 1, projection: { _id: 1 } });
    if (found.length > 0) return true;
  }
  return false;
}

/** Whether each claim still stands where it was written. */
export async function stillStanding(reads: MongoReads, claims: readonly Claim[]): Promise<boolean[]> {
  const places = claims.map(placeOf);
  const [inTransactions, inDeliveries] = [false, true].map((isDelivery) => [
    ...new Set(
      places.filter(({ kind }) => (kind === 'delivery') === isDelivery).map((place) => place.document),
    ),
  ]);
  const standing = new Set<string>();
  const parts = ['timers', 'orders'].flatMap((array) => [`${array}.id`, `${array}.token`]);
  const projection = Object.fromEntries(parts.map((part) => [part, 1]));
  const [transactions, deliveries] = await Promise.all([
    inTransactions?.length
      ? reads.find<TransactionDocument>('transactions', { _id: { $in: inTransactions } }, { projection })
      : [],
    inDeliveries?.length
      ? reads.find<DeliveryDocument>(
          'deliveries',
          { _id: { $in: inDeliveries } },
          { projection: { token: 1 } },
        )
      : [],
  ]);
  for (const { _id, timers = [], orders = [] } of transactions)
    for (const { id, token } of [...timers, ...orders]) standing.add(`${_id} ${id} ${token}`);
  for (const { _id, token } of deliveries) standing.add(`${_id}  ${token}`);
  return places.map(({ document, element, token }) => standing.has(`${document} ${element} ${token}`));
}
