/**
 * The side of a data folder's holder: whoever connects is told who answers, and asks once.
 *
 * 1. Nothing that an asker sends, or doesn't send, harms the holder: a message is bounded, and what is none ends the
 *    connection.
 * 2. No asker holds anything up: who doesn't take its output for a while is left.
 * 3. An asker that has gone stops what it asked to read; what writes comes to its end.
 * 4. A server gives way to nobody: who asks that of it has read a dead command's name, and looks again.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Asked, askedIn, MOST_ASKED, type Request, readMessages, send, type Told } from './messages.ts';
import { Busy, GivenWay, type Works } from './works.ts';

const BEAT_MS = 1_000;
/** Who connects asks within this time. */
const ASK_MS = 10_000;
/** Who takes none of its output for so long is left. */
const STALLED_MS = 30_000;
/** So much output may wait for an asker, in bytes. */
const MOST_WAITING = 256 * 1024;
const PIECE = 64 * 1024;
/** A character behind this one takes two units of a string. */
const LAST_OF_ONE_UNIT = 0xffff;
const MOST_ASKERS = 1_000;

/** A command that somebody asked for. */
export interface Call extends Request {
  /** `ifLost`: what to do where the asker can't show it, which is shown once. */
  out(text: string, ifLost?: string): void;
  err(text: string): void;
  /** Aborted once the asker has gone. */
  gone: AbortSignal;
}

/** Runs a command; its exit code. @throws GivenWay where nothing was done, Busy where nothing will be */
export type Run = (call: Call) => Promise<number>;

/** Who answers. */
export interface Answerer {
  version: string;
  pid: number;
  /** The folder's id. */
  folder: string;
  givesWay: boolean;
  works: Works;
  run: Run;
}

/** A text as messages may hold it: each piece is written by itself, so that none ends within a character. */
function* pieces(text: string): Iterable<string> {
  for (let from = 0; from < text.length; ) {
    const end = from + PIECE;
    const isWithin = (text.codePointAt(end - 1) ?? 0) > LAST_OF_ONE_UNIT;
    const to = isWithin ? end - 1 : end;
    yield text.slice(from, to);
    from = to;
  }
}

class Asker {
  readonly #socket: Socket;
  readonly #answerer: Answerer;
  readonly #gone = new AbortController();
  readonly #out: string[] = [];
  #isAsked = false;

  constructor(socket: Socket, answerer: Answerer) {
    this.#socket = socket;
    this.#answerer = answerer;
    // What is wrong with a connection ends it, and its end says enough.
    socket.on('error', () => {});
    socket.once('close', () => this.#gone.abort());
    const { version, pid, folder } = answerer;
    this.#tell({ type: 'greeting', version, pid, folder });
    const late = setTimeout(() => socket.destroy(), ASK_MS);
    socket.once('close', () => clearTimeout(late));
    const onMessage = (message: unknown): void => {
      const asked = askedIn(message);
      if (this.#isAsked || asked === null || asked.version !== version) {
        socket.destroy();
        return;
      }
      this.#isAsked = true;
      clearTimeout(late);
      this.#answer(asked).catch(() => socket.destroy());
    };
    readMessages(socket, { most: MOST_ASKED, onMessage, onNonsense: () => socket.destroy() });
  }

  /** Ends the connection with one who hasn't asked yet, and so tries again. */
  endUnasked(): void {
    if (!this.#isAsked) this.#socket.destroy();
  }

  end(): void {
    this.#socket.destroy();
  }

  #tell(message: Told): void {
    send(this.#socket, message);
  }

  async #answer(asked: Asked): Promise<void> {
    if (asked.type === 'run') await this.#run(asked);
    else if (this.#answerer.givesWay) this.#giveWay();
    this.#socket.end();
  }

  #giveWay(): void {
    const what = this.#answerer.works.giveWay();
    this.#tell(what === null ? { type: 'way' } : { type: 'busy', what });
  }

  async #run(request: Request): Promise<void> {
    this.#tell({ type: 'begun' });
    const beat = setInterval(() => this.#tellIfHeard({ type: 'beat' }), BEAT_MS);
    try {
      const code = await this.#answerer.run({
        ...request,
        out: (text, ifLost) => {
          if (ifLost !== undefined) this.#tell({ type: 'ifLost', text: ifLost });
          this.#out.push(text);
        },
        err: (text) => {
          for (const piece of pieces(text)) this.#tellIfHeard({ type: 'err', text: piece });
        },
        gone: this.#gone.signal,
      });
      for (const text of this.#out) await this.#tellAll(text);
      this.#tell({ type: 'end', code });
    } catch (error) {
      if (error instanceof GivenWay) this.#tell({ type: 'again' });
      else if (error instanceof Busy) this.#tell({ type: 'busy', what: error.what });
      else throw error;
    } finally {
      clearInterval(beat);
    }
  }

  /** What is of use now or never is dropped where the asker doesn't keep up. */
  #tellIfHeard(message: Told): void {
    if (this.#socket.writableLength < MOST_WAITING) this.#tell(message);
  }

  /** Sends output as fast as it is taken. */
  async #tellAll(text: string): Promise<void> {
    for (const piece of pieces(text)) {
      if (this.#socket.destroyed) return;
      if (!send(this.#socket, { type: 'out', text: piece })) await this.#drained();
    }
  }

  /** Resolves once the asker has taken what it was sent, or has gone. */
  async #drained(): Promise<void> {
    const late = setTimeout(() => this.#socket.destroy(), STALLED_MS);
    // Its end is no error here: whoever writes next sees it.
    await once(this.#socket, 'drain', { signal: this.#gone.signal }).catch(() => {});
    clearTimeout(late);
  }
}

/** Answers whoever connects. */
export class Answering {
  readonly server: Server;
  readonly #askers = new Set<Asker>();

  constructor(answerer: Answerer) {
    this.server = createServer((socket) => {
      const asker = new Asker(socket, answerer);
      this.#askers.add(asker);
      socket.once('close', () => this.#askers.delete(asker));
    });
    this.server.maxConnections = MOST_ASKERS;
  }

  /** Lets nobody in any more; those who still take what they were told get a while for it. */
  async close(patienceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const asker of this.#askers) asker.endUnasked();
    const late = setTimeout(() => {
      for (const asker of this.#askers) asker.end();
    }, patienceMs);
    await closed;
    clearTimeout(late);
  }
}
