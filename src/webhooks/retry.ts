/** Dead or rejected deliveries get a new round of attempts, whichever door asks for it. */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { deliveriesOf, takenBy } from '../engine/history.ts';
import {
  type DeliveryRecord,
  type DeliveryStatus,
  hasFailed,
  type Settlement,
  type Store,
} from '../engine/store.ts';
import { revived } from './delivery.ts';

/** Which deliveries are meant; an option that is left out fits all. */
export interface RetryFilter {
  account?: string;
  url?: string;
  /** The last attempt was at this time (ISO) or later. */
  since?: string;
}

/** The outcome: the deliveries that start anew, perhaps none, or why nothing was changed at all. */
export type Retried =
  | { kind: 'retried'; deliveries: string[] }
  | { kind: 'noTransaction'; id: string }
  | { kind: 'noDelivery'; id: string }
  | { kind: 'noEvent'; id: string }
  /** The one delivery that was named is neither dead nor rejected. */
  | { kind: 'notDead'; id: string; status: DeliveryStatus };

type Sources = Pick<Store, 'journal' | 'due' | 'attention'>;

/** A delivery that has failed, and where it was to go. */
interface Failed {
  record: DeliveryRecord;
  url: string;
}

/** Failed deliveries that are read, and started anew, together. */
const PAGE = 200;

function fits({ record, url }: Failed, filter: RetryFilter): boolean {
  const last = record.attempts.at(-1)?.at ?? '';
  return (
    (filter.account === undefined || record.account === filter.account) &&
    (filter.url === undefined || url === filter.url) &&
    (filter.since === undefined || last >= filter.since)
  );
}

/** The deliveries start a new round, due now: the server's next sweep takes them up. */
async function revive({ due, attention }: Sources, records: DeliveryRecord[], now: number): Promise<void> {
  const settlements = records.flatMap((record): Settlement[] => {
    const next = revived(record, now);
    if (next === null) return [];
    const { id, account, transaction } = record;
    const item = { kind: 'delivery' as const, at: now, account, transaction, delivery: id, tries: 0 };
    return [{ claim: null, next: item, record: next }];
  });
  await due.settle(settlements);
  await attention.withdraw(records.map(({ id }) => ({ kind: 'dead', id })));
}

/** The failed deliveries that an id names, or why there are none. */
async function failedOf(
  { journal }: Sources,
  id: string,
): Promise<{ kind: 'failed'; failed: Failed[] } | Exclude<Retried, { kind: 'retried' }>> {
  const parsed = parseEventOrDeliveryId(id);
  const record = await journal.transaction(parsed === null ? id : parsed.transaction);
  if (record === null) return { kind: 'noTransaction', id };
  const history = await takenBy(journal, record);
  const named = deliveriesOf(history).filter(
    (delivery) => parsed === null || delivery.id === id || delivery.event.id === id,
  );
  const isDelivery = id.startsWith('dlv_');
  if (isDelivery && named.length === 0) return { kind: 'noDelivery', id };
  const hasEvent = history.some(({ entry }) => entry.events.some((event) => event.id === id));
  if (parsed !== null && !isDelivery && !hasEvent) return { kind: 'noEvent', id };
  const urls = new Map(named.map((delivery) => [delivery.id, delivery.url]));
  const progress = (await journal.deliveries(record.id)).filter((delivery) => urls.has(delivery.id));
  const failed = progress
    .filter(hasFailed)
    .map((delivery) => ({ record: delivery, url: urls.get(delivery.id) ?? '' }));
  if (isDelivery && failed.length === 0)
    return { kind: 'notDead', id, status: progress[0]?.status ?? 'pending' };
  return { kind: 'failed', failed };
}

/**
 * Tries deliveries (`dlv_...`) again, or all dead and rejected ones of an event (`evt_...`) or a transaction's id, as
 * far as they fit. Where one of the ids is nothing, nothing is changed.
 */
export async function retryDeliveries(
  store: Sources,
  ids: readonly string[],
  filter: RetryFilter,
  now: number,
): Promise<Retried> {
  const all = new Map<string, Failed>();
  for (const id of ids) {
    const found = await failedOf(store, id);
    if (found.kind !== 'failed') return found;
    for (const failed of found.failed) if (fits(failed, filter)) all.set(failed.record.id, failed);
  }
  const records = [...all.values()].map(({ record }) => record);
  await revive(store, records, now);
  return { kind: 'retried', deliveries: records.map(({ id }) => id) };
}

/** The URLs of a transaction's deliveries, by their ids. */
async function urlsOf({ journal }: Sources, transaction: string): Promise<Map<string, string>> {
  const record = await journal.transaction(transaction);
  const named = record === null ? [] : deliveriesOf(await takenBy(journal, record));
  return new Map(named.map(({ id, url }) => [id, url]));
}

/** Tries all dead and rejected deliveries that fit again, a page at a time; gives their ids. */
export async function retryAll(store: Sources, filter: RetryFilter, now: number): Promise<string[]> {
  const retried: string[] = [];
  let after: DeliveryRecord | null = null;
  for (;;) {
    const page: DeliveryRecord[] = await store.journal.failedDeliveries(after, PAGE);
    const { url: _url, ...others } = filter;
    const own = page.filter((record) => fits({ record, url: '' }, others));
    const urls = new Map<string, string>();
    for (const transaction of filter.url === undefined ? [] : new Set(own.map((each) => each.transaction)))
      for (const [id, url] of await urlsOf(store, transaction)) urls.set(id, url);
    const fitting = own.filter((record) => fits({ record, url: urls.get(record.id) ?? '' }, filter));
    await revive(store, fitting, now);
    retried.push(...fitting.map(({ id }) => id));
    if (page.length < PAGE) return retried;
    after = page.at(-1) ?? null;
  }
}
