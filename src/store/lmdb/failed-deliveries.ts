/** Pages of deliveries that have failed. */
import {
  type FailedFilter,
  type FailedPage,
  fitsFailed,
  hasFailed,
  MOST_LOOKED_AT,
} from '../../engine/store/deliveries.ts';
import type { Projections } from './projections/projections.ts';

/** At most so many, behind a place. */
export function failedBehind(
  { failed, deliveries }: Projections,
  filter: FailedFilter,
  after: string | null,
  limit: number,
): FailedPage {
  const page: FailedPage = { found: [], next: after };
  let lookedAt = 0;
  for (const [place, { id, transaction, status, url }] of failed.behind(filter, after)) {
    if (lookedAt === MOST_LOOKED_AT || page.found.length === limit) return page;
    lookedAt += 1;
    page.next = place;
    if (filter.status !== undefined && status !== filter.status) continue;
    if (filter.url !== undefined && url !== null && url !== filter.url) continue;
    const record = deliveries.get(transaction, id);
    if (record !== null && hasFailed(record) && fitsFailed({ record, url }, filter))
      page.found.push({ record, url });
  }
  return { ...page, next: null };
}
