/** Lists of dead and rejected deliveries, by their index: in the store's order, however long ago they failed. */
import { takenBy } from '../../../engine/history.ts';
import type { DeliveryRecord, FailedFilter } from '../../../engine/store/deliveries.ts';
import { type StoreReads, StoreUnavailable } from '../../../engine/store.ts';
import { failedPage } from '../../../ops/failed.ts';
import type { DeliveryRow } from '../../shapes/deliveries.ts';
import { placeIn } from '../backwards.ts';
import { LIST_MS } from '../query.ts';
import { deliveriesIn } from './entries.ts';

/** A row before it is known how its account is called. */
export type Row = Omit<DeliveryRow, 'accountName'>;

export interface FailedList {
  rows: Row[];
  /** How many more there are of which the journal can't be read. */
  unreadable: number;
  /** Null after the last page. */
  next: string | null;
}

/** A transaction's deliveries among these; null where its journal can't be read. */
async function rowsOf(
  { journal }: StoreReads,
  transaction: string,
  wanted: ReadonlyMap<string, DeliveryRecord>,
): Promise<Row[] | null> {
  try {
    const record = await journal.transaction(transaction);
    if (record === null) return null;
    const { account, type } = record;
    return (await takenBy(journal, record)).flatMap(({ entry }) =>
      deliveriesIn(entry, wanted)
        .filter(({ id }) => wanted.has(id))
        .map((each) => ({ ...each, account, transaction, type, createdAt: entry.at })),
    );
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    // One that can't be read keeps none of the others from being shown.
    return null;
  }
}

/** A page of those that fit, behind the one before. @throws ConsoleError */
export async function listFailed(
  reads: StoreReads,
  filter: FailedFilter,
  after: string | null,
  limit: number,
): Promise<FailedList> {
  const endsAt = performance.now() + LIST_MS;
  const from = after === null ? null : placeIn('after', after);
  const isOver = (): boolean => performance.now() >= endsAt;
  const { failed: found, next } = await failedPage(reads, filter, from, limit, isOver);
  const wanted = new Map(found.map(({ record }) => [record.id, record]));
  const transactions = [...new Set(found.map(({ record }) => record.transaction))];
  const rows = await Promise.all(transactions.map((id) => rowsOf(reads, id, wanted)));
  const byId = new Map(rows.flatMap((own) => own ?? []).map((row) => [row.id, row]));
  const shown = found.flatMap(({ record: { id } }) => byId.get(id) ?? []);
  return { rows: shown, unreadable: found.length - shown.length, next };
}
