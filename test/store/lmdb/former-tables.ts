/** Tables of a former build's store, to write to: what it knew of who had the folder. */
import { type Database, open, type RootDatabase } from 'lmdb';

export interface FormerTables {
  root: RootDatabase;
  lock: Database<string, string>;
  beats: Database<number, string>;
}

export function openFormerTables(folder: string): FormerTables {
  const path = `${folder}/pixstate.lmdb`;
  const root = open({ path, noSubdir: true, maxDbs: 64, overlappingSync: false });
  return {
    root,
    lock: root.openDB({ name: 'lock', encoding: 'string' }),
    beats: root.openDB({ name: 'beats', encoding: 'json' }),
  };
}
