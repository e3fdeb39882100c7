/** The tables of the embedded store: one LMDB environment in the data folder, values readable as JSON text. */
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Due } from '../engine/store.ts';

/** Things due at one time, in one row: a group of creates costs one row, not one for each. */
export interface DueRow {
  /** The incarnation that has claimed the row; null: nobody. */
  owner: string | null;
  /** Null: taken out again. */
  items: (Due | null)[];
}

export type DueKey = [kind: string, at: number, id: string];

export interface Tables {
  root: RootDatabase;
  /** [account, seq]: the batch's hash, then its canonical content. */
  journal: Database<string, [string, number]>;
  transactions: Database<string, string>;
  /** [account, name, key] to a transaction's id or another value. */
  lookups: Database<string, [string, string, string]>;
  due: Database<string, DueKey>;
  parked: Database<string, string>;
  /** [transaction, delivery]. */
  deliveries: Database<string, [string, string]>;
  attention: Database<string, [string, string]>;
  /** [time of creation in ms, id of the row] to ids of cashouts that were open then. */
  open: Database<string, [number, string]>;
  accounts: Database<string, string>;
  clients: Database<string, string>;
  /** Incarnation to its last heartbeat in ms; -1: its claims were taken over. */
  beats: Database<number, string>;
  /** Who serves the folder. */
  lock: Database<string, string>;
}

/** Opens the environment in a folder, which must exist. */
export function openTables(folder: string): Tables {
  const root = open({
    path: `${folder}/pixstate.lmdb`,
    noSubdir: true,
    maxDbs: 16,
    // With overlapping syncs a failed fsync leaves the write visible; without, a commit is durable once it resolves.
    overlappingSync: false,
    // A group is a batch of its own: the writer needn't wait for the end of our event loop's turn, which under
    // load is milliseconds away.
    eventTurnBatching: false,
    ...({ txnStartThreshold: 1 } as object),
  });
  const text = { encoding: 'string' } as const;
  return {
    root,
    journal: root.openDB({ name: 'journal', ...text }),
    transactions: root.openDB({ name: 'transactions', ...text }),
    lookups: root.openDB({ name: 'lookups', ...text }),
    due: root.openDB({ name: 'due', ...text }),
    parked: root.openDB({ name: 'parked', ...text }),
    deliveries: root.openDB({ name: 'deliveries', ...text }),
    attention: root.openDB({ name: 'attention', ...text }),
    open: root.openDB({ name: 'open', ...text }),
    accounts: root.openDB({ name: 'accounts', ...text }),
    clients: root.openDB({ name: 'clients', ...text }),
    beats: root.openDB({ name: 'beats', encoding: 'json' }),
    lock: root.openDB({ name: 'lock', ...text }),
  };
}
