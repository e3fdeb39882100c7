/** A table of the projections' environment: keys and values are texts. */
import type { Database, RangeOptions, Transaction } from 'lmdb';
import { type Room, roomFor } from '../../environments/room.ts';

/** What is asked of a table. */
export interface Range {
  start: string;
  end?: string;
  reverse?: boolean;
  limit?: number;
}

export interface Table {
  get(key: string): string | undefined;
  has(key: string): boolean;
  /** In the order of the keys. */
  rows(range: Range): Iterable<{ key: string; value: string }>;
  keys(range: Range): Iterable<string>;
  /** Within a transaction, whose end tells of it; as `remove`. */
  put(key: string, value: string): void;
  remove(key: string): void;
}

interface Row {
  database: Database<string, string>;
  key: string;
  /** Null: it is removed. */
  value: string | null;
}

/** What is put into tables and removed: lmdb writes what was issued before a failure, so each has its room before any is. */
export class Rows {
  readonly room: Room;
  #rows: Row[] = [];

  constructor(room: Room) {
    this.room = room;
  }

  put(database: Database<string, string>, key: string, value: string): void {
    this.room.take(roomFor(value) + key.length);
    this.#rows.push({ database, key, value });
  }

  remove(database: Database<string, string>, key: string): void {
    this.#rows.push({ database, key, value: null });
  }

  /** Issues what `fill` puts and removes, within a transaction; nothing of it where that throws. */
  issue(fill: () => void): void {
    this.#rows = [];
    fill();
    const rows = this.#rows;
    this.#rows = [];
    for (const { database, key, value } of rows)
      void (value === null ? database.remove(key) : database.put(key, value));
  }
}

export interface TableOptions {
  /** The table is as it was when that transaction began, whatever is written meanwhile. */
  pinned?: Transaction | null;
  /** Where what is put and removed goes, to be issued with other tables'; without it, the table is only read. */
  rows?: Rows | null;
}

export function tableOf(
  database: Database<string, string>,
  { pinned = null, rows = null }: TableOptions,
): Table {
  const options: { transaction?: Transaction } = pinned === null ? {} : { transaction: pinned };
  const within = (range: Range): RangeOptions => ({ ...range, ...options });
  const written = (): Rows => {
    if (rows === null) throw new Error('the table is only read');
    return rows;
  };
  return {
    get: pinned === null ? (key) => database.get(key) : (key) => database.get(key, options),
    has: (key) => database.get(key, options) !== undefined,
    rows: (range) => database.getRange(within(range)),
    keys: (range) => database.getKeys(within(range)),
    put: (key, value) => written().put(database, key, value),
    remove: (key) => written().remove(database, key),
  };
}
