/** Dead and rejected deliveries, page by page, each with where it was to go. */
import { deliveriesOf } from '../engine/history.ts';
import {
  type DeliveryRecord,
  type FailedDelivery,
  type FailedFilter,
  type FailedPage,
  fitsFailed,
} from '../engine/store/deliveries.ts';
import type { StoreReads } from '../engine/store.ts';
import { turn } from '../waiting.ts';

export type FailedSources = Pick<StoreReads, 'journal'>;

/** A delivery that has failed, and where it was to go; empty where not even the journal tells. */
export interface Failed {
  record: DeliveryRecord;
  url: string;
}

/** Failed deliveries that are read, and started anew, together. */
const PAGE = 200;

/** The URLs of a transaction's deliveries, by their ids. */
async function urlsOf({ journal }: FailedSources, transaction: string): Promise<Map<string, string>> {
  const record = await journal.transaction(transaction);
  const named = record === null ? [] : await deliveriesOf(journal, record);
  return new Map(named.map(({ id, url }) => [id, url]));
}

/** With their URLs, as far as they fit then: the journal is asked for those that the store doesn't know. */
async function withUrls(
  store: FailedSources,
  found: readonly FailedDelivery[],
  filter: FailedFilter,
): Promise<Failed[]> {
  const urls = new Map<string, string>();
  const unknown = found.filter(({ url }) => url === null).map(({ record }) => record.transaction);
  for (const transaction of new Set(unknown)) {
    for (const [id, url] of await urlsOf(store, transaction)) urls.set(id, url);
    // The embedded store answers at once: whoever serves has its turn in between.
    await turn();
  }
  return found
    .map(({ record, url }) => ({ record, url: url ?? urls.get(record.id) ?? '' }))
    .filter((each) => fitsFailed(each, filter));
}

/** Those that fit, and the place where what comes next begins; null where there is no more. */
interface Page {
  failed: Failed[];
  next: string | null;
}

/** What one look of the store's finds of those that fit, behind a place (null: the first), in the store's order. */
async function look(
  store: FailedSources,
  filter: FailedFilter,
  after: string | null,
  limit: number,
): Promise<Page> {
  const { found, next }: FailedPage = await store.journal.failedDeliveries(filter, after, limit);
  return { failed: await withUrls(store, found, filter), next };
}

/** A page of those that fit: it is full, it is the last one, or it took too long (`isOver`). */
export async function failedPage(
  store: FailedSources,
  filter: FailedFilter,
  after: string | null,
  limit: number,
  isOver: () => boolean = () => false,
): Promise<Page> {
  const failed: Failed[] = [];
  let next = after;
  do {
    const page = await look(store, filter, next, limit - failed.length);
    failed.push(...page.failed);
    next = page.next;
    await turn();
  } while (next !== null && failed.length < limit && !isOver());
  return { failed, next };
}

/** All that fit, page by page; in a page those of a transaction are in the order of its events. */
export async function* fitting(store: FailedSources, filter: FailedFilter): AsyncGenerator<Failed[]> {
  for (let after: string | null = null; ; ) {
    const { failed, next } = await look(store, filter, after, PAGE);
    if (failed.length > 0) yield failed.sort(({ record: a }, { record: b }) => (a.id < b.id ? -1 : 1));
    if (next === null) return;
    after = next;
    await turn();
  }
}
