/**
 * Answers a connection's requests one after the other. A client may send thousands before it reads an answer: node hands
 * all of them over at once, and what was answered is kept until it is read.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** So many requests wait behind others of their connections, of all of these: the connection of one more is cut off. */
const MOST_WAITING = 32_768;

interface Line {
  /** The answers that aren't sent yet, in order, behind some that are: the first one's request is being carried out. */
  answers: ServerResponse[];
  waiting: { req: IncomingMessage; res: ServerResponse }[];
}

export class Pipelines {
  readonly #carryOut: RequestListener;
  readonly #lines = new WeakMap<Duplex, Line>();
  #waiting = 0;

  constructor(carryOut: RequestListener) {
    this.#carryOut = carryOut;
  }

  /** A connection's answers that aren't sent yet, in order, behind some that are. */
  answers(socket: Duplex): readonly ServerResponse[] {
    return this.#lines.get(socket)?.answers ?? [];
  }

  /** Carries a request out, once what came before it on its connection is answered. */
  take(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    // All has been said on it, and nobody would hear what becomes of this one.
    if (socket.writableEnded) return;
    const line = this.#lineOf(socket);
    const { answers } = line;
    leaveSent(answers);
    answers.push(res);
    if (answers.length === 1) this.#carryOut(req, res);
    else if (this.#waiting === MOST_WAITING) socket.destroy();
    else this.#wait(socket, line, req, res);
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { answers: [], waiting: [] };
    this.#lines.set(socket, line);
    return line;
  }

  #wait(socket: Socket, line: Line, req: IncomingMessage, res: ServerResponse): void {
    line.waiting.push({ req, res });
    this.#waiting += 1;
    if (line.waiting.length > 1) return;
    this.#follow(line.answers[0], socket, line);
    // What was read with it is parsed first: node reads on behind each request of that.
    process.nextTick(() => {
      if (line.waiting.length > 0) socket.pause();
    });
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
    if (line.waiting.length === 0) socket.resume();
    else this.#follow(next.res, socket, line);
    this.#carryOut(next.req, next.res);
  }
}

/** Takes those out that are sent. */
function leaveSent(answers: ServerResponse[]): void {
  while (answers[0]?.writableFinished === true) answers.shift();
}
