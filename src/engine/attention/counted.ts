/**
 * Items that stand for many: one is on the list, and counts the others. What a store writes again after a failure may
 * count twice, so that a count is no sum to rely on.
 */
import type { AttentionItem } from '../store.ts';

type Counted = Pick<AttentionItem, 'kind' | 'id'> & { data?: object | null };

/** How many an item stands for. */
export function countOf({ data = null }: Pick<Counted, 'data'>): number {
  const { count } = (data ?? {}) as { count?: unknown };
  return typeof count === 'number' ? count : 1;
}

/** The item, standing for so many. */
export function withCount<Item extends Counted>(item: Item, count: number): Item {
  return { ...item, data: { ...item.data, count } };
}

/** One item for all of the same kind and id: the first, with the sum of their counts. */
export function countedTogether(items: readonly AttentionItem[]): AttentionItem[] {
  const together = new Map<string, AttentionItem>();
  for (const item of items) {
    const name = `${item.kind}:${item.id}`;
    const first = together.get(name);
    together.set(name, first === undefined ? item : withCount(first, countOf(first) + countOf(item)));
  }
  return [...together.values()];
}
