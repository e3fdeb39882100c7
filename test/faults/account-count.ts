import { closeTables, openTables } from '../../src/store/lmdb/tables.ts';
import { mongodbUriOf } from '../support/store.ts';

/** How many accounts a store has, seen beside the processes that work on it. */
export interface AccountCount {
  now(): Promise<number>;
  close(): Promise<void>;
}

async function onMongodb(uri: string): Promise<AccountCount> {
  const { MongoClient } = await import('mongodb');
  const client = await new MongoClient(uri).connect();
  return { now: () => client.db().collection('accounts').countDocuments(), close: () => client.close() };
}

/** The count of the store that a data folder stands for. */
export async function openAccountCount(dataDir: string): Promise<AccountCount> {
  const uri = mongodbUriOf(dataDir);
  if (uri !== null) return onMongodb(uri);
  const tables = await openTables(dataDir);
  return {
    async now() {
      tables.root.resetReadTxn();
      return tables.accounts.getCount();
    },
    close: () => closeTables(tables),
  };
}
