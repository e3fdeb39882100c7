import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { Store } from '../../src/engine/store.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { type StoreHarness, storeContract } from '../store/contract/contract.ts';
import { testUri } from '../support/mongodb.ts';

const silentAfterMs = 10_000;

/** The store's contract on a server; each test has a database of its own. */
function start(uri: string): () => Promise<StoreHarness> {
  return async () => {
    const database = `pixstate_contract_${randomUUID().slice(0, 12)}`;
    const [hosts, options = ''] = uri.replace(/\/(?=\?|$)/, '').split('?');
    let open: Store[] = [];
    let now = Date.UTC(2026, 0, 5, 12);
    const told: string[] = [];
    const openOne = async (incarnation: string): Promise<Store> => {
      const store = new MongoStore({
        uri: `${hosts}/${database}?${options}`,
        incarnation,
        localNow: () => Date.now(),
        now: () => now,
        silentAfterMs,
        onUnusable: (reason) => told.push(reason),
        onNotice: () => {},
      });
      open.push(store);
      await store.ready;
      return store;
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
        const client = new MongoClient(uri);
        await client.db(database).dropDatabase();
        await client.close();
        if (told.length > 0) throw new Error(told.join('; '));
      },
    };
  };
}

storeContract('mongodb', start(testUri()), { silentAfterMs });
