/** The MongoDB server of a run: one of its own, or the one of `MONGODB_TEST_URI`, with databases that go with it. */
import { hostname } from 'node:os';
import { MongoClient } from 'mongodb';
import { withDatabase } from '../../../test/support/store.ts';
import { startMongod } from '../../mongod.ts';
import { CACHE_GB } from '../options.ts';
import { atClose } from '../processes.ts';
import type { StoreEnv } from '../server.ts';

export interface Database {
  uri: string;
  env: StoreEnv;
  drop(): Promise<void>;
}

export interface MongodbServer {
  /** What it is, in words. */
  name: string;
  client: MongoClient;
  /** The process, where it is one of this machine's. */
  pid: number | undefined;
  /** The primary's port, where it listens on this machine. */
  port: number | null;
  /** A new one, dropped at the end of the run at the latest. */
  database(): Database;
  /** The same database over another port of this machine, as that single server's. */
  over(database: Database, port: number): Database;
}

const HERE = new Set(['127.0.0.1', 'localhost', '[::1]', hostname()]);
/** Secrets of accounts that nobody keeps. */
const SECRETS_KEY = Buffer.alloc(32, 'of the bench ').toString('base64');

function envOf(uri: string): StoreEnv {
  return { MONGODB_URI: uri, SECRETS_KEY };
}

/** The same connection string, straight to a port of this machine. */
function directly(uri: string, port: number): string {
  const parts = /^mongodb(?:\+srv)?:\/\/(?:([^@/]*)@)?[^/?]+\/([^?]*)(?:\?(.*))?$/.exec(uri);
  if (parts === null) throw new Error(`not a connection string with a database: ${uri}`);
  const [, user, name = '', query = ''] = parts;
  const options = new URLSearchParams(query);
  options.delete('replicaSet');
  options.set('directConnection', 'true');
  return `mongodb://${user === undefined ? '' : `${user}@`}127.0.0.1:${port}/${name}?${options}`;
}

async function givenOrOwn(): Promise<{ uri: string; name: string }> {
  const given = process.env.MONGODB_TEST_URI ?? '';
  if (given !== '') return { uri: given, name: 'the server of MONGODB_TEST_URI' };
  const mongod = await startMongod({ members: 1, cacheGb: CACHE_GB });
  atClose(() => mongod.stop());
  return { uri: mongod.uri, name: `a replica set of one on this machine, with a cache of ${CACHE_GB} GB` };
}

/** Starts it, or connects to it. */
export async function openMongodb(): Promise<MongodbServer> {
  const { uri, name } = await givenOrOwn();
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 15_000 });
  atClose(() => client.close());
  await client.connect();
  const admin = client.db('admin');
  const [{ version }, status, hello] = await Promise.all([
    admin.command({ buildInfo: 1 }),
    admin.command({ serverStatus: 1 }),
    admin.command({ hello: 1 }),
  ]);
  const address = typeof hello.me === 'string' ? hello.me : new URL(uri.replace(/^mongodb/, 'http')).host;
  const colon = address.lastIndexOf(':');
  const isHere = HERE.has(address.slice(0, colon));
  let count = 0;
  return {
    name: `MongoDB ${version}: ${name}`,
    client,
    pid: isHere ? Number(status.pid) : undefined,
    port: isHere ? Number(address.slice(colon + 1)) : null,
    database() {
      count += 1;
      const own = `pixstate_bench_${process.pid}_${count}`;
      const drop = async (): Promise<void> => void (await client.db(own).dropDatabase());
      atClose(drop);
      const full = withDatabase(uri, own);
      return { uri: full, env: envOf(full), drop };
    },
    over(database, port) {
      const full = directly(database.uri, port);
      return { ...database, uri: full, env: envOf(full) };
    },
  };
}

export function nameOf(database: Database): string {
  return /\/([^/?]+)(?:\?|$)/.exec(database.uri.replace('//', ''))?.[1] ?? '';
}
