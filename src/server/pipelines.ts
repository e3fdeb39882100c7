/**
 * Answers a connection's requests one after the other. A client may send thousands before it reads an answer: node hands
 * all of them over that it has read, and what was answered is kept until it is read.
 *
 * 1. While a request waits behind another, nothing more is read of its connection.
 * 2. Nothing is carried out that can't be answered any more.
 * 3. The last word on a connection is said once, behind the answers of what came whole; nothing behind it is carried out.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sayLast } from './last-word.ts';

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
  /** Is done once nothing waits. */
  behind: (() => void) | null;
  /** Its last word is said, or will be. */
  isOver: boolean;
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
    // What comes with it would be in another protocol: node's parser leaves it out, and takes what comes then for a request.
    if (req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    leaveSent(answers);
    answers.push(res);
    if (answers.length === 1) carryOut(req, res);
    else if (this.#waiting === MOST_WAITING) socket.destroy();
    else this.#wait(socket, line, { req, res, carryOut });
  }

  #lineOf(socket: Duplex): Line {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { answers: [], waiting: [], taken: 0, behind: null, isOver: false };
    this.#lines.set(socket, line);
    // Node reads on by itself behind each request, for each body, and once answers have left.
    socket.on('resume', () => {
      if ((line.waiting.length > 0 || line.isOver) && !socket.writableFinished) socket.pause();
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
   * Says the last on a connection, once what came whole is answered: what is said outside of answers would be taken for
   * one of these. Of all that would end a connection the first counts, and nothing more is read behind it.
   */
  end(socket: Duplex, text: string): void {
    const line = this.#lineOf(socket);
    if (line.isOver) return;
    readNoMore(socket, line);
    const whole = line.answers.findLast(({ req, writableFinished }) => req.complete && !writableFinished);
    const say = (): void => this.endNow(socket, isLastAnswered(line) ? '' : text);
    if (whole === undefined) say();
    else whole.once('finish', say);
  }

  /** Ends a connection behind what is written on it, whatever waits there. */
  endNow(socket: Duplex, text = ''): void {
    // An answer can be the last word itself.
    if (socket.writableEnded) return;
    readNoMore(socket, this.#lineOf(socket));
    sayLast(socket, text);
  }

  /**
   * Ends so a connection whose request takes too long to come. What isn't read, since others wait there, has its time
   * once they don't, and ends it where the rest of it isn't there by then.
   */
  endLate(socket: Duplex, timeMs: number, text: string): void {
    const line = this.#lineOf(socket);
    if (line.waiting.length === 0) {
      this.end(socket, text);
      return;
    }
    const before = countWhole(line);
    line.behind = () => {
      setTimeout(() => {
        if (!socket.destroyed && countWhole(line) === before) this.end(socket, text);
      }, timeMs).unref();
    };
  }
}

function readNoMore(socket: Duplex, line: Line): void {
  line.isOver = true;
  // Node may be about to read on: it would do so all the same, were it paused before.
  process.nextTick(() => socket.pause());
}

/** Whether a request was answered before all of it had come: another answer would be its second. */
function isLastAnswered({ answers }: Line): boolean {
  const last = answers.at(-1);
  return last?.writableEnded === true && !last.req.complete;
}

/** How many requests have come whole. */
function countWhole({ taken, answers }: Line): number {
  return answers.at(-1)?.req.complete === false ? taken - 1 : taken;
}

/** Takes those out that are sent. */
function leaveSent(answers: ServerResponse[]): void {
  while (answers[0]?.writableFinished === true) answers.shift();
}
