/** The order of what needs a person, and what of it is asked for: the same for all who keep, list or end items. */
import type { AttentionFilter, AttentionItem, AttentionPlace } from '../store.ts';

/** The order of the list: oldest first. */
export function compareItems(a: AttentionPlace, b: AttentionPlace): number {
  for (const part of ['since', 'kind', 'id'] as const) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  }
  return 0;
}

/** Whether an item fits all that a filter names. */
export function fitsAll(
  item: AttentionItem,
  { kind, account, transaction, url, since }: AttentionFilter,
): boolean {
  return (
    (kind === undefined || item.kind === kind) &&
    (account === undefined || item.about.account === account) &&
    (transaction === undefined || item.about.transaction === transaction) &&
    (url === undefined || item.about.url === url) &&
    (since === undefined || item.since >= since)
  );
}
