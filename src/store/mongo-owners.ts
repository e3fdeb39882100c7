/** Whom what is due belongs to. */
import type { Document } from 'mongodb';
import type { Held } from './mongo-documents.ts';
import type { MongoReads } from './mongo-reads.ts';
import { PARKED } from './mongo-settlements.ts';

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
