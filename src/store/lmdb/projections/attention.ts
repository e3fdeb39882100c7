/**
 * Items for a person to look at, as they are kept. Each known item has a row; what is on the list has another one, in
 * the order of the list, and is counted by kind; what is about a transaction is found by that, too.
 */
import { countOf, withCount } from '../../../engine/attention/counted.ts';
import type { AttentionKey, DoneBy } from '../../../engine/store.ts';
import type { KeptItem } from '../log/rows.ts';
import { keyOf } from './keys.ts';
import type { Noted, Projections } from './projections.ts';

type Kept = Pick<Projections, 'attention' | 'listed' | 'about' | 'counts'>;

export function known({ attention }: Kept, { id, kind }: AttentionKey): Noted | null {
  return attention.get(keyOf(kind, id));
}

function count({ counts }: Kept, kind: AttentionKey['kind'], change: number): void {
  counts.put(kind, (counts.get(kind) ?? 0) + change);
}

/** The key by which an item is found that is about a transaction. */
function aboutKey({ kind, since, id, about }: KeptItem): string | null {
  const transaction = about?.transaction ?? null;
  return transaction === null ? null : keyOf(transaction, since, kind, id);
}

function list(kept: Kept, item: KeptItem): void {
  const { kind, since, id } = item;
  const own = aboutKey(item);
  kept.listed.put(keyOf(kind, since, id), '');
  if (own !== null) kept.about.put(own, '');
  count(kept, kind, 1);
}

function unlist(kept: Kept, { item, done }: Noted): void {
  if (done) return;
  const { kind, since, id } = item;
  const own = aboutKey(item);
  kept.listed.remove(keyOf(kind, since, id));
  if (own !== null) kept.about.remove(own);
  count(kept, kind, -1);
}

function put(kept: Kept, item: KeptItem): void {
  kept.attention.put(keyOf(item.kind, item.id), { item, done: false });
  list(kept, item);
}

export function noteUnlessKnown(kept: Kept, item: KeptItem): void {
  if (known(kept, item) === null) put(kept, item);
}

/** Puts an item in the place of the one before, done or not: what happens again is news again. */
export function noteAnew(kept: Kept, item: KeptItem): void {
  const before = known(kept, item);
  if (before !== null) unlist(kept, before);
  put(kept, item);
}

/** Counts in the item that is known, done or not; else the item is put on the list. */
export function countIn(kept: Kept, item: KeptItem): void {
  const noted = known(kept, item);
  if (noted === null) put(kept, item);
  else recount(kept, noted, countOf(noted.item) + countOf(item));
}

/** Takes so many off an item's count; one that comes to none is forgotten. */
export function discount(kept: Kept, key: AttentionKey, by: number): void {
  const noted = known(kept, key);
  if (noted === null) return;
  const left = countOf(noted.item) - by;
  if (left > 0) recount(kept, noted, left);
  else withdraw(kept, key);
}

function recount(kept: Kept, noted: Noted, now: number): void {
  const { kind, id } = noted.item;
  kept.attention.put(keyOf(kind, id), { ...noted, item: withCount(noted.item, now) });
}

/** Takes an item off the list; it stays known. */
export function dismiss(kept: Kept, key: AttentionKey, by?: DoneBy): void {
  const noted = known(kept, key);
  if (noted === null || noted.done) return;
  unlist(kept, noted);
  kept.attention.put(keyOf(key.kind, key.id), {
    ...{ item: noted.item, done: true, ...(by === undefined ? {} : { by }) },
  });
}

/** Forgets an item. */
export function withdraw(kept: Kept, key: AttentionKey): void {
  const noted = known(kept, key);
  if (noted === null) return;
  unlist(kept, noted);
  kept.attention.remove(keyOf(key.kind, key.id));
}
