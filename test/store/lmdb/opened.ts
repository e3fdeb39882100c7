/** The embedded store as its tests open it: what is fatal to it fails them. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../../../src/engine/store.ts';
import { type LmdbStoreOptions, openLmdbStore } from '../../../src/store/lmdb/store.ts';

/** Longer than the store waits before it writes what has changed. */
export const WRITTEN_MS = 900;

/** Each opening is by another process, as far as the store can tell. */
export function storeOptions(
  folder: string,
  now: () => number,
  more: Partial<LmdbStoreOptions> = {},
): LmdbStoreOptions {
  const onFatal = (error: Error): void => {
    throw error;
  };
  return { folder, incarnation: randomUUID().slice(0, 8), now, onFatal, ...more };
}

/** Opens a store for some work, and closes it. */
export async function withStore<Result>(
  options: LmdbStoreOptions,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openLmdbStore(options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
