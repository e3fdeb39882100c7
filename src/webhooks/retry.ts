/** Dead or rejected deliveries get a new round of attempts, whichever door asks for it. */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { deliveriesOf, historyOf } from '../engine/history.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { DeliveryRecord, DeliveryStatus, Settlement, Store } from '../engine/store.ts';
import { revived } from './delivery.ts';

/** The outcome: the deliveries that start anew, perhaps none, or why nothing was looked for. */
export type Retried =
  | { kind: 'retried'; deliveries: string[] }
  | { kind: 'noTransaction' }
  | { kind: 'noDelivery' }
  | { kind: 'noEvent' }
  /** The one delivery that was named is neither dead nor rejected. */
  | { kind: 'notDead'; status: DeliveryStatus };

/** The delivery starts a new round, due now: the server's next sweep takes it up. */
function revival(record: DeliveryRecord, now: number): Settlement[] {
  const next = revived(record, now);
  if (next === null) return [];
  const { id, account, transaction } = record;
  return [
    {
      claim: null,
      next: { kind: 'delivery', at: now, account, transaction, delivery: id, tries: 0 },
      record: next,
    },
  ];
}

async function retryOf(
  { journal, due }: Pick<Store, 'journal' | 'due'>,
  record: TransactionRecord,
  ids: ReadonlySet<string>,
  now: number,
): Promise<{ progress: DeliveryRecord[]; deliveries: string[] }> {
  const progress = (await journal.deliveries(record.id)).filter(({ id }) => ids.has(id));
  const settlements = progress.flatMap((delivery) => revival(delivery, now));
  await due.settle(settlements);
  return { progress, deliveries: settlements.flatMap((settlement) => settlement.record?.id ?? []) };
}

/** Tries a delivery (`dlv_...`) again, or all dead and rejected ones of an event (`evt_...`) or a transaction's id. */
export async function retryDeliveries(
  store: Pick<Store, 'journal' | 'due'>,
  id: string,
  now: number,
): Promise<Retried> {
  const parsed = parseEventOrDeliveryId(id);
  const record = await store.journal.transaction(parsed === null ? id : parsed.transaction);
  if (record === null) return { kind: 'noTransaction' };
  const history = await historyOf(store.journal, record);
  const named = deliveriesOf(history).filter(
    (delivery) => parsed === null || delivery.id === id || delivery.event.id === id,
  );
  const isDelivery = id.startsWith('dlv_');
  if (isDelivery && named.length === 0) return { kind: 'noDelivery' };
  const hasEvent = history.some(({ entry }) => entry.events.some((event) => event.id === id));
  if (parsed !== null && !isDelivery && !hasEvent) return { kind: 'noEvent' };
  const ids = new Set(named.map((delivery) => delivery.id));
  const { progress, deliveries } = await retryOf(store, record, ids, now);
  if (isDelivery && deliveries.length === 0)
    return { kind: 'notDead', status: progress[0]?.status ?? 'pending' };
  return { kind: 'retried', deliveries };
}
