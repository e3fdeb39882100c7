/** The tables of the embedded store: one LMDB environment in the data folder, values readable as JSON text. */
import { statSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';
import { waitOf } from '../../engine/attention.ts';
import { ATTENTION_KINDS, type AttentionKind, type TransactionRecord } from '../../engine/journal.ts';
import type { Due } from '../../engine/store/due.ts';
import { type AttentionPlace, type BankWait, StoreUnavailable } from '../../engine/store.ts';
import { FolderGate } from './gate.ts';

/** Things due at one time, in one row: a group of creates costs one row, not one for each. */
export interface DueRow {
  /** The incarnation that has claimed the row; null: nobody. */
  owner: string | null;
  /** Null: taken out again. */
  items: (Due | null)[];
  /** When the row was made, ms since 1970; absent in rows of former builds. */
  made?: number;
}

export type DueKey = [kind: string, at: number, id: string];

/** [what is waited for, time of the last change in ms, id of the row]. */
export type WaitKey = [wait: BankWait, at: number, id: string];

/** [target's id, due time in ms, delivery]. */
export type BacklogKey = [string, number, string];

export interface Tables {
  root: RootDatabase;
  /** Every write goes through it. */
  gate: FolderGate;
  /** [account, seq]: the batch's hash, then its canonical content. */
  journal: Database<string, [string, number]>;
  transactions: Database<string, string>;
  /** [account, name, key] to a transaction's id or another value. */
  lookups: Database<string, [string, string, string]>;
  /** [transaction, seq] of batches that hold refused messages to it. */
  refusals: Database<string, [string, number]>;
  due: Database<string, DueKey>;
  parked: Database<string, string>;
  /** [transaction, delivery]. */
  deliveries: Database<string, [string, string]>;
  /** Deliveries that wait behind targets. */
  backlog: Database<string, BacklogKey>;
  /** By id; `TOTAL` has how many wait behind all. */
  targets: Database<string, string>;
  /** When each target is to be looked after: [time in ms, its id]. */
  looks: Database<string, [number, string]>;
  /** [id, kind]: items for ops, on the list or done with. */
  attention: Database<string, [id: string, kind: string]>;
  /** By kind, [since, id] of what is on the list. */
  listed: Record<AttentionKind, Database<string, [since: string, id: string]>>;
  /** Ids of transactions that waited for the bank since then. */
  waits: Database<string, WaitKey>;
  /** Ids of open cashouts by time of creation, in former builds; empty from the first opening on. */
  open: Database<string, [at: number, id: string]>;
  accounts: Database<string, string>;
  clients: Database<string, string>;
  /** What is known of the store as a whole. */
  marks: Database<string, string>;
  /** Incarnation to its last heartbeat in ms; -1: its claims were taken over. */
  beats: Database<number, string>;
  /** The holder in former builds; read when a folder of theirs is taken over, and empty from then on. */
  lock: Database<string, string>;
}

/** The longest text that is looked up: LMDB's keys are bounded, and what callers name is not. */
const LONGEST_KEY = 200;

/** A file with all tables is never smaller, with pages of 4096 bytes. */
const WHOLE_BYTES = 16_384;

/** Whether a text may be looked up at all; a longer one was never stored. */
export function fitsKey(text: string): boolean {
  return text.length <= LONGEST_KEY;
}

/** A write that reads first, both in one transaction. Its failure is told to the caller alone. */
export function transact<Result>({ gate, root }: Tables, body: () => Result): Promise<Result> {
  return gate.write(() => root.transaction(body));
}

function fileIn(folder: string): string {
  return `${folder}/pixstate.lmdb`;
}

/** Whether there is a store in a folder. lmdb crashes on a file whose maker died before its first pages were there. */
export function hasStore(folder: string): boolean {
  return (statSync(fileIn(folder), { throwIfNoEntry: false })?.size ?? 0) >= WHOLE_BYTES;
}

function openRoot(folder: string, readOnly: boolean): RootDatabase {
  return open({
    path: fileIn(folder),
    readOnly,
    noSubdir: true,
    maxDbs: 64,
    // With overlapping syncs a failed fsync leaves the write visible; without, a commit is durable once it resolves.
    overlappingSync: false,
    // A group is a batch of its own: the writer needn't wait for the end of our event loop's turn, which under
    // load is milliseconds away.
    eventTurnBatching: false,
    ...({ txnStartThreshold: 1 } as object),
  });
}

async function opened(folder: string, readOnly: boolean): Promise<Omit<Tables, 'gate'>> {
  const root = openRoot(folder, readOnly);
  const text = { encoding: 'string' } as const;
  try {
    return {
      root,
      journal: root.openDB({ name: 'journal', ...text }),
      transactions: root.openDB({ name: 'transactions', ...text }),
      lookups: root.openDB({ name: 'lookups', ...text }),
      refusals: root.openDB({ name: 'refusals', ...text }),
      due: root.openDB({ name: 'due', ...text }),
      parked: root.openDB({ name: 'parked', ...text }),
      deliveries: root.openDB({ name: 'deliveries', ...text }),
      attention: root.openDB({ name: 'attention', ...text }),
      backlog: root.openDB({ name: 'backlog', ...text }),
      targets: root.openDB({ name: 'targets', ...text }),
      looks: root.openDB({ name: 'looks', ...text }),
      listed: Object.fromEntries(
        ATTENTION_KINDS.map((kind) => [kind, root.openDB({ name: `listed ${kind}`, ...text })]),
      ) as Tables['listed'],
      waits: root.openDB({ name: 'waits', ...text }),
      open: root.openDB({ name: 'open', ...text }),
      accounts: root.openDB({ name: 'accounts', ...text }),
      clients: root.openDB({ name: 'clients', ...text }),
      marks: root.openDB({ name: 'marks', ...text }),
      beats: root.openDB({ name: 'beats', encoding: 'json' }),
      lock: root.openDB({ name: 'lock', ...text }),
    };
  } catch (error) {
    // The next opening in this process would be handed what this one left open.
    await root.close();
    throw error;
  }
}

/** The lists of items that former builds stored without; those that ops were done with go. */
function listKnown({ attention, listed }: Tables): void {
  for (const { key, value } of [...attention.getRange()]) {
    const { item, done }: { item: AttentionPlace; done: boolean } = JSON.parse(value);
    if (!done) void listed[item.kind].put([item.since, item.id], '');
    else if (item.kind === 'dead') void attention.remove(key);
  }
}

/** What former builds found by its time of creation. */
function moveOpen({ open, waits, transactions }: Tables): void {
  for (const { key, value } of [...open.getRange()]) {
    void open.remove(key);
    for (const id of JSON.parse(value) as string[]) {
      const text = transactions.get(id);
      const record: TransactionRecord | null = text === undefined ? null : JSON.parse(text);
      const wait = record === null ? null : waitOf(record);
      if (record === null || wait === null) continue;
      void waits.put([wait, Date.parse(record.updatedAt), id], JSON.stringify([id]));
    }
  }
}

function isEmpty(table: Pick<Database, 'getStats'>): boolean {
  return (table.getStats() as { entryCount: number }).entryCount === 0;
}

/** Makes, once, the rows that former builds did not have. */
async function bringUpToDate(tables: Tables): Promise<void> {
  const { open, attention, listed } = tables;
  const isListed = isEmpty(attention) || !Object.values(listed).every(isEmpty);
  if (isEmpty(open) && isListed) return;
  await transact(tables, () => {
    if (!isListed) listKnown(tables);
    moveOpen(tables);
  });
}

/** Opens the environment in a folder, which must exist, once nobody writes to it. */
export async function openTables(folder: string): Promise<Tables> {
  const gate = new FolderGate(folder);
  try {
    const tables = { ...(await gate.alone(() => opened(folder, false))), gate };
    await bringUpToDate(tables);
    return tables;
  } catch (error) {
    gate.close();
    throw error;
  }
}

/** Closes the environment once all writes of this process have come to their end. */
export async function closeTables({ root, gate }: Tables): Promise<void> {
  await gate.end();
  await gate.besideStopped(() => root.close());
  gate.close();
}

/**
 * Opens the environment only to read: that never waits for a writer, even one frozen inside a transaction.
 * Null where the file isn't there or whole yet, or is older and lacks a table, or the folder can't be written to
 * at all: only a writer can make what is missing, and says what is wrong.
 * @throws StoreUnavailable where another process is busy with it for half a minute
 */
export async function openToRead(folder: string): Promise<Tables | null> {
  if (!hasStore(folder)) return null;
  let gate: FolderGate;
  try {
    gate = new FolderGate(folder);
  } catch {
    return null;
  }
  let tables: Omit<Tables, 'gate'>;
  try {
    tables = await gate.besideStopped(() => opened(folder, true));
  } catch (error) {
    gate.close();
    if (error instanceof StoreUnavailable) throw error;
    // Opening it for writing tells what is wrong with it, or mends it.
    return null;
  }
  // lmdb gives no database, against its types, where there is none.
  const { listed, ...others } = tables;
  const all: (Database | undefined)[] = [...Object.values(listed), ...Object.values(others)];
  if (all.every((table) => table !== undefined)) return { ...tables, gate };
  await closeTables({ ...tables, gate });
  return null;
}
