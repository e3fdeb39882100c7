/** A table of the projections' environment: keys and values are texts. */
import type { Database, RangeOptions, Transaction } from 'lmdb';
import { type Room, roomFor } from '../room.ts';

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

export interface TableOptions {
  /** The table is as it was when that transaction began, whatever is written meanwhile. */
  pinned?: Transaction | null;
  /** Room is taken there for what is put. */
  room?: Room | null;
}

export function tableOf(
  database: Database<string, string>,
  { pinned = null, room = null }: TableOptions,
): Table {
  const options: { transaction?: Transaction } = pinned === null ? {} : { transaction: pinned };
  const within = (range: Range): RangeOptions => ({ ...range, ...options });
  return {
    get: pinned === null ? (key) => database.get(key) : (key) => database.get(key, options),
    has: (key) => database.get(key, options) !== undefined,
    rows: (range) => database.getRange(within(range)),
    keys: (range) => database.getKeys(within(range)),
    put: (key, value) => {
      room?.take(roomFor(value) + key.length);
      void database.put(key, value);
    },
    remove: (key) => void database.remove(key),
  };
}
