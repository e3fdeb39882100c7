/** Items of what needs a person, as the pages show them. */
import type { AttentionItem, StoreReads } from '../../engine/store.ts';
import type { Item } from '../shapes.ts';
import { mask } from './masking.ts';

/** More are shown once somebody is done with these. */
const MOST_ITEMS = 20;

/** Items without the documents that may stand in them. */
export function shownItems(items: readonly AttentionItem[]): Item[] {
  return mask(
    items.map(({ kind, id, code, amount, since, what, next, about, data }) => {
      return { kind, id, code, account: about.account, amount, since, what, next, about, data };
    }),
  );
}

/** The oldest items about a transaction. What a URL has rejected is the URL's, whichever delivery was the first. */
export async function itemsAbout({ attention }: StoreReads, transaction: string): Promise<AttentionItem[]> {
  const items = await attention.page({ transaction }, null, MOST_ITEMS);
  return items.filter(({ kind }) => kind !== 'rejected');
}
