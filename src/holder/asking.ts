/** The side of those who don't hold the folder: they ask its holder. */
import { connect, type Socket } from 'node:net';
import { codeOf, OperatorError } from '../errors.ts';
import { folderId, type Holder } from '../store/folder-lock.ts';
import { MOST_TOLD, type Request, readMessages, send, type Told, toldIn } from './messages.ts';

/** A holder says who it is within this time. */
const GREETING_MS = 5_000;
/** A holder gives a sign of life every second. */
const SILENCE_MS = 15_000;

/** Nobody listens there: the holder has ended, or is about to listen. */
const NOBODY = new Set(['ECONNREFUSED', 'ENOENT', 'EAGAIN', 'ECONNRESET', 'EPIPE']);

/** The holder was lost while it worked for us, or may have. */
export class HolderLost extends Error {}

const OPEN = 'what was asked of it may be done or not';

export type Answer =
  | { kind: 'ended'; code: number; out: string[]; ifLost?: string }
  /** Nothing was done: the folder may be free, or somebody else's. */
  | { kind: 'again' };

/** A holder, in the words of a sentence. */
export function described(folder: string, { pid, since, what }: Holder): string {
  return `the data folder ${folder} is held by process ${pid} since ${since} (${what})`;
}

interface Asking {
  folder: string;
  holder: Holder;
  version: string;
}

/** How a conversation goes on after the greeting. */
interface Course<Result> {
  begin(socket: Socket): void;
  /** Undefined: the conversation goes on. What it throws ends it. */
  hear(message: Told): Result | undefined;
  /** What it means that the holder is gone, which may be an error. */
  lost(): Result;
  /** What it means that the holder, which was asked, is silent. */
  silent(says: string): Error;
}

/** One conversation with the holder. @throws OperatorError where it doesn't greet, or is of another version */
function converse<Result>(
  { folder, holder, version }: Asking,
  course: Course<Result>,
): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(holder.socket ?? '');
    let isGreeted = false;
    let isOver = false;
    let late: NodeJS.Timeout | undefined;
    let last: NodeJS.Immediate | undefined;
    const end = (settle: () => void): void => {
      isOver = true;
      clearTimeout(late);
      clearImmediate(last);
      socket.destroy();
      settle();
    };
    const patience = (ms: number): void => {
      clearTimeout(late);
      clearImmediate(last);
      const says = `${described(folder, holder)}, which has not answered for ${ms / 1000} s`;
      const giveUp = (): void => end(() => reject(isGreeted ? course.silent(says) : new OperatorError(says)));
      // Where this process was suspended meanwhile, the answer lies in the socket: it is read before.
      late = setTimeout(() => {
        last = setImmediate(giveUp);
      }, ms);
    };
    /** Null where it was nobody, or somebody else. */
    const onEnd = (): void => {
      end(() => {
        try {
          resolve(isGreeted ? course.lost() : null);
        } catch (error) {
          reject(error);
        }
      });
    };
    const onGreeting = (message: Told): void => {
      const isHolder =
        message.type === 'greeting' && message.folder === folderId(folder) && message.pid === holder.pid;
      // Whoever takes the folder listens where a dead holder did, before its own name is there.
      if (!isHolder) {
        end(() => resolve(null));
      } else if (message.version !== version) {
        end(() => reject(otherVersion(folder, holder, message.version, version)));
      } else {
        isGreeted = true;
        course.begin(socket);
      }
    };
    const onMessage = (told: unknown): void => {
      if (isOver) return;
      const message = toldIn(told);
      if (message === null) {
        onEnd();
        return;
      }
      patience(SILENCE_MS);
      if (!isGreeted) {
        onGreeting(message);
        return;
      }
      try {
        const result = course.hear(message);
        if (result !== undefined) end(() => resolve(result));
      } catch (error) {
        end(() => reject(error));
      }
    };
    patience(GREETING_MS);
    socket.on('error', (error) => {
      if (NOBODY.has(codeOf(error))) return onEnd();
      const why = `${described(folder, holder)}, but its socket can't be used: ${codeOf(error)}`;
      end(() => reject(new OperatorError(why)));
    });
    socket.on('close', onEnd);
    readMessages(socket, { most: MOST_TOLD, onMessage, onNonsense: onEnd });
  });
}

/** A holder of another version runs other code: nothing is asked of it. */
export function otherVersion(
  folder: string,
  holder: Holder,
  theirs: string | null,
  ours: string,
): OperatorError {
  const version = theirs === null ? 'of an older version' : `of version ${theirs}`;
  return new OperatorError(`${described(folder, holder)} ${version}, and this command is of version ${ours}`);
}

/**
 * Asks the holder to run a command. What it writes to stderr is handed over as it comes, its stdout at the end.
 * @throws HolderLost where it ended in the middle, or was silent once it was asked
 * @throws OperatorError where it doesn't greet, is of another version, or does nothing for others
 */
export async function askToRun(
  asking: Asking,
  request: Request,
  onErr: (text: string) => void,
): Promise<Answer> {
  const { folder, holder, version } = asking;
  const out: string[] = [];
  let ifLost: string | undefined;
  let isBegun = false;
  const answer = await converse<Answer>(asking, {
    begin: (socket) => void send(socket, { type: 'run', version, ...request }),
    hear: (message) => {
      switch (message.type) {
        case 'begun':
          isBegun = true;
          return undefined;
        case 'out':
          out.push(message.text);
          return undefined;
        case 'err':
          onErr(message.text);
          return undefined;
        case 'ifLost':
          ifLost = message.text;
          return undefined;
        case 'end':
          return { kind: 'ended', code: message.code, out, ...(ifLost !== undefined && { ifLost }) };
        case 'again':
          return { kind: 'again' };
        case 'busy':
          throw new OperatorError(`${described(folder, holder)}: nothing else is done in it meanwhile`);
        default:
          return undefined;
      }
    },
    lost: () => {
      if (!isBegun) return { kind: 'again' };
      throw new HolderLost(`${described(folder, holder)}, which has ended in the middle: ${OPEN}`);
    },
    silent: (says) => new HolderLost(`${says}: ${OPEN}`),
  });
  return answer ?? { kind: 'again' };
}

/**
 * Asks a command that holds the folder to give way; null where it does, or is gone, else the work that it must not be
 * cut off from.
 * @throws OperatorError where it doesn't answer, or is of another version
 */
export async function askForWay(folder: string, holder: Holder, version: string): Promise<string | null> {
  const way = await converse<{ busy: string | null }>(
    { folder, holder, version },
    {
      begin: (socket) => void send(socket, { type: 'giveWay', version }),
      hear: (message) => {
        if (message.type === 'busy') return { busy: message.what };
        return message.type === 'way' ? { busy: null } : undefined;
      },
      lost: () => ({ busy: null }),
      // That the folder is given away is no work that may be done or not.
      silent: (says) => new OperatorError(says),
    },
  );
  return way?.busy ?? null;
}
