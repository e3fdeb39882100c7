/** Pages of deliveries that have failed, on MongoDB: by status, then account, then id, as their indexes are. */
import type { Document } from 'mongodb';
import {
  type FailedFilter,
  type FailedPage,
  fitsFailed,
  MOST_LOOKED_AT,
} from '../../../engine/store/deliveries.ts';
import type { MongoReads } from '../reads.ts';
import { type DeliveryDocument, deliveryFromDocument } from './documents.ts';

/** In this order: an index over a condition of its own serves a query with that very condition only. */
export const FAILED_STATUSES = ['dead', 'rejected'] as const;

interface Place {
  status: (typeof FAILED_STATUSES)[number];
  account: string;
  id: string;
}

function placeText({ status, account, id }: Place): string {
  return `${status} ${id} ${account}`;
}

/** Null where a text is no place. */
function placeIn(text: string): Place | null {
  const [name, id = '', ...account] = text.split(' ');
  const status = FAILED_STATUSES.find((each) => each === name);
  return status === undefined ? null : { status, id, account: account.join(' ') };
}

/** What is asked one after the other for what lies behind a place: the rest of its account, then other accounts. */
function queriesFor({ account, status: wanted }: FailedFilter, after: Place | null): object[] {
  return FAILED_STATUSES.filter((status) => wanted === undefined || status === wanted).flatMap(
    (status): object[] => {
      const own = account === undefined ? {} : { account };
      if (after === null || after.status < status) return [{ status, ...own }];
      if (after.status !== status || (account !== undefined && account !== after.account)) return [];
      const rest = { status, account: after.account, _id: { $gt: after.id } };
      return account === undefined ? [rest, { status, account: { $gt: after.account } }] : [rest];
    },
  );
}

/**
 * Of the statements that found a delivery begun anew, those that another has begun: it may have been the very same one,
 * whose answer was lost. `anew`: what each is of. @throws StoreUnavailable
 */
export async function begunByOthers<Begun extends { id: string }>(
  reads: MongoReads,
  statements: readonly Document[],
  anew: ReadonlyMap<Document, Begun>,
): Promise<Begun[]> {
  const refused = statements.filter((each) => anew.has(each));
  if (refused.length === 0) return [];
  const filter = { _id: { $in: refused.map(({ q }) => q._id) } };
  const found = await reads.find<DeliveryDocument>('deliveries', filter, { projection: { anewBy: 1 } });
  const begun = new Map(found.map(({ _id, anewBy }) => [_id, anewBy]));
  return refused.flatMap((each) => {
    const own = anew.get(each);
    return own === undefined || begun.get(each.q._id) === own.id ? [] : [own];
  });
}

/** At most so many, behind a place. @throws StoreUnavailable */
export async function failedBehind(
  reads: MongoReads,
  filter: FailedFilter,
  after: string | null,
  limit: number,
): Promise<FailedPage> {
  const page: FailedPage = { found: [], next: null };
  const place = after === null ? null : placeIn(after);
  if (after !== null && place === null) return page;
  // Without a time or URL all that is read fits, and no more is read than is wanted.
  const isSifted = filter.url !== undefined || filter.since !== undefined;
  let left = isSifted ? MOST_LOOKED_AT : limit;
  for (const query of queriesFor(filter, place)) {
    const options = { sort: { account: 1, _id: 1 }, limit: left };
    for (const document of await reads.find<DeliveryDocument>('deliveries', query, options)) {
      const { _id: id, account, status, url = null } = document;
      left -= 1;
      page.next = placeText({ status: status as Place['status'], account, id });
      const record = deliveryFromDocument(document);
      if (fitsFailed({ record, url }, filter)) page.found.push({ record, url });
      if (page.found.length === limit) return page;
    }
    if (left === 0) return page;
  }
  return { ...page, next: null };
}
