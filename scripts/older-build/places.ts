/** The two stores that an older build fills, as the recipe needs them: looked into and kept while no server runs. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { open, type RootDatabase } from 'lmdb';
import type { Db, Document } from 'mongodb';
import { type Json, list, object, parseJson, text } from '../../test/support/json.ts';
import { keepDatabase, withDatabaseOf } from '../../test/support/older-database.ts';

/** Something that is due. `held`: a process that is gone has it in hand. */
export interface DueThing {
  kind: string;
  transaction: string;
  at: number;
  state: 'free' | 'held' | 'parked';
}

/** What a store holds, as far as it can't be asked for with commands. */
export interface Contents {
  /** Transactions to their accounts. */
  transactions: Map<string, string>;
  due: DueThing[];
  /** Kinds of all that was ever noted for ops. */
  attention: Set<string>;
}

export interface Place {
  look(): Promise<Contents>;
  /** Gives the records of transactions the version of a chart that nobody has; what comes back undoes it. */
  spoil(ids: readonly string[]): Promise<() => Promise<void>>;
  /** Writes what there is into a folder. */
  keep(kept: string): Promise<void>;
}

/** No chart ever had it. */
const NO_VERSION = '999';

async function withTables<Value>(
  dataDir: string,
  body: (root: RootDatabase) => Promise<Value>,
): Promise<Value> {
  const root = open({ path: join(dataDir, 'pixstate.lmdb'), noSubdir: true, maxDbs: 16 });
  try {
    return await body(root);
  } finally {
    await root.close();
  }
}

/** A data folder with tables in LMDB, as builds had it up to 70ffb18 and on. */
export function folderPlace(dataDir: string): Place {
  const table = (root: RootDatabase, name: string) => root.openDB<string>({ name, encoding: 'string' });
  const json = (value: string): Json => parseJson(value) ?? null;
  return {
    look: () =>
      withTables(dataDir, async (root) => {
        const due: DueThing[] = [];
        const put = (item: Json, state: DueThing['state']): void => {
          if (item === null) return;
          const { kind, transaction, at } = object(item);
          due.push({ kind: String(kind), transaction: String(transaction), at: Number(at), state });
        };
        for (const { value } of table(root, 'due').getRange()) {
          const row = object(json(value));
          for (const item of list(row, 'items')) put(item, row.owner === null ? 'free' : 'held');
        }
        for (const { value } of table(root, 'parked').getRange()) put(json(value), 'parked');
        const records = [...table(root, 'transactions').getRange()];
        const notes = [...table(root, 'attention').getRange()];
        return {
          transactions: new Map(records.map(({ key, value }) => [String(key), text(json(value), 'account')])),
          due,
          attention: new Set(notes.map(({ value }) => text(json(value), 'item.kind'))),
        };
      }),
    spoil: async (ids) => {
      const sound = await withTables(dataDir, async (root) => {
        const records = table(root, 'transactions');
        const before = ids.map((id) => [id, records.get(id) ?? ''] as const);
        for (const [id, value] of before) {
          const record = object(json(value));
          const snapshot = { ...object(record.snapshot ?? null), version: NO_VERSION };
          await records.put(id, JSON.stringify({ ...record, snapshot }));
        }
        return before;
      });
      return () =>
        withTables(dataDir, async (root) => {
          for (const [id, value] of sound) await table(root, 'transactions').put(id, value);
        });
    },
    async keep(kept) {
      await mkdir(kept, { recursive: true });
      const bytes = await readFile(join(dataDir, 'pixstate.lmdb'));
      await writeFile(join(kept, 'pixstate.lmdb.gz'), gzipSync(bytes, { level: 9 }));
    },
  };
}

/** Up to 70ffb18 an `owner` held what was claimed, or parked it; later builds have a token, and say when it was due. */
function dueOf(kind: string, transaction: string, document: Document): DueThing[] {
  const { owner, token, parked, since, due } = document;
  if (!(due instanceof Date)) return [];
  const isParked = parked === true || owner === 'parked';
  const state = isParked ? 'parked' : (owner ?? token) === undefined ? 'free' : 'held';
  return [{ kind, transaction, at: (since instanceof Date ? since : due).getTime(), state }];
}

function records(db: Db) {
  return db.collection<{ _id: string; snapshot: Document }>('transactions');
}

/** A database, as builds had it up to 70ffb18 and on. */
export function databasePlace(uri: string): Place {
  return {
    look: () =>
      withDatabaseOf(uri, async (db) => {
        const [journal, transactions, deliveries, attention] = await Promise.all(
          ['journal', 'transactions', 'deliveries', 'attention'].map((name) =>
            db.collection(name).find().toArray(),
          ),
        );
        // A batch that its process died over may lack its transactions: the journal has them all.
        const told = (journal ?? []).flatMap(({ account, entries }) =>
          (entries as Document[]).flatMap(({ transaction }): [string, string][] =>
            transaction ? [[transaction, account]] : [],
          ),
        );
        const own = (transactions ?? []).flatMap(({ _id, timers = [], orders = [] }) => [
          ...timers.flatMap((timer: Document) => dueOf('timer', String(_id), timer)),
          ...orders.flatMap((order: Document) => dueOf('bank', String(_id), order)),
        ]);
        const sent = (deliveries ?? []).flatMap((each) => dueOf('delivery', each.transaction, each));
        return {
          transactions: new Map(told),
          due: [...own, ...sent],
          attention: new Set((attention ?? []).map(({ kind }) => String(kind))),
        };
      }),
    spoil: async (ids) => {
      const all = { _id: { $in: [...ids] } };
      const versions = await withDatabaseOf(uri, async (db) => {
        const found = await records(db).find(all).toArray();
        await records(db).updateMany(all, { $set: { 'snapshot.version': NO_VERSION } });
        return found.map(({ _id, snapshot }) => [_id, snapshot.version] as const);
      });
      return () =>
        withDatabaseOf(uri, async (db) => {
          for (const [_id, version] of versions)
            await records(db).updateOne({ _id }, { $set: { 'snapshot.version': version } });
        });
    },
    async keep(kept) {
      await mkdir(kept, { recursive: true });
      await keepDatabase(uri, kept);
    },
  };
}
