/**
 * One process at a time holds a data folder: a server, or a command that moves its accounts. What it holds is a lock of
 * the operating system on a file of the folder, and the file's text names it.
 *
 * 1. The lock ends with the last thread of its process, also where nobody waits for the process (a zombie holds
 *    nothing). While it is held, the process may write, frozen or not.
 * 2. The file stays for ever. Were it removed, one process could lock the file that is gone and another a new one.
 * 3. The text says something only while the file is locked: who died leaves its own behind, and a copy of the folder
 *    has it, too. After a clean end it is blank, where it could be written. It is always written over, never cut: on most
 *    file systems a full disk has room for that.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { tryLock } from 'fs-native-extensions';
import { codeOf, OperatorError } from '../../errors.ts';
import { pause } from '../../waiting.ts';
import { FolderHeld } from '../folder.ts';

/** The process that holds a folder. */
export interface Holder {
  /** Names this run of this process. */
  incarnation: string;
  pid: number;
  /** ISO 8601, UTC. */
  since: string;
}

/** A hold on a folder; the process's end ends it, too. */
export interface FolderLock {
  /** Ends the hold; a second call does nothing. */
  release(): void;
}

/**
 * How long a folder that is held is asked for: a holder writes its name just after it has the lock, and the threads of
 * a process that was killed are gone a moment after it.
 */
const PATIENCE_MS = 500;
const POLL_MS = 10;
const TEXT_BYTES = 256;

function fileIn(folder: string): string {
  return `${folder}/pixstate.server`;
}

async function isLocked(file: number): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!tryLock(file)) {
    if (performance.now() >= deadline) return false;
    await pause(POLL_MS);
  }
  return true;
}

function write(file: number, text: string): void {
  writeSync(file, `${text.padEnd(TEXT_BYTES - 1)}\n`, 0);
}

/** The holder in a file's text; null where it names none. */
function holderIn(text: string): Holder | null {
  try {
    const holder: Holder = JSON.parse(text.slice(0, TEXT_BYTES));
    return typeof holder.pid === 'number' && typeof holder.since === 'string' ? holder : null;
  } catch {
    return null;
  }
}

/** Once only: the number of a closed descriptor may be another file's by then. */
function releaseOnce(file: number): () => void {
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    try {
      write(file, '');
    } catch {
      // The text says nothing once the file is unlocked: a name that stays behind harms nobody.
    } finally {
      closeSync(file);
    }
  };
}

/**
 * Takes the folder, which must exist, for this process.
 * @throws FolderHeld after half a second where another process has it
 * @throws OperatorError where the folder can't be written to
 */
export async function lockFolder(folder: string, holder: Holder): Promise<FolderLock> {
  const path = fileIn(folder);
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDWR | constants.O_CREAT);
    if (!(await isLocked(file))) throw new FolderHeld(folder, holderIn(readFileSync(path, 'utf8')));
    write(file, JSON.stringify(holder));
  } catch (error) {
    if (file !== null) closeSync(file);
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the data folder ${folder} can't be held: ${codeOf(error)}`);
  }
  return { release: releaseOnce(file) };
}
