/** The tables of former builds, in which everything lay in one environment; they are only read. */
import type { Database, RootDatabase } from 'lmdb';
import type { Due } from '../../../engine/store/due.ts';
import { openRoot } from '../../environments/lmdb.ts';
import { formerIn } from '../files.ts';

/** A row of the due index, a former build's. */
export interface FormerDueRow {
  /** Null: taken out again. */
  items: (Due | null)[];
  /** When the row was made, ms since 1970. */
  made?: number;
}

/** Absent are tables that the build which wrote the folder didn't have. */
export interface FormerTables {
  root: RootDatabase;
  /** [account, seq]: the batch's hash, then its canonical content. */
  journal: Database<string, [string, number]>;
  due: Database<string, [kind: string, at: number, id: string]> | undefined;
  parked: Database<string, string> | undefined;
  deliveries: Database<string, [string, string]> | undefined;
  backlog: Database<string, [string, number, string]> | undefined;
  attention: Database<string, [id: string, kind: string]> | undefined;
  /** Whether items that are on the list have rows of their own. */
  listsItems: boolean;
  accounts: Database<string, string> | undefined;
  marks: Database<string, string> | undefined;
  beats: Database<number, string> | undefined;
  lock: Database<string, string> | undefined;
}

export function openFormer(folder: string): FormerTables | null {
  const root = openRoot({ path: formerIn(folder), readOnly: true, maxDbs: 64 });
  const text = { encoding: 'string' } as const;
  // lmdb gives no database, against its types, where there is none.
  const journal = root.openDB({ name: 'journal', ...text }) as FormerTables['journal'] | undefined;
  if (journal === undefined) {
    void root.close();
    return null;
  }
  return {
    root,
    journal,
    due: root.openDB({ name: 'due', ...text }),
    parked: root.openDB({ name: 'parked', ...text }),
    deliveries: root.openDB({ name: 'deliveries', ...text }),
    backlog: root.openDB({ name: 'backlog', ...text }),
    attention: root.openDB({ name: 'attention', ...text }),
    listsItems: (root.openDB({ name: 'listed dead', ...text }) as Database | undefined) !== undefined,
    accounts: root.openDB({ name: 'accounts', ...text }),
    marks: root.openDB({ name: 'marks', ...text }),
    beats: root.openDB({ name: 'beats', encoding: 'json' }),
    lock: root.openDB({ name: 'lock', ...text }),
  };
}
