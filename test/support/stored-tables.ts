/**
 * The tables of an embedded store that nobody has open, to look into and to damage: as lmdb has them, past the store's
 * own code. Keys are given in their parts.
 */
import { asBinary, type Database, open, type RootDatabase } from 'lmdb';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { openLmdbStore } from '../../src/store/lmdb/store.ts';
import { type JsonObject, object, parseJson } from './json.ts';

const DIGITS = 16;

/** What is for reading alone, in the hands of a test that damages it. */
export type Spoilt<Value> = { -readonly [Part in keyof Value]: Spoilt<Value[Part]> };

/** A table of the projections. */
export class StoredTable {
  readonly #database: Database<string, string>;

  constructor(database: Database<string, string>) {
    this.#database = database;
  }

  get(...parts: (string | number)[]): string | undefined {
    return this.#database.get(keyOf(parts));
  }

  put(parts: (string | number)[], value: string): void {
    void this.#database.put(keyOf(parts), value);
  }

  remove(...parts: (string | number)[]): void {
    void this.#database.remove(keyOf(parts));
  }

  /** Rows whose keys begin with these parts. */
  rows(...parts: (string | number)[]): { key: string; value: string }[] {
    const start = keyOf(parts);
    return [...this.#database.getRange({ start })].filter(({ key }) => key.startsWith(start));
  }

  clear(): void {
    for (const key of [...this.#database.getKeys()]) void this.#database.remove(key);
  }
}

function keyOf(parts: readonly (string | number)[]): string {
  return parts
    .map((part) => (typeof part === 'number' ? String(part).padStart(DIGITS, '0') : part))
    .join(' ');
}

/** An account's batches, wherever they lie in the log. */
class StoredJournal {
  readonly #rows: Database<string, number>;
  readonly #places: Database<string, string>;

  constructor(rows: Database<string, number>, places: Database<string, string>) {
    this.#rows = rows;
    this.#places = places;
  }

  #number(account: string, seq: number): number | null {
    const range = { start: keyOf([account, seq]), end: keyOf([account, 0]), reverse: true, limit: 1 };
    for (const { key, value } of this.#places.getRange(range)) {
      const first = Number(key.slice(account.length + 1));
      return (JSON.parse(value) as number[])[seq - first] ?? null;
    }
    return null;
  }

  /** The number of the log's last row. */
  last(): number {
    const [last = 0] = [...this.#rows.getKeys({ reverse: true, limit: 1 })];
    return last;
  }

  get([account, seq]: [string, number]): string | undefined {
    const number = this.#number(account, seq);
    return number === null ? undefined : this.#rows.get(number);
  }

  put([account, seq]: [string, number], value: string): void {
    let number = this.#number(account, seq);
    if (number === null) {
      // Before the first row: what comes after the last one is taken up by the next start.
      number = 0.5;
      void this.#places.put(keyOf([account, seq]), JSON.stringify([number]));
    }
    void this.#rows.put(number, value);
  }

  /** Replaces a batch by the bytes that are made of its own. */
  changeBytes([account, seq]: [string, number], change: (bytes: Buffer) => Buffer): void {
    const number = this.#number(account, seq);
    const bytes = number === null ? undefined : this.#rows.getBinary(number);
    if (number !== null && bytes !== undefined)
      void this.#rows.put(number, asBinary(change(bytes)) as unknown as string);
  }

  remove([account, seq]: [string, number]): void {
    const number = this.#number(account, seq);
    if (number !== null) void this.#rows.remove(number);
  }
}

export interface StoredTables {
  journal: StoredJournal;
  records: StoredTable;
  lookups: StoredTable;
  names: StoredTable;
  refusals: StoredTable;
  waits: StoredTable;
  accounts: StoredTable;
  deliveries: StoredTable;
  failed: StoredTable;
  places: StoredTable;
  marks: StoredTable;
  state: StoredTable;
  /** The log's own. */
  logState: StoredTable;
}

const OPTIONS = { noSubdir: true, maxDbs: 32, overlappingSync: false };

function opened(path: string): RootDatabase {
  return open({ path, ...OPTIONS });
}

/** Does something with the tables of a store that nobody has open; what it changes is there afterwards. */
export async function withStoredTables<Result>(
  folder: string,
  work: (tables: StoredTables) => Result,
): Promise<Result> {
  const log = opened(`${folder}/pixstate.log`);
  const projections = opened(`${folder}/pixstate.projections`);
  const table = (name: string): Database<string, string> => projections.openDB({ name, encoding: 'string' });
  const rows: Database<string, number> = log.openDB({ name: 'rows', encoding: 'string' });
  const stored = (name: string): StoredTable => new StoredTable(table(name));
  const tables = {
    journal: new StoredJournal(rows, table('places')),
    records: stored('records'),
    lookups: stored('lookups'),
    names: stored('names'),
    refusals: stored('refusals'),
    waits: stored('waits'),
    accounts: stored('accounts'),
    deliveries: stored('deliveries'),
    failed: stored('failed'),
    places: stored('places'),
    marks: stored('marks'),
    state: stored('state'),
    logState: new StoredTable(log.openDB({ name: 'state', encoding: 'string' })),
  };
  try {
    return log.transactionSync(() => projections.transactionSync(() => work(tables)));
  } finally {
    await projections.close();
    await log.close();
  }
}

/** Changes a transaction's stored record. */
export function changeRecord(
  { records }: Pick<StoredTables, 'records'>,
  id: string,
  change: (record: Spoilt<TransactionRecord>) => void,
): void {
  const record: Spoilt<TransactionRecord> = JSON.parse(records.get(id) ?? '');
  change(record);
  records.put([id], JSON.stringify(record));
}

/** Rewrites the stored record of a transaction while no server runs; returns what was there. */
export async function rewrite(
  folder: string,
  id: string,
  change: (snapshot: JsonObject) => JsonObject,
): Promise<string> {
  const record = await recordOf(folder, id);
  return withStoredTables(folder, ({ records }) => {
    const stored = records.get(id);
    if (stored === undefined) throw new Error(`no record of ${id}`);
    const snapshot = change(object(parseJson(JSON.stringify(record.snapshot)) ?? null));
    records.put([id], JSON.stringify({ ...record, snapshot }));
    return stored;
  });
}

/** The record as the store reads it: what is stored may be its place in the log. */
async function recordOf(folder: string, id: string): Promise<TransactionRecord> {
  const onFatal = (error: Error): void => {
    throw error;
  };
  const store = await openLmdbStore({ folder, incarnation: 'test', now: Date.now, onFatal });
  try {
    const record = await store.journal.transaction(id);
    if (record === null) throw new Error(`no record of ${id}`);
    return record;
  } finally {
    await store.close();
  }
}
