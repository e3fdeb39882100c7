import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { storeContract } from '../contract/contract.ts';
import { harnessOn, type StoreHarness } from '../contract/harness.ts';

const silentAfterMs = 10_000;

async function startLmdb(): Promise<StoreHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-store-'));
  const fatal: Error[] = [];
  const onFatal = (error: Error): void => {
    fatal.push(error);
  };
  return harnessOn(
    (incarnation, now) => openLmdbStore({ folder, incarnation, now, silentAfterMs, onFatal }),
    async () => {
      await rm(folder, { recursive: true, force: true });
      if (fatal.length > 0) throw new AggregateError(fatal, 'the store told of a fatal error');
    },
  );
}

storeContract('lmdb', startLmdb, { silentAfterMs });
