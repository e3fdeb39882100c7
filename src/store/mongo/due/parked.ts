/** What was parked, since nobody could decide on it, is made due again: in parts, however much it is. */
import type { MongoConnection } from '../connection.ts';
import type { TransactionDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import { allTaken, updateAll } from '../writes/writes.ts';
import { ARRAYS, type ElementKind } from './documents.ts';
import { unparkedDeliveries, unparkedElements } from './statements.ts';

interface Parts {
  connection: MongoConnection;
  reads: MongoReads;
}

type Parked = Pick<TransactionDocument, '_id' | 'timers' | 'orders'>;

/** Documents of one part: a statement with all ids of some hundred thousand is more than the driver can write. */
const PART = 1_000;

/** Makes the next part of them due; how many documents and things there were. */
async function unparkElements({ connection, reads }: Parts, kind: ElementKind, due: Date) {
  const array = ARRAYS[kind];
  const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: { parked: true } } };
  const options = { projection: { [`${array}.parked`]: 1 }, limit: PART };
  const found = await reads.find<Parked>('transactions', filter, options);
  const ids = found.map(({ _id }) => _id);
  if (ids.length > 0)
    allTaken(await updateAll(connection, 'transactions', [unparkedElements(kind, ids, due)]));
  const isParked = ({ parked }: { parked?: true }): boolean => parked === true;
  const things = found.reduce((sum, document) => sum + (document[array] ?? []).filter(isParked).length, 0);
  return { documents: found.length, things };
}

async function unparkDeliveries({ connection, reads }: Parts, due: Date) {
  const filter = { parked: true, due: { $exists: true } };
  const options = { projection: { _id: 1 }, limit: PART };
  const found = await reads.find<{ _id: string }>('deliveries', filter, options);
  const ids = found.map(({ _id }) => _id);
  if (ids.length > 0) allTaken(await updateAll(connection, 'deliveries', [unparkedDeliveries(ids, due)]));
  return { documents: found.length, things: found.length };
}

/** Makes all parked things due; how many there were. What is parked meanwhile may be left to the next time. */
export async function unparkAll(parts: Parts, now: number): Promise<number> {
  parts.connection.check();
  const due = new Date(now);
  const kinds = [
    () => unparkElements(parts, 'timer', due),
    () => unparkElements(parts, 'bank', due),
    () => unparkDeliveries(parts, due),
  ];
  let count = 0;
  for (const next of kinds) {
    for (;;) {
      const { documents, things } = await next();
      count += things;
      if (documents < PART) break;
    }
  }
  return count;
}
