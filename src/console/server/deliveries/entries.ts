/** The deliveries that a journal's entries name. */
import type { Entry } from '../../../engine/journal.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { Delivery } from '../../shapes.ts';

/** The deliveries that an entry names, as far as each has come; one without a record was not attempted yet. */
export function deliveriesIn({ events }: Entry, progress: ReadonlyMap<string, DeliveryRecord>): Delivery[] {
  return events.flatMap((event) =>
    event.deliveries.map(({ id, url }) => {
      const record = progress.get(id);
      return {
        ...{ id, url, event: event.name, eventId: event.id, status: record?.status ?? 'pending' },
        nextAttemptAt: record?.nextAttemptAt ?? null,
        attempts: record?.attempts ?? [],
      };
    }),
  );
}
