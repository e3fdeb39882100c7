/**
 * What a row costs MongoDB: differences of what the server counts (`serverStatus`, `top`), of what lies in the
 * database (`collStats`, `validate`) and in the oplog.
 */
import type { Document, MongoClient, Timestamp } from 'mongodb';

/** Commands that a client sends to read or write; what else the server counts is monitors' and ours. */
const COMMANDS = [
  'insert',
  'update',
  'delete',
  'findAndModify',
  'find',
  'getMore',
  'aggregate',
  'count',
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** What was done to a collection: commands, but of updates and deletes statements. */
export interface Uses {
  find: number;
  insert: number;
  update: number;
  delete: number;
  /** `findAndModify`, `aggregate` and the like. */
  others: number;
}

/** What the server counts. */
export interface Counters {
  commands: Record<CommandName, number>;
  /** Statements of update commands. */
  updateStatements: number;
  documents: { inserted: number; updated: number; deleted: number; returned: number };
  byCollection: Record<string, Uses>;
  /** Flushes of the server's own journal to disk, and the seconds that they took. */
  flushes: number;
  flushSeconds: number;
}

export interface Stored {
  documents: number;
  indexEntries: number;
  /** Of documents, before compression. */
  bytes: number;
}

/** What lies in a database, by collection. */
export type Contents = Record<string, Stored>;

export class Meter {
  readonly #client: MongoClient;
  readonly #database: string;

  constructor(client: MongoClient, database: string) {
    this.#client = client;
    this.#database = database;
  }

  async counters(): Promise<Counters> {
    const admin = this.#client.db('admin');
    const [status, { totals }] = await Promise.all([
      admin.command({ serverStatus: 1 }),
      admin.command({ top: 1 }),
    ]);
    const { metrics, opcounters, wiredTiger } = status;
    const prefix = `${this.#database}.`;
    const own = Object.entries(totals as Record<string, Document>).filter(([name]) =>
      name.startsWith(prefix),
    );
    return {
      commands: Object.fromEntries(
        COMMANDS.map((name) => [name, Number(metrics.commands[name]?.total ?? 0)]),
      ) as Counters['commands'],
      updateStatements: Number(opcounters.update),
      documents: numbers(metrics.document) as Counters['documents'],
      byCollection: Object.fromEntries(own.map(([name, top]) => [name.slice(prefix.length), usesOf(top)])),
      flushes: Number(wiredTiger.log['log sync operations']),
      flushSeconds: Number(wiredTiger.log['log sync time duration (usecs)']) / 1e6,
    };
  }

  /** Reads every index through: not while anything is measured. */
  async contents(): Promise<Contents> {
    const db = this.#client.db(this.#database);
    const contents: Contents = {};
    for (const { name, type } of await db.listCollections().toArray()) {
      if (type !== 'collection') continue;
      const [stats] = await db
        .collection(name)
        .aggregate([{ $collStats: { storageStats: {} } }])
        .toArray();
      const { keysPerIndex } = await db.command({ validate: name, full: false });
      const keys = Object.values(numbers(keysPerIndex));
      contents[name] = {
        documents: Number(stats?.storageStats.count ?? 0),
        bytes: Number(stats?.storageStats.size ?? 0),
        indexEntries: keys.reduce((sum, count) => sum + count, 0),
      };
    }
    return contents;
  }

  /** The last moment that the oplog knows; null where there is none. */
  async moment(): Promise<Timestamp | null> {
    const oplog = this.#client.db('local').collection<{ _id: never; ts: Timestamp }>('oplog.rs');
    const [last] = await oplog.find().sort({ $natural: -1 }).limit(1).toArray();
    return last?.ts ?? null;
  }

  /** Entries of this database in the oplog since then. */
  async oplogEntries(since: Timestamp | null): Promise<number> {
    if (since === null) return 0;
    const ours = { ts: { $gt: since }, ns: { $gt: `${this.#database}.`, $lt: `${this.#database}/` } };
    return this.#client.db('local').collection('oplog.rs').countDocuments(ours);
  }
}

function usesOf({ queries, getmore, insert, update, remove, commands }: Document): Uses {
  return {
    find: queries.count + getmore.count,
    insert: insert.count,
    update: update.count,
    delete: remove.count,
    others: commands.count,
  };
}

function numbers(values: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
}

/** Number by number what came in between; both have one shape. */
export function difference<Shape>(after: Shape, before: Shape | undefined): Shape {
  if (typeof after === 'number') return (after - Number(before ?? 0)) as Shape;
  const old = (before ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(after as Record<string, unknown>).map(([name, value]) => [
      name,
      difference(value, old[name]),
    ]),
  ) as Shape;
}
