/**
 * Room in a file of lmdb's, taken before lmdb writes there: a full disk fails us here, in the open, and not lmdb.
 *
 * lmdb-js (3.5.6, `mdb_page_flush`) tells of a page that could not be written in a buffer too small for its words, and
 * the process may abort of that later.
 */
import { closeSync, fstatSync, openSync, readFileSync, statfsSync, writeSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';

const PAGE = 4096;
/** What a row takes beside its value. */
const ROW_BYTES = 64;
/** With so much free, nothing is written ahead; the disk is looked at again after `LOOK` bytes. */
const PLENTY = 67_108_864;
const LOOK = 4_194_304;
/** The file grows by so much more than it must, where the disk has it. */
const AHEAD = 16_384;
/** The tables of an environment are made in less: those of the projections, most by far, in eight pages, and a row. */
const TABLES_BYTES = 49_152;
const ZEROS = Buffer.alloc(65_536);

/** What a row takes where pages are filled up; one of more than half a page has pages of its own. */
export function roomFor(text: string): number {
  const bytes = Buffer.byteLength(text) + ROW_BYTES;
  const inAPage = Math.floor(PAGE / bytes);
  return inAPage > 1 ? Math.ceil(PAGE / inAPage) : Math.ceil(bytes / PAGE) * PAGE + ROW_BYTES;
}

/** Pages on the way down to a row. */
const DEPTH = 6;
/** What a change of tables takes beside rows: the list of free pages, for one. */
const CHANGE_BYTES = 65_536;

/**
 * What it takes to put rows anywhere in a table, by what `roomFor` says of each: pages that are changed, of those in use,
 * are written to new places, and full ones are halved.
 */
export function roomForChanges(rows: readonly number[], used: number): number {
  const copied = Math.min(used, rows.length * DEPTH * PAGE);
  return rows.reduce((sum, bytes) => sum + 2 * bytes, CHANGE_BYTES + copied);
}

/** Whether the process's files may grow as they like; the disk's end is looked for where the system doesn't tell. */
function mayGrow(): boolean {
  try {
    return /^Max file size +unlimited/m.test(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return true;
  }
}

/** Whether the disk that a file or folder lies on has so much free that nothing need be written ahead. */
export function hasPlenty(path: string): boolean {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > PLENTY;
}

export class Room {
  readonly #root: RootDatabase;
  readonly #path: string;
  readonly #file: number;
  readonly #mayGrow = mayGrow();
  /** All that was ever taken, and how much of it has been written. */
  #taken = 0;
  #written = 0;
  /** `#taken` may come to this before one has to look. */
  #known = 0;

  constructor(root: RootDatabase, path: string) {
    this.#root = root;
    this.#path = path;
    // What is appended never lies where lmdb has written, whatever it writes meanwhile.
    this.#file = openSync(path, 'a');
  }

  /** How much was taken until now. */
  get taken(): number {
    return this.#taken;
  }

  /** Bytes that are in use. */
  get used(): number {
    const { env } = this.#root as unknown as { env: { info(): { lastPageNumber: number } } };
    return (env.info().lastPageNumber + 1) * PAGE;
  }

  /**
   * Takes room for a write to come.
   * @throws Error of the system where the disk has none, or the file may not grow
   */
  take(bytes: number): void {
    if (this.#taken + bytes > this.#known) this.#look(this.#taken + bytes);
    this.#taken += bytes;
  }

  /** Has tables be made, or opened, with room for them. @throws as `take` */
  forTables<Tables>(make: () => Tables): Tables {
    this.take(Math.max(0, TABLES_BYTES - this.used));
    const made = make();
    this.writtenUpTo(this.#taken);
    return made;
  }

  /** What was taken up to here has been written. */
  writtenUpTo(taken: number): void {
    this.#written = Math.max(this.#written, taken);
  }

  #look(wanted: number): void {
    if (this.#mayGrow && hasPlenty(this.#path)) {
      this.#known = wanted + LOOK;
      return;
    }
    // Near the end it is made sure of: what is in the file has its place on the disk.
    const { used } = this;
    const covered = (): number => fstatSync(this.#file).size - used + this.#written;
    const lacking = wanted - covered();
    if (lacking > 0) {
      try {
        this.#extend(lacking + AHEAD);
      } catch (error) {
        if (wanted > covered()) throw error;
      }
    }
    this.#known = covered();
  }

  #extend(bytes: number): void {
    for (let left = bytes; left > 0; ) left -= writeSync(this.#file, ZEROS, 0, Math.min(left, ZEROS.length));
  }

  close(): void {
    closeSync(this.#file);
  }
}
