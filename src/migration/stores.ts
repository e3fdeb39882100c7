/** The parts that all steps of a migration share: the two stores, the journal page by page, work side by side. */
import type { Batch } from '../engine/journal.ts';
import type { Store } from '../engine/store.ts';

export interface Stores {
  /** Where the accounts are; nobody but ops' commands may write to it meanwhile. */
  source: Store;
  /** Where they go; others may be served from it. */
  target: Store;
}

/** A batch has about 2 MB at most, one of a former build ten times as much: so many are in memory at a time. */
const PAGE = 16;

/** An account's journal from a sequence number on, page by page. */
export async function* journalOf(store: Store, account: string, from = 1): AsyncGenerator<Batch[]> {
  for (let next = from; ; next += PAGE) {
    const page = await store.journal.batchesFrom(account, next, PAGE);
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
  }
}

/** Does the work for each, so many at a time; a failure ends it once what is under way has ended. */
export async function sideBySide<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    try {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    } finally {
      // The others end with what they have in hand.
      waiting.length = 0;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

/** Parts of a list, so many at a time. */
export function* chunks<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
