import { readFile } from 'node:fs/promises';
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

/**
 * The accounts that a log tells of. Its file is read as it is: only who holds the folder may open it.
 */
async function countIn(log: string): Promise<number> {
  const text = await readFile(log, 'latin1').catch(() => '');
  const told = text.matchAll(/"kind":"account","account":\{[^{}]*?"id":"([^"]+)"/g);
  return new Set([...told].map(([, id]) => id)).size;
}

/** The count of the store that a data folder stands for. */
export async function openAccountCount(dataDir: string): Promise<AccountCount> {
  const uri = mongodbUriOf(dataDir);
  if (uri !== null) return onMongodb(uri);
  return { now: () => countIn(`${dataDir}/pixstate.log`), close: async () => {} };
}
