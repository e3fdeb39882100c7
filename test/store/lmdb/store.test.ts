import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/engine/store.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { type StoreHarness, storeContract } from '../contract/contract.ts';

const silentAfterMs = 10_000;

async function startLmdb(): Promise<StoreHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-store-'));
  const fatal: Error[] = [];
  let open: Store[] = [];
  let now = Date.UTC(2026, 0, 5, 12);
  const openOne = async (incarnation: string): Promise<Store> => {
    const onFatal = (error: Error): void => {
      fatal.push(error);
    };
    const store = await openLmdbStore({ folder, incarnation, now: () => now, silentAfterMs, onFatal });
    open.push(withOneClose(store));
    return open.at(-1) ?? store;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(open.map((store) => store.close()));
    open = [];
  };
  return {
    open: openOne,
    reopen: async (incarnation) => {
      await closeAll();
      return openOne(incarnation);
    },
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    close: async () => {
      await closeAll();
      await rm(folder, { recursive: true, force: true });
      if (fatal.length > 0) throw new AggregateError(fatal, 'the store told of a fatal error');
    },
  };
}

/** The harness closes what a test may have closed already. */
function withOneClose(store: Store): Store {
  const close = store.close.bind(store);
  let closing: Promise<void> | null = null;
  store.close = () => {
    closing ??= close();
    return closing;
  };
  return store;
}

storeContract('lmdb', startLmdb, { silentAfterMs });
