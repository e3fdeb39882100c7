/**
 * Answers a connection's requests one after the other. A client may send thousands before it reads an answer: node hands
 * all of them over that it has read, and what was answered is kept until it is read.
 *
 * 1. While a request waits behind another, nothing more is read of its connection.
 * 2. Nothing is carried out that can't be answered any more.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** So many requests wait behind others of their connections, of all of these: the connection of one more is cut off. */
const MOST_WAITING = 32_768;

interface Request {
  req: IncomingMessage;
  res: ServerResponse;
  carryOut: RequestListener;
}

interface Line {
  /** The answers that aren't sent yet, in order, behind some that are: the first one's request is being carried out. */
  answers: ServerResponse[];
  waiting: Request[];
  /** How many requests have come, the last one whole or not. */
  taken: number;
  last: IncomingMessage | null;
  /** Is done once nothing waits. */
  behind: (() => void) | null;
}

export class Pipelines {
  readonly #lines = new WeakMap<Duplex, Line>();
  #waiting = 0;

  /** A connection's answers that aren't sent yet, in order, behind some that are. */
  answers(socket: Duplex): readonly ServerResponse[] {
    return this.#lines.get(socket)?.answers ?? [];
  }

  /** Carries a request out, once what came before it on its connection is answered. */
  take(req: IncomingMessage, res: ServerResponse, carryOut: RequestListener): void {
    const { socket } = req;
    // All has been said on it, and nobody would hear what becomes of this one.
    if (socket.writableEnded) return;
    const line = this.#lineOf(socket);
    const { answers } = line;
    line.taken += 1;
    line.last = req;
    leaveSent(answers);
    answers.push(res);
    if (answers.length === 1) carryOut(req, res);
    else if (this.#waiting === MOST_WAITING) socket.destroy();
    else this.#wait(socket, line, { req, res, carryOut });
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { answers: [], waiting: [], taken: 0, last: null, behind: null };
    this.#lines.set(socket, line);
    // Node reads on by itself behind each request, for each body, and once answers have left.
    socket.on('resume', () => {
      if (line.waiting.length > 0) socket.pause();
    });
    return line;
  }

  #wait(socket: Socket, line: Line, request: Request): void {
    line.waiting.push(request);
    this.#waiting += 1;
    if (line.waiting.length > 1) return;
    this.#follow(line.answers[0], socket, line);
    socket.pause();
  }

  /** Goes on behind an answer once others have had their turn: many are written at once, without an end. */
  #follow(answer: ServerResponse | undefined, socket: Socket, line: Line): void {
    answer?.once('close', () => setImmediate(() => this.#next(socket, line)));
  }

  /** Carries out what waits longest, as long as somebody is there to be answered. */
  #next(socket: Socket, line: Line): void {
    // At a shutdown all of them are answered before their turn.
    const isOver = socket.destroyed || socket.writableEnded || line.waiting[0]?.res.writableEnded === true;
    const [next] = isOver ? [] : line.waiting.splice(0, 1);
    this.#waiting -= next === undefined ? line.waiting.length : 1;
    if (next === undefined) {
      line.waiting = [];
      return;
    }
    leaveSent(line.answers);
    if (line.waiting.length > 0) this.#follow(next.res, socket, line);
    else {
      socket.resume();
      line.behind?.();
      line.behind = null;
    }
    next.carryOut(next.req, next.res);
  }

  /**
   * Gives what has begun to come on a connection, and isn't read since others wait there, its time once they don't:
   * `onLate` is called where the rest of it isn't there by then. False where nobody waits: it had its time.
   */
  givesTime(socket: Duplex, timeMs: number, onLate: () => void): boolean {
    const line = this.#lines.get(socket);
    if (line === undefined || line.waiting.length === 0) return false;
    const wholeBefore = whole(line);
    line.behind = () => {
      setTimeout(() => {
        if (!socket.destroyed && whole(line) === wholeBefore) onLate();
      }, timeMs).unref();
    };
    return true;
  }
}

/** How many requests have come whole. */
function whole({ taken, last }: Line): number {
  return last?.complete === false ? taken - 1 : taken;
}

/** Takes those out that are sent. */
function leaveSent(answers: ServerResponse[]): void {
  while (answers[0]?.writableFinished === true) answers.shift();
}
