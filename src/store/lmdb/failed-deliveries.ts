/** Looks through all deliveries for those that have failed. */
import { type DeliveryRecord, hasFailed } from '../../engine/store.ts';
import { turn } from '../../waiting.ts';
import { ALL } from './projections/keys.ts';
import type { Projections } from './projections/projections.ts';

const [, END] = ALL;
/** Transactions whose deliveries are read in one turn of the event loop: most have none that failed. */
const READ_TOGETHER = 500;

/** At most so many, those behind one. `open`: the projections, while they are open. */
export async function failedBehind(
  open: () => Pick<Projections, 'deliveries'>,
  after: DeliveryRecord | null,
  limit: number,
): Promise<DeliveryRecord[]> {
  const failed: DeliveryRecord[] = [];
  let from = after?.transaction ?? '';
  let isFirst = true;
  for (;;) {
    let read = 0;
    for (const [transaction, records] of open().deliveries.range(from, END)) {
      // Each slice begins with the last one of the slice before.
      if (!isFirst && transaction === from) continue;
      if (read === READ_TOGETHER) break;
      read += 1;
      for (const record of records) {
        const isBefore = after !== null && transaction === after.transaction && record.id <= after.id;
        if (!isBefore && hasFailed(record)) failed.push(record);
        if (failed.length === limit) return failed;
      }
      from = transaction;
      isFirst = false;
    }
    if (read < READ_TOGETHER) return failed;
    await turn();
  }
}
