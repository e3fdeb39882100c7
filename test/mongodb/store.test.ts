import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { Store } from '../../src/engine/store.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { storeContract } from '../store/contract/contract.ts';
import { harnessOn, type StoreHarness } from '../store/contract/harness.ts';
import { testUri } from '../support/mongodb.ts';

const silentAfterMs = 10_000;

/** The store's contract on a server; each test has a database of its own. */
function start(server: string): () => Promise<StoreHarness> {
  return async () => {
    const database = `pixstate_contract_${randomUUID().slice(0, 12)}`;
    const [hosts, options = ''] = server.replace(/\/(?=\?|$)/, '').split('?');
    const uri = `${hosts}/${database}?${options}`;
    const told: string[] = [];
    const openStore = async (incarnation: string, now: () => number): Promise<Store> => {
      const store = new MongoStore({
        uri,
        incarnation,
        // The contract moves its clock as time goes by.
        ...{ now, elapsed: now },
        silentAfterMs,
        leaseMs: silentAfterMs,
        onUnusable: (reason) => told.push(reason),
        onNotice: () => {},
      });
      try {
        await store.ready;
      } catch (error) {
        await store.close();
        throw error;
      }
      return store;
    };
    return harnessOn(openStore, async () => {
      const client = new MongoClient(server);
      await client.db(database).dropDatabase();
      await client.close();
      if (told.length > 0) throw new Error(told.join('; '));
    });
  };
}

storeContract('mongodb', start(testUri()), { silentAfterMs });
