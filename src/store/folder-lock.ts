/**
 * One process at a time holds a data folder: a server, or a command that works without one. What it holds is a lock of
 * the operating system on a file of the folder, and the file's text names it.
 *
 * 1. The lock ends with the last thread of its process, also where nobody waits for the process (a zombie holds
 *    nothing). While it is held, the process may write, frozen or not.
 * 2. The file stays for ever. Were it removed, one process could lock the file that is gone and another a new one.
 * 3. The text says something only while the file is locked: who died leaves its own behind, and a copy of the folder
 *    has it, too. After a clean end it is blank, where it could be written. It is always written over, never cut: on most
 *    file systems a full disk has room for that.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { tryLock } from 'fs-native-extensions';
import { codeOf, OperatorError } from '../errors.ts';

/** The process that holds a folder, as the lock's file names it. */
export interface Holder {
  /** Names this run of this process. */
  incarnation: string;
  pid: number;
  /** ISO 8601, UTC. */
  since: string;
  /** The package's version; null in the text of a former build. */
  version: string | null;
  /** `serve`, or the command's name. */
  what: string;
  /** Where the holder answers; null where it doesn't, as holders of former builds. */
  socket: string | null;
}

/** A hold on a folder; the process's end ends it, too. */
export interface FolderLock {
  /** The folder as all processes that see it know it, wherever it is mounted; a copy is another one. */
  id: string;
  /** Writes down who holds the folder. */
  name(holder: Holder): void;
  /** Ends the hold; a second call does nothing. */
  release(): void;
}

/** The folder can be held by nobody who may do no more than this process: its lock, or its socket, can't be made. */
export class CannotHold extends OperatorError {
  constructor(folder: string, why: string) {
    super(`the data folder ${folder} can't be held: ${why}`);
  }
}

const TEXT_BYTES = 512;

function fileIn(folder: string): string {
  return `${folder}/pixstate.server`;
}

function write(file: number, text: string): void {
  const bytes = Buffer.alloc(TEXT_BYTES, ' ');
  bytes.write(text);
  bytes.write('\n', TEXT_BYTES - 1);
  writeSync(file, bytes, 0, TEXT_BYTES, 0);
}

/** The holder in a file's text; null where it names none. */
function holderIn(bytes: Buffer): Holder | null {
  try {
    const holder: Partial<Holder> = JSON.parse(bytes.toString('utf8', 0, TEXT_BYTES));
    const { incarnation = '', pid, since, version = null, what = 'serve', socket = null } = holder;
    if (typeof pid !== 'number' || typeof since !== 'string') return null;
    return { incarnation, pid, since, version, what, socket };
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
 * Takes the folder, which must exist, for this process; null where another one has it.
 * @throws CannotHold where the folder can't be written to
 */
export function tryLockFolder(folder: string): FolderLock | null {
  let file: number | null = null;
  try {
    file = openSync(fileIn(folder), constants.O_RDWR | constants.O_CREAT);
    if (tryLock(file)) {
      const held = file;
      const { dev, ino } = fstatSync(held);
      return {
        id: `${dev}:${ino}`,
        name: (holder) => write(held, JSON.stringify(holder)),
        release: releaseOnce(held),
      };
    }
    closeSync(file);
    return null;
  } catch (error) {
    if (file !== null) closeSync(file);
    throw new CannotHold(folder, codeOf(error));
  }
}

/**
 * What one sees of the hold who can't take it: a text that is another one as soon as somebody has taken the folder since,
 * or null where it is held.
 * @throws CannotHold where even that can't be seen
 */
export function sightOf(folder: string): string | null {
  let file: number | null = null;
  try {
    file = openSync(fileIn(folder), constants.O_RDONLY);
    const { ino, mtimeNs } = fstatSync(file, { bigint: true });
    return tryLock(file, { shared: true }) ? `${ino} ${mtimeNs}` : null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'nobody ever held it';
    throw new CannotHold(folder, codeOf(error));
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Who holds a folder that is held; null where its file doesn't tell, or not yet. */
export function holderOf(folder: string): Holder | null {
  try {
    return holderIn(readFileSync(fileIn(folder)));
  } catch {
    return null;
  }
}

/** The folder's `id`, for those who don't hold it; null where nobody ever did. */
export function folderId(folder: string): string | null {
  const stat = statSync(fileIn(folder), { throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`;
}
