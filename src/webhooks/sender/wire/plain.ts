/**
 * Speaks HTTP over a socket of its own to receivers that answer as `plain-response.ts` reads it: a request is one
 * write, and what comes is read into one buffer. Where an answer is unusual its status counts, the rest is read away,
 * and whoever goes the same way next has undici speak.
 */
import type net from 'node:net';
import { asError } from '../../../errors.ts';
import { coded } from '../lookup.ts';
import type { Connection, WireEvents, WireRequest } from './connection.ts';
import { PlainResponse } from './plain-response.ts';
import type { SocketOptions, Way } from './way.ts';

/** What one socket reads at once is taken before another reads. */
const INCOMING = Buffer.allocUnsafeSlow(64 * 1024);

/** In the order, and in the letters, of undici. */
function bytesOf({ path, headers, body }: WireRequest, { host }: Way): Buffer {
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  head += `content-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  bytes.set(body, head.length);
  return bytes;
}

export class PlainConnection implements Connection {
  readonly way: Way;
  served = 0;
  heard = false;
  readonly #options: SocketOptions;
  #socket: net.Socket | null = null;
  /** Null between two exchanges. */
  #events: WireEvents | null = null;
  /** Those of an exchange that is complete, until they know. */
  #ending: WireEvents | null = null;
  #response: PlainResponse | null = null;
  /** Of the clock that never steps. */
  #idlesUntil = 0;
  #isOver = false;

  constructor(way: Way, options: SocketOptions) {
    this.way = way;
    this.#options = options;
  }

  get canServe(): boolean {
    return !this.#isOver && performance.now() < this.#idlesUntil;
  }

  begin(request: WireRequest, events: WireEvents): void {
    this.heard = false;
    this.#events = events;
    this.#response = new PlainResponse();
    const bytes = bytesOf(request, this.way);
    if (this.#socket === null) this.#open(bytes);
    else this.#socket.write(bytes);
  }

  destroy(): void {
    this.#ending = null;
    this.#close();
  }

  #close(): void {
    this.#isOver = true;
    this.#events = null;
    this.#socket?.destroy();
  }

  #open(bytes: Buffer): void {
    const callback = (length: number): boolean => {
      this.#take(INCOMING.subarray(0, length));
      return true;
    };
    let socket: net.Socket;
    try {
      socket = this.way.open(this.#options, { buffer: INCOMING, callback });
    } catch (error) {
      this.#fail(asError(error));
      return;
    }
    this.#socket = socket;
    this.way.onceOpen(socket, () => socket.write(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('end', () => {
      if (this.#response?.endsSo === true) this.#complete();
      else this.#fail(coded('ECONNRESET'));
    });
    socket.on('close', () => this.#fail(coded('ECONNRESET')));
  }

  #take(chunk: Buffer): void {
    const [events, response] = [this.#events, this.#response];
    if (events === null || response === null) {
      // Nobody has asked for it.
      this.#close();
      return;
    }
    this.heard = true;
    const isNew = response.status === null;
    const reading = response.take(chunk);
    if (isNew && response.status !== null) {
      if (response.isUnusual) this.way.isUnusual = true;
      events.onStatus(response.status, response.retryAfter);
    }
    if (reading === 'broken') this.#fail(coded('INVALID_RESPONSE'));
    else if (reading === 'complete') {
      this.#idlesUntil = performance.now() + response.idleMs;
      this.#complete(this.way.isSecure || chunk.length === INCOMING.length);
    }
  }

  /** `mayBeMore`: what has come already is read before another exchange begins, which would take it for its answer. */
  #complete(mayBeMore = false): void {
    this.#ending = this.#events;
    this.#events = null;
    this.#response = null;
    if (mayBeMore) setImmediate(() => this.#end());
    else this.#end();
  }

  #end(): void {
    const events = this.#ending;
    this.#ending = null;
    events?.onComplete();
  }

  #fail(error: Error): void {
    const events = this.#events;
    this.#close();
    events?.onFailure(error);
  }
}
