/** What a journal that doesn't add up is told to ops as. */
import type { Fault } from '../../../audit/following/judging.ts';
import { itemFor } from '../../../engine/attention/item.ts';
import type { AttentionItem } from '../../../engine/store.ts';

/** The item of a fault; the same fault again is the same item. `now` is in ms. */
export function itemOfFault(found: Fault, now: number): AttentionItem {
  const since = new Date(now).toISOString();
  if (found.kind === 'row') {
    const { row, reason } = found;
    return itemFor('LOG_UNREADABLE', { id: `row_${row}`, since, data: { row, reason } });
  }
  const { account, seq, fault } = found;
  return itemFor('BATCH_BROKEN', {
    ...{ id: `batch_${account}_${seq}`, since, about: { account }, data: { seq, fault } },
  });
}
