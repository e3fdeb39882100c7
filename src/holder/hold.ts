/**
 * The hold of this process on a data folder: the lock, the socket on which it answers, and what goes on in the folder
 * meanwhile. `pixstate.server` names the holder and the socket.
 */
import { codeOf } from '../errors.ts';
import { FolderHeld } from '../store/folder.ts';
import { CannotHold, type FolderLock, type Holder, holderOf, tryLockFolder } from '../store/folder-lock.ts';
import { pause } from '../waiting.ts';
import { Answering, type Run } from './answering.ts';
import { askForWay } from './asking.ts';
import { listenIn, removeSocket } from './place.ts';
import { Works } from './works.ts';

/** Those who are still told something when the hold ends have this long to take it. */
const LAST_WORDS_MS = 2_000;
/** A server that is killed is gone a moment after. */
const SERVER_PATIENCE_MS = 500;
/** A holder writes its name just after it has the lock. */
const NAMELESS_PATIENCE_MS = 1_500;
/** How long a command that writes is waited for. */
const WRITER_PATIENCE_MS = 5_000;
/** How long it is waited for commands that come one after the other. */
const PATIENCE_MS = 20_000;
const POLL_MS = 10;
const ASK_AGAIN_MS = 250;

/** This process, as the folder's lock names it. */
export type Self = Pick<Holder, 'incarnation' | 'pid' | 'since' | 'what'> & { version: string };

/** A folder that this process holds. */
export class FolderHold {
  readonly works: Works;
  readonly #lock: FolderLock;
  readonly #answering: Answering;
  readonly #socket: string;

  private constructor(works: Works, lock: FolderLock, answering: Answering, socket: string) {
    this.works = works;
    this.#lock = lock;
    this.#answering = answering;
    this.#socket = socket;
  }

  /**
   * Takes the folder, and answers from now on; null where another process has it. What is asked waits for `run`.
   * @throws CannotHold where it can't be written to
   */
  static async take(folder: string, self: Self, run: Promise<Run>): Promise<FolderHold | null> {
    const former = holderOf(folder);
    const lock = tryLockFolder(folder);
    if (lock === null) return null;
    const { version, pid } = self;
    const works = new Works();
    const answering = new Answering({
      ...{ version, pid, folder: lock.id, givesWay: !isServer(self), works },
      run: async (call) => (await run)(call),
    });
    let hold: FolderHold;
    try {
      const socket = await listenIn(folder, former?.socket ?? null, answering.server);
      hold = new FolderHold(works, lock, answering, socket);
    } catch (error) {
      lock.release();
      throw error;
    }
    try {
      lock.name({ ...self, socket: hold.#socket });
      return hold;
    } catch (error) {
      await hold.release();
      throw new CannotHold(folder, codeOf(error));
    }
  }

  /** Ends the hold; the store must be closed. */
  async release(): Promise<void> {
    await this.#answering.close(LAST_WORDS_MS);
    // Node takes a socket away that it listened on, but not the folder that was made for it.
    removeSocket(this.#socket);
    this.#lock.release();
  }
}

/** How long a holder has been seen: who comes after another one is waited for anew. */
export class Sighting {
  #incarnation: string | null = null;
  #since = performance.now();

  /** Ms since this holder was first seen. */
  of(holder: Holder | null): number {
    const { incarnation = '' } = holder ?? {};
    if (incarnation !== this.#incarnation) {
      this.#incarnation = incarnation;
      this.#since = performance.now();
    }
    return performance.now() - this.#since;
  }
}

function patienceWith(holder: Holder | null): number {
  if (holder === null) return NAMELESS_PATIENCE_MS;
  return isCommand(holder) ? WRITER_PATIENCE_MS : SERVER_PATIENCE_MS;
}

function isServer({ what }: Pick<Holder, 'what'>): boolean {
  return what === 'serve';
}

/** Who doesn't answer is a server, of a former build. */
function isCommand(holder: Holder): boolean {
  return holder.socket !== null && !isServer(holder);
}

/**
 * Takes the folder for a server, or for what moves its accounts: commands give way to it, at once where they only
 * read, or are waited for.
 * @throws FolderHeld where a server has it, or a command that doesn't give way
 * @throws OperatorError where it can't be held
 */
export async function takeWithPrecedence(folder: string, self: Self, run: Promise<Run>): Promise<FolderHold> {
  const startedAt = performance.now();
  const sighting = new Sighting();
  for (let askAt = startedAt; ; ) {
    const hold = await FolderHold.take(folder, self, run);
    if (hold !== null) return hold;
    const holder = holderOf(folder);
    const isOver = performance.now() - startedAt >= PATIENCE_MS;
    if (isOver || sighting.of(holder) >= patienceWith(holder)) throw new FolderHeld(folder, holder);
    if (holder !== null && isCommand(holder) && performance.now() >= askAt) {
      const what = await askForWay(folder, holder, self.version);
      if (what !== null) throw new FolderHeld(folder, { ...holder, what });
      askAt = performance.now() + ASK_AGAIN_MS;
    }
    await pause(POLL_MS);
  }
}
