/** A server of a suite's own, on which stores are opened in this process and which can be made to fail. */
import { randomUUID } from 'node:crypto';
import { type Db, type Document, MongoClient } from 'mongodb';
import { startMongod } from '../../scripts/mongod.ts';
import type { AttentionItem } from '../../src/engine/store.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import type { Defer } from '../support/fixture.ts';
import { withDatabase } from '../support/store.ts';
import { until } from '../support/wait.ts';

/** What a server is to fail at; see `failCommand` in MongoDB's own tests. */
export interface Failure {
  commands: readonly string[];
  collection: string;
  /** How often; for ever where nothing is said. */
  times?: number;
  errorCode?: number;
  writeConcernError?: { code: number; errmsg: string };
  /** Answers only after so long, ms. */
  blockTimeMS?: number;
}

/** What a server says where a write took effect, and its confirmation is lost. */
export const UNCONFIRMED = { code: 64, errmsg: 'waiting for replication timed out' };

/** A database of one test. */
export interface OwnDatabase {
  uri: string;
  db: Db;
  /** A store on it; `said` are its sentences for the operator. */
  open(incarnation: string, options?: StoreParts): Promise<MongoStore>;
  fail(failure: Failure): Promise<void>;
  /** Fails at nothing any more. */
  calm(): Promise<void>;
  /** Turns a fail point of the server on, so often. */
  failPoint(name: string, times: number): Promise<void>;
  /** The server gives up being the primary, and is it again in a new term. */
  elect(): Promise<void>;
  /** Lets a collection take only what matches; all where nothing is said. */
  takeOnly(collection: string, validator?: Document): Promise<void>;
  close(): Promise<void>;
}

/** What a test may choose about a store. */
export interface StoreParts {
  /** The clock of the database, which may be set. */
  now?: () => number;
  leaseMs?: number;
  silentAfterMs?: number;
  /** Options of the connection string. */
  options?: string;
  said?: string[];
  unprojectable?: AttentionItem[];
}

export interface OwnServer {
  database(): Promise<OwnDatabase>;
}

const ELECTED_MS = 20_000;

function openOn(uri: string, incarnation: string, parts: StoreParts): MongoStore {
  const { leaseMs = 10_000, silentAfterMs = 5_000, options = '', said = [] } = parts;
  const store: MongoStore = new MongoStore({
    ...{ uri: `${uri}${options}`, incarnation, silentAfterMs, leaseMs },
    ...(parts.now === undefined ? {} : { now: parts.now }),
    onUnusable: (reason) => said.push(reason),
    onNotice: (text) => said.push(text),
    onUnprojectable: (item) => {
      parts.unprojectable?.push(item);
      return store.attention.note([item]);
    },
  });
  return store;
}

/** Starts a set of one, until the suite ends. */
export async function ownServer(defer: Defer): Promise<OwnServer> {
  const mongod = await startMongod({ members: 1 });
  defer(() => mongod.stop());
  const client = await new MongoClient(mongod.uri).connect();
  defer(() => client.close());
  const admin = client.db('admin');
  const database = async (): Promise<OwnDatabase> => {
    const name = `pixstate_${randomUUID().slice(0, 8)}`;
    const uri = withDatabase(mongod.uri, name);
    const stores: MongoStore[] = [];
    const calm = async (): Promise<void> => {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    };
    return {
      uri,
      db: client.db(name),
      open: async (incarnation, parts = {}) => {
        const store = openOn(uri, incarnation, parts);
        stores.push(store);
        await store.ready;
        return store;
      },
      fail: async ({ commands, collection, times, ...how }) => {
        const data = { failCommands: commands, namespace: `${name}.${collection}`, ...how };
        if (how.blockTimeMS !== undefined) Object.assign(data, { blockConnection: true });
        const mode = times === undefined ? 'alwaysOn' : { times };
        await admin.command({ configureFailPoint: 'failCommand', mode, data });
      },
      failPoint: async (point, times) => {
        await admin.command({ configureFailPoint: point, mode: { times } });
      },
      elect: async () => {
        await admin.command({ replSetStepDown: 1, force: true });
        const isPrimary = async (): Promise<boolean> => (await admin.command({ hello: 1 })).isWritablePrimary;
        await until(() => isPrimary().catch(() => false), ELECTED_MS, 'the election');
      },
      takeOnly: async (collection, validator = {}) => {
        await client.db(name).command({ collMod: collection, validator });
      },
      calm,
      close: async () => {
        await calm();
        await Promise.all(stores.map((store) => store.close()));
        await client.db(name).dropDatabase();
      },
    };
  };
  return { database };
}

/** A test's own database on the server. */
export async function onDatabase(
  server: OwnServer,
  body: (database: OwnDatabase) => Promise<void>,
): Promise<void> {
  const database = await server.database();
  try {
    await body(database);
  } finally {
    await database.close();
  }
}
