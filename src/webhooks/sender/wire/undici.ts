/** Has undici speak HTTP to receivers whose answers are unusual: one client a connection, with at most one socket. */
import { createRequire } from 'node:module';
import type net from 'node:net';
import type { buildConnector, Client, Dispatcher } from 'undici';
import { asError, codeOf } from '../../../errors.ts';
import { coded } from '../lookup.ts';
import {
  BODY_BYTES_MAX,
  type Connection,
  HEAD_BYTES_MAX,
  IDLE_MS,
  INFORMATIONAL_MAX,
  type WireEvents,
  type WireRequest,
} from './connection.ts';
import type { SocketOptions, Way } from './way.ts';

/** Body and headers at their bounds, and room for chunk framing or TLS records around them. */
const WIRE_BYTES_MAX = 128 * 1024;
/** undici connects again, by itself, when a socket dies under a request that wasn't written yet. */
const CONNECTS_MAX = 3;

const load = createRequire(import.meta.url);

/** undici takes 10 MB, and is loaded once a receiver needs it; the module system keeps it. */
function newClient(...of: ConstructorParameters<typeof Client>): Client {
  const undici = load('undici') as typeof import('undici');
  return new undici.Client(...of);
}

/** An error without undici's own names. */
function translated(error: Error): Error {
  // The parser's own errors don't always have a code.
  if (error.name === 'HTTPParserError') return coded('INVALID_RESPONSE');
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET')
    return coded(error.message.startsWith('bad ') ? 'INVALID_RESPONSE' : 'ECONNRESET');
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') return coded('INVALID_REQUEST');
  if (/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|ERR_ASSERTION)/.test(code)) return coded('INVALID_RESPONSE');
  return /^UND_ERR/.test(code) ? coded('NETWORK_ERROR') : error;
}

/** One exchange, as undici tells of it. */
class Handler implements Dispatcher.DispatchHandler {
  readonly #events: WireEvents;
  #isOver = false;
  #bodyBytes = 0;
  #informational = 0;

  constructor(events: WireEvents) {
    this.#events = events;
  }

  /** Nothing is told from now on. */
  end(): void {
    this.#isOver = true;
  }

  onRequestStart(): void {}

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#isOver) return;
    if (statusCode >= 200) {
      this.#events.onStatus(statusCode, headers['retry-after']);
      return;
    }
    this.#informational += 1;
    if (this.#informational > INFORMATIONAL_MAX) controller.abort(coded('INVALID_RESPONSE'));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > BODY_BYTES_MAX) this.fail(coded('INVALID_RESPONSE'));
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onComplete();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(translated(error));
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onFailure(error);
  }
}

export class UndiciConnection implements Connection {
  readonly way: Way;
  served = 0;
  readonly #options: SocketOptions;
  readonly #client: Client;
  #handler: Handler | null = null;
  #socket: net.Socket | null = null;
  #bytesBefore = 0;
  #connects = 0;
  #destroyed = false;

  constructor(way: Way, options: SocketOptions) {
    this.way = way;
    this.#options = options;
    this.#client = newClient(way.origin, {
      connect: (_target, callback) => this.#connect(callback),
      // The exchange has one deadline of its own, which no byte from the receiver extends.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEAD_BYTES_MAX,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      pipelining: 1,
    });
  }

  get heard(): boolean {
    return (this.#socket?.bytesRead ?? 0) > this.#bytesBefore;
  }

  /** The client closes its socket, or opens another, by itself. */
  get canServe(): boolean {
    return !this.#destroyed;
  }

  begin(request: WireRequest, events: WireEvents): void {
    this.#bytesBefore = this.#socket?.bytesRead ?? 0;
    this.#connects = 0;
    this.#handler = new Handler(events);
    this.#client.dispatch({ method: 'POST', ...request }, this.#handler);
  }

  destroy(): void {
    this.#destroyed = true;
    this.#handler?.end();
    this.#client.destroy(null, () => {});
    this.#socket?.destroy();
  }

  #connect(callback: buildConnector.Callback): void {
    this.#connects += 1;
    if (this.#connects > CONNECTS_MAX) {
      callback(coded('INVALID_RESPONSE'), null);
      return;
    }
    let socket: net.Socket;
    try {
      socket = this.way.open(this.#options);
    } catch (error) {
      callback(asError(error), null);
      return;
    }
    let waiting: buildConnector.Callback | null = callback;
    this.#socket = socket;
    this.#bytesBefore = 0;
    this.way.onceOpen(socket, () => {
      const connected = waiting;
      waiting = null;
      if (this.#destroyed) socket.destroy();
      else connected?.(null, socket);
    });
    socket.on('readable', () => {
      const bytes = socket.bytesRead - this.#bytesBefore;
      if (bytes > WIRE_BYTES_MAX) this.#handler?.fail(coded('INVALID_RESPONSE'));
    });
    const failed = (error: Error) => {
      const connecting = waiting;
      waiting = null;
      if (!this.#destroyed) connecting?.(error, null);
    };
    socket.on('error', failed);
    socket.once('close', () => failed(coded('ECONNRESET')));
  }
}
