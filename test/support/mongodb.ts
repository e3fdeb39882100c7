/** What the tests on a real MongoDB server share. */
import { randomUUID } from 'node:crypto';
import { type Mongod, type MongodOptions, startMongod } from '../../scripts/mongod.ts';
import { databaseUri, dropDatabases, testServer, withDatabase } from './store.ts';
import { startProxy, type TcpProxy } from './tcp-proxy.ts';
import { sleep } from './wait.ts';

/** The server that the tests run on, without a database. */
export function testUri(): string {
  const uri = testServer();
  if (uri === null)
    throw new Error('MONGODB_TEST_URI names no server: run this with npm run test:mongodb, which starts one');
  return uri;
}

/** A database of a test's own. */
export interface Database {
  /** With the database in it. */
  uri: string;
  name: string;
  drop(): Promise<void>;
}

/** A new database on the test server, which goes with this process at the latest, or on another server. */
export async function freshDatabase(server: string = testUri()): Promise<Database> {
  const name = `pixstate_test_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const uri = server === testServer() ? databaseUri(server, name) : withDatabase(server, name);
  return { uri, name, drop: () => dropDatabases(server, [name]) };
}

/** A server, or a set, of one test's own, which it may kill. */
export async function withMongod(
  options: MongodOptions,
  body: (mongod: Mongod) => Promise<void>,
): Promise<void> {
  const mongod = await startMongod(options);
  try {
    await body(mongod);
  } finally {
    await mongod.stop();
  }
}

/**
 * Repeats what may be repeated until it goes through. A client's own retries are not enough when a server dies: a
 * write to a socket that was just ended fails with Node's error, which the driver doesn't repeat.
 */
export async function persistently<Value>(work: () => Promise<Value>, timeoutMs = 30_000): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

/**
 * A set whose members are known to their clients, and to each other, by proxies' ports: `proxies[i]` is in front of
 * `mongod.members[i]`. A member that is started again looks for itself over its proxy, which must let it.
 */
export async function withProxiedMongod(
  options: MongodOptions & { members: 1 | 3 },
  body: (mongod: Mongod, proxies: readonly TcpProxy[]) => Promise<void>,
): Promise<void> {
  const proxies: TcpProxy[] = [];
  const hostPorts = async (ports: readonly number[]): Promise<number[]> => {
    for (const targetPort of ports) proxies.push(await startProxy({ targetPort }));
    return proxies.map(({ port }) => port);
  };
  try {
    await withMongod({ ...options, hostPorts }, (mongod) => body(mongod, proxies));
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
}
