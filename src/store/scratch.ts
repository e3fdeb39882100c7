/** A table in a temporary folder, for work that is more than memory holds: nothing of it outlives `close`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { codeOf, OperatorError } from '../errors.ts';

type Key = [kind: string, account: string, ...rest: string[]];

interface Row {
  key: Key;
  value: string;
}

export class TemporaryTable {
  readonly #folder: string;
  readonly #table: ReturnType<typeof open<string, Key>>;

  constructor(folder: string) {
    this.#folder = folder;
    // What is lost with the machine is made again.
    this.#table = open<string, Key>({
      path: join(folder, 'scratch.lmdb'),
      noSubdir: true,
      noSync: true,
      encoding: 'string',
      // As for the embedded store (`lmdb/lmdb.ts`): the list of free pages is read anew in each transaction.
      ...({ maxFreeSpaceToRetain: 0 } as object),
    });
  }

  get(key: Key): string | null {
    return this.#table.get(key) ?? null;
  }

  put(rows: readonly Row[]): void {
    this.#table.transactionSync(() => {
      for (const { key, value } of rows) void this.#table.put(key, value);
    });
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
    await this.#table.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A new folder in the one for temporary files (TMPDIR). @throws OperatorError where none can be made */
export async function temporaryFolder(purpose: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `pixstate-${purpose}-`));
  } catch (error) {
    throw new OperatorError(
      `no folder for temporary files can be made in ${tmpdir()}: ${codeOf(error)}; is TMPDIR right?`,
    );
  }
}

/** A table of its own, in the folder for temporary files. @throws OperatorError where it can't be made */
export async function openTemporaryTable(): Promise<TemporaryTable> {
  return new TemporaryTable(await temporaryFolder('rebuild'));
}
