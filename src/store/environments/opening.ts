/**
 * What lmdb touches of the disk when it opens an environment is made sure of before: it maps the lock file, whose first
 * touch ends the whole process where the disk is full (SIGBUS), and a header that it can't write crashes it (lmdb-js
 * 3.5.6, `mdb_env_setup_locks`, `mdb_env_init_meta`). It crashes on a file that was cut short, and on
 * one that it may not open, too.
 */
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { codeOf } from '../../errors.ts';
import { cantOpen, expectWhole } from './whole.ts';

/** lmdb's own is smaller (8272 bytes on Linux, x64); a larger one has more places for readers. */
const LOCK_BYTES = 12_288;
/** The header, which is two pages, and the first tables. */
const NEW_BYTES = 65_536;

/** Whether it is there, and has its place on the disk. */
function isMade(lock: string): boolean {
  const stat = statSync(lock, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  // A process that died of its first touch left a hole; who uses the file has written to it.
  return stat.blocks > 0 || readFileSync(lock).some((byte) => byte !== 0);
}

function makeLock(lock: string, readOnly: boolean): void {
  if (isMade(lock)) return;
  try {
    writeFileSync(lock, Buffer.alloc(LOCK_BYTES));
  } catch (error) {
    // lmdb reads without a lock file where it may make none.
    if (readOnly && ['EACCES', 'EROFS'].includes(codeOf(error))) return;
    rmSync(lock, { force: true });
    throw error;
  }
}

/** lmdb takes no file that has zeros where its header should be: what is written has no name, and is gone once closed. */
function tryRoom(path: string): void {
  const name = `${path}-room`;
  const trial = openSync(name, 'w');
  try {
    rmSync(name);
    writeFileSync(trial, Buffer.alloc(NEW_BYTES));
  } finally {
    closeSync(trial);
  }
}

/**
 * A command that another user ran, root for one, may have left files of its own. Nothing is opened to find out: a lock
 * file that is closed ends all locks that this process has on it.
 */
function expectAllowed(path: string, readOnly: boolean): void {
  // lmdb reads without a lock file that it may not open.
  const names = readOnly ? [path] : [path, `${path}-lock`];
  for (const name of names)
    try {
      accessSync(name, readOnly ? constants.R_OK : constants.R_OK | constants.W_OK);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw cantOpen(name, error);
    }
}

/**
 * Makes sure that an environment can be opened.
 * @throws Error of the system where the disk has no room for that
 * @throws OperatorError where its files may not be opened, or aren't whole
 */
export function prepare(path: string, readOnly: boolean): void {
  expectAllowed(path, readOnly);
  expectWhole(path);
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (!readOnly && size === 0) tryRoom(path);
  makeLock(`${path}-lock`, readOnly);
}
