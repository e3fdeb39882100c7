/** A transaction's deliveries as merchants and ops see them (decisions, "GET /webhooks"). */
import { deliveriesOf, historyOf, type NamedDelivery } from './history.ts';
import type { TransactionRecord } from './journal.ts';
import type { DeliveryRecord, Store } from './store.ts';

function entryOf(named: NamedDelivery, record: DeliveryRecord | undefined): object {
  return {
    id: named.id,
    eventId: named.event.id,
    event: named.event.name,
    url: named.url,
    status: record?.status ?? 'pending',
    attempts: record?.attempts ?? [],
    nextAttemptAt: record?.nextAttemptAt ?? null,
    createdAt: named.at,
    deliveredAt: record?.deliveredAt ?? null,
    payload: named.payload,
  };
}

/** All deliveries, newest first. */
export async function deliveryList(store: Store, record: TransactionRecord): Promise<object[]> {
  const [history, progress] = await Promise.all([historyOf(store, record), store.deliveries(record.id)]);
  const byId = new Map(progress.map((delivery) => [delivery.id, delivery]));
  return deliveriesOf(history)
    .map((named) => entryOf(named, byId.get(named.id)))
    .reverse();
}
