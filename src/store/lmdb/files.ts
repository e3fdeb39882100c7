/** The embedded store's files in a data folder, as they are known without LMDB: commands that ask a server need none. */
import { statSync } from 'node:fs';
import { codeOf, OperatorError } from '../../errors.ts';
import { expectWhole } from '../environments/whole.ts';

/** A file with an environment's tables is never smaller, with pages of 4096 bytes. */
const WHOLE_BYTES = 12_288;
/** Former builds had more tables. */
const FORMER_WHOLE_BYTES = 16_384;

/** The size of an environment's file; null where there is none. lmdb crashes on one whose maker died before it was whole. */
export function sizeOf(path: string): number | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size >= WHOLE_BYTES ? stat.size : null;
}

export function logIn(folder: string): string {
  return `${folder}/pixstate.log`;
}

/** Whether there is a log in a folder. */
export function hasLog(folder: string): boolean {
  return sizeOf(logIn(folder)) !== null;
}

export function projectionsIn(folder: string): string {
  return `${folder}/pixstate.projections`;
}

/** Where former builds had everything, in one environment. */
export function formerIn(folder: string): string {
  return `${folder}/pixstate.lmdb`;
}

/** The size of a former build's store in a folder, in bytes; null where there is none. */
export function formerSize(folder: string): number | null {
  const size = sizeOf(formerIn(folder));
  return size !== null && size >= FORMER_WHOLE_BYTES ? size : null;
}

/** Whether the folder holds a former build's store that has not been taken over. */
export function isFormer(folder: string): boolean {
  return formerSize(folder) !== null && !hasLog(folder);
}

/**
 * A first start makes the log before the projections, and whole: where these are there without it, a log was lost, and a
 * new store in its place would replace them, too.
 */
function expectStore(folder: string, mayBegin: boolean): void {
  // In this order, since another process may be about to make both.
  const hasProjections = sizeOf(projectionsIn(folder)) !== null;
  if (hasLog(folder) || isFormer(folder)) return;
  expectWhole(logIn(folder));
  if (hasProjections)
    throw new OperatorError(
      `${logIn(folder)} is gone or empty, and ${projectionsIn(folder)}, which was made from it, is there: put the log back, from a copy; a new store begins in an empty folder`,
    );
  // A mistyped name must not make one.
  if (!mayBegin) throw new OperatorError(`there is no store in ${folder}: is DATA_DIR right?`);
}

/**
 * Expects a store in a folder, or at least, where a process may begin one, that none was lost there.
 * @throws OperatorError
 */
export function expectFiles(folder: string, mayBegin: boolean): void {
  try {
    expectStore(folder, mayBegin);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the store in ${folder} can't be opened: ${codeOf(error)}`);
  }
}
