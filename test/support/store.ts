/**
 * Which store the processes that tests start work on. A data folder stands for a store: its own, or, with
 * `MONGODB_TEST_URI` set, a database on that server whose name follows from the folder's.
 */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Env } from './process.ts';

/** What seals webhook secrets on MongoDB, in tests. */
const SECRETS_KEY = Buffer.alloc(32, 'of tests ').toString('base64');

/** Databases that were named here and are there still, as far as is known. */
const named = new Set<string>();

/** The server of `MONGODB_TEST_URI`, or null. */
export function testServer(): string | null {
  return process.env.MONGODB_TEST_URI || null;
}

/** The same server, with a database in the connection string. */
export function withDatabase(uri: string, name: string): string {
  const parts = /^(mongodb(?:\+srv)?:\/\/)([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(uri);
  if (parts === null) throw new Error('MONGODB_TEST_URI is no MongoDB connection string');
  const [, scheme = '', hosts = '', database = '', query = ''] = parts;
  const options = new URLSearchParams(query);
  // Credentials are looked up in the database that is named, unless another one is.
  if (hosts.includes('@') && !options.has('authSource')) options.set('authSource', database || 'admin');
  return `${scheme}${hosts}/${name}${options.size > 0 ? `?${options}` : ''}`;
}

/** A database on the test server; dropped at the end of this process at the latest. */
export function databaseUri(server: string, name: string): string {
  if (named.size === 0) process.once('beforeExit', () => void dropAll());
  named.add(name);
  return withDatabase(server, name);
}

function databaseOf(dataDir: string): string {
  return `pixstate_test_${createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16)}`;
}

/** The connection string of the database that stands for a data folder; null on the embedded store. */
export function mongodbUriOf(dataDir: string): string | null {
  const server = testServer();
  return server === null ? null : databaseUri(server, databaseOf(dataDir));
}

/** What a process needs for the store of a data folder, where `env` doesn't choose: '' is the embedded store. */
export function storeEnv(dataDir: string, env: Env = {}): Env {
  const uri = env.MONGODB_URI === '' ? null : mongodbUriOf(dataDir);
  return uri === null ? {} : { MONGODB_URI: uri, SECRETS_KEY };
}

/** Drops databases of the test server. */
export async function dropDatabases(server: string, names: Iterable<string>): Promise<void> {
  // Most tests run without a driver.
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(server, { serverSelectionTimeoutMS: 15_000 });
  try {
    for (const name of names) {
      await client.db(name).dropDatabase();
      named.delete(name);
    }
  } finally {
    await client.close();
  }
}

/** Empties the store of a data folder as far as it isn't in the folder. */
export async function dropStore(dataDir: string): Promise<void> {
  const server = testServer();
  if (server !== null) await dropDatabases(server, [databaseOf(dataDir)]);
}

async function dropAll(): Promise<void> {
  const server = testServer();
  if (server === null || named.size === 0) return;
  await dropDatabases(server, [...named]).catch((error: unknown) => {
    process.stderr.write(`databases stay behind: ${[...named].join(', ')}: ${String(error)}\n`);
    process.exitCode = 1;
  });
}
