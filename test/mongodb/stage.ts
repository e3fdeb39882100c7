/** What the tests of bad days on MongoDB share: servers on one database, and clients that spread over them. */
import { type Db, type Document, MongoClient } from 'mongodb';
import type { Mongod } from '../../scripts/mongod.ts';
import { basic, clientOf, type Merchant } from '../support/client.ts';
import type { Defer } from '../support/fixture.ts';
import { type Json, type JsonObject, parseJson, whole } from '../support/json.ts';
import { freshDatabase, withProxiedMongod } from '../support/mongodb.ts';
import type { Env } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type Server, type ServerOptions, startServer } from '../support/server.ts';
import { withDatabase } from '../support/store.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

/** What seals webhook secrets in these databases. */
export const SECRETS_KEY = Buffer.alloc(32, 'bad days ').toString('base64');

/** The configuration of a process on a database. */
export function envOn(uri: string, env: Env = {}): Env {
  return { MONGODB_URI: uri, SECRETS_KEY, ...env };
}

/** A server on a database; whoever starts it stops it. */
export function startOn(
  uri: string,
  env: Env = {},
  options: Omit<ServerOptions, 'env'> = {},
): Promise<Server> {
  return startServer({ ...options, env: envOn(uri, env) });
}

/** So many servers on one database, for one test. */
export async function withServers(
  uri: string,
  count: number,
  body: (servers: readonly [Server, ...Server[]]) => Promise<void>,
  env: Env = {},
): Promise<void> {
  const servers: Server[] = [];
  try {
    // One after the other: the first makes the collections and the demo account.
    while (servers.length < count) servers.push(await startOn(uri, env));
    await body(servers as [Server, ...Server[]]);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** The same account at another server. */
export function elsewhere(server: Server, known: Merchant): Merchant {
  const client = clientOf(server, { authorization: basic(known.clientId, known.clientSecret) });
  return withBalance({ ...known, ...client });
}

/** Asks for the balance as it asks for all else. */
export function withBalance(client: Merchant): Merchant {
  return { ...client, balance: async () => whole((await client.get('/balance')).body, 'balance') };
}

/** The connection string of a database on one member, past all proxies. */
export function directUri(mongod: Mongod, name: string, index = 0): string {
  const port = mongod.members[index]?.port;
  return `${withDatabase(`mongodb://127.0.0.1:${port}/`, name)}?directConnection=true`;
}

/** A new database on a set of one, by a proxy and past it, and a receiver of webhooks. */
export interface ProxiedDatabase {
  proxy: TcpProxy;
  receiver: Receiver;
  /** Over the proxy. */
  uri: string;
  /** Past it. */
  direct: string;
}

/** Brings up a database behind a proxy, and a receiver, for a body. */
export async function onProxiedDatabase(body: (scene: ProxiedDatabase) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await withProxiedMongod({ members: 1 }, async (mongod, [proxy]) => {
      if (proxy === undefined) throw new Error('no proxy');
      const { uri, name } = await freshDatabase(mongod.uri);
      await body({ proxy, receiver, uri, direct: directUri(mongod, name) });
    });
  } finally {
    await receiver.close();
  }
}

/** What a helper opens around a body, open until the suite ends; then it is closed in the helper's own order. */
export function held<Value>(
  defer: Defer,
  open: (body: (value: Value) => Promise<void>) => Promise<void>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let release = (): void => {};
    const end = new Promise<void>((ended) => {
      release = ended;
    });
    const over = open(async (value) => {
      resolve(value);
      await end;
    });
    over.catch(reject);
    defer(() => {
      release();
      return over;
    });
  });
}

/** The database of a connection string. */
export async function withDb<Value>(uri: string, work: (db: Db) => Promise<Value>): Promise<Value> {
  const client = await new MongoClient(uri, { serverSelectionTimeoutMS: 15_000 }).connect();
  try {
    return await work(client.db());
  } finally {
    await client.close();
  }
}

/** Documents whose `_id` is a text, as all of ours are. */
export function collection(db: Db, name: string) {
  return db.collection<Document & { _id: string }>(name);
}

/** What `/readyz` or `/livez` says; null where nothing answers. */
export async function probe(
  server: Pick<Server, 'root'>,
  path: 'livez' | 'readyz',
): Promise<{ status: number; body: Json } | null> {
  try {
    const reply = await fetch(`${server.root}/${path}`, { signal: AbortSignal.timeout(8_000) });
    return { status: reply.status, body: parseJson(await reply.text()) ?? null };
  } catch {
    return null;
  }
}

/** Waits until a server says that it is ready. */
export async function untilReady(server: Pick<Server, 'root'>, timeoutMs: number): Promise<void> {
  await until(async () => (await probe(server, 'readyz'))?.status === 200, timeoutMs, 'readiness');
}

/** The lines of a log that are JSON, as objects. */
export function logLines(stderr: string): JsonObject[] {
  return stderr.split('\n').flatMap((line) => {
    const json = parseJson(line);
    return json !== undefined && json !== null && typeof json === 'object' && !Array.isArray(json)
      ? [json]
      : [];
  });
}

/** The sequence numbers and times of an account's journal, as they are stored. */
export async function journalOf(db: Db, account: string): Promise<Document[]> {
  return db.collection('journal').find({ account }).sort({ seq: 1 }).toArray();
}

/** What is wrong with an account's journal: gaps, and times that go back. */
export function flawsOf(journal: readonly Document[]): string[] {
  const flaws: string[] = [];
  journal.forEach(({ seq, at: time, previous }, index) => {
    const before = journal[index - 1];
    if (seq !== index + 1) flaws.push(`number ${seq} in place ${index + 1}`);
    if (before === undefined) return;
    if (time.getTime() < before.at.getTime()) flaws.push(`number ${seq} is older than the one before`);
    if (previous !== before.hash) flaws.push(`number ${seq} does not follow`);
  });
  return flaws;
}
