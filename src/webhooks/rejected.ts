/**
 * What receivers refuse for good: one item for ops for each URL and day (UTC), which counts. A URL that refuses all
 * that it gets must not fill the list.
 */
import { itemFor } from '../engine/attention/item.ts';
import { type Target, targetId } from '../engine/store/backlog.ts';
import { type DeliveryRecord, failedAt } from '../engine/store/deliveries.ts';
import type { AttentionItem, AttentionKey } from '../engine/store.ts';

/** The item that a rejected delivery is counted in, by its last attempt. */
export function rejectedKey(target: Target, record: DeliveryRecord): AttentionKey {
  return { kind: 'rejected', id: `${targetId(target)}_${dayOf(failedAt(record))}` };
}

/** Of a time in ISO 8601. */
function dayOf(time: string): string {
  return time.slice(0, 10);
}

/** The item of a rejected delivery as the first one of its URL and day. */
export function rejectedItem(target: Target, event: string, record: DeliveryRecord): AttentionItem {
  const { id: delivery, transaction, attempts } = record;
  const { at = '', statusCode = null } = attempts.at(-1) ?? {};
  const { id } = rejectedKey(target, record);
  const about = { account: target.account, transaction, delivery, url: target.url };
  const data = { day: dayOf(at), count: 1, event, status: statusCode ?? 0 };
  return itemFor('DELIVERIES_REJECTED', { id, since: at, about, data });
}
