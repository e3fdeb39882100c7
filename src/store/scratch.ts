/** A table in a temporary folder, for work that is more than memory holds: nothing of it outlives `close`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { codeOf, OperatorError } from '../errors.ts';
import { openToWrite } from './environments/lmdb.ts';
import { type Room, roomFor, roomForChanges } from './environments/room.ts';

type Key = [kind: string, account: string, ...rest: string[]];

interface Row {
  key: Key;
  value: string;
}

export class TemporaryTable {
  readonly #folder: string;
  readonly #root: RootDatabase;
  readonly #room: Room;
  readonly #table: Database<string, Key>;

  constructor(folder: string) {
    this.#folder = folder;
    // What is lost with the machine is made again.
    const file = { path: join(folder, 'scratch.lmdb'), noSync: true, maxDbs: 1 };
    const { root, tables, room } = openToWrite(file, (environment) =>
      environment.openDB<string, Key>({ name: 'rows', encoding: 'string' }),
    );
    this.#root = root;
    this.#room = room;
    this.#table = tables;
  }

  get(key: Key): string | null {
    return this.#table.get(key) ?? null;
  }

  /** @throws OperatorError where there is no space for them */
  put(rows: readonly Row[]): void {
    const room = this.#room;
    const bytes = rows.map(({ key, value }) => roomFor(value) + key.join().length);
    try {
      room.take(roomForChanges(bytes, room.used));
    } catch (error) {
      throw temporaryFailure(error);
    }
    this.#table.transactionSync(() => {
      for (const { key, value } of rows) void this.#table.put(key, value);
    });
    room.writtenUpTo(room.taken);
  }

  /** Rows whose keys begin with these parts, in order: those behind `after`. */
  page(kind: string, account: string, after: Key | null, limit: number): Row[] {
    const rows: Row[] = [];
    const last = after === null ? '' : JSON.stringify(after);
    for (const { key, value } of this.#table.getRange({ start: after ?? [kind, account] })) {
      if (key[0] !== kind || key[1] !== account || rows.length === limit) break;
      if (JSON.stringify(key) !== last) rows.push({ key, value });
    }
    return rows;
  }

  async close(): Promise<void> {
    await this.#root.close();
    this.#room.close();
    await removeTemporary(this.#folder);
  }
}

/** What failed in the folder for temporary files, as ops are told where the system said why. */
export function temporaryFailure(error: unknown): unknown {
  const code = codeOf(error);
  if ((error as NodeJS.ErrnoException).syscall === undefined) return error;
  return new OperatorError(
    `no temporary files can be written in ${tmpdir()}: ${code}; is there space on that disk?`,
  );
}

/** Temporary folders that are there, in this thread's hands. */
const ours = new Set<string>();

/** What ends a process may come amid anything: a store that can't write, for one. */
function removeAll(): void {
  for (const folder of ours) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another thread may still write in it: nobody can be told any more.
    }
  }
}

/**
 * A new folder in the one for temporary files (TMPDIR), which is gone by the end of this thread, or of the process where
 * this is its main one. @throws OperatorError where none can be made
 */
export function temporaryFolder(purpose: string): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), `pixstate-${purpose}-`));
    if (ours.size === 0) process.on('exit', removeAll);
    ours.add(folder);
    return folder;
  } catch (error) {
    throw new OperatorError(
      `no folder for temporary files can be made in ${tmpdir()}: ${codeOf(error)}; is TMPDIR right?`,
    );
  }
}

/** Removes a temporary folder with all that is in it. */
export async function removeTemporary(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  ours.delete(folder);
  if (ours.size === 0) process.off('exit', removeAll);
}

/**
 * A table of its own, in a temporary folder, which goes with it: a new one where none is given.
 * @throws OperatorError where it can't be made there
 */
export async function openTemporaryTable(given?: string): Promise<TemporaryTable> {
  const folder = given ?? temporaryFolder('rebuild');
  try {
    return new TemporaryTable(folder);
  } catch (error) {
    await removeTemporary(folder);
    throw temporaryFailure(error);
  }
}
