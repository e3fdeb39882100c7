import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/engine/store.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { storeContract } from '../contract/contract.ts';
import { harnessOn, type StoreHarness } from '../contract/harness.ts';

/** One process has the folder: whoever opens it again beside the first gets the same store, closed with the last. */
function shared(open: (incarnation: string, now: () => number) => Promise<Store>): typeof open {
  let present: Promise<Store> | null = null;
  let users = 0;
  return async (incarnation, now) => {
    users += 1;
    present ??= open(incarnation, now);
    const store = await present;
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> => {
      if (closing !== null) return closing;
      users -= 1;
      if (users > 0) closing = Promise.resolve();
      else {
        present = null;
        closing = store.close();
      }
      return closing;
    };
    return { ...store, close };
  };
}

async function startLmdb(): Promise<StoreHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-store-'));
  const fatal: Error[] = [];
  const onFatal = (error: Error): void => {
    fatal.push(error);
  };
  return harnessOn(
    shared((incarnation, now) => openLmdbStore({ folder, incarnation, now, onFatal })),
    async () => {
      await rm(folder, { recursive: true, force: true });
      if (fatal.length > 0) throw new AggregateError(fatal, 'the store told of a fatal error');
    },
  );
}

storeContract('lmdb', startLmdb, { silentAfterMs: null });
