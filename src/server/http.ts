/** An HTTP server that can be drained: what is in flight is answered, keep-alive connections are let go. */
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSocketServer, type ListenOptions, Socket } from 'node:net';
import { ApiError, type ErrorCode, unavailable } from '../api/errors.ts';
import { Connections } from '../connections.ts';
import { codeOf, OperatorError } from '../errors.ts';
import { Pipelines } from './pipelines.ts';

export interface RunningServer {
  port: number;
  /** Stops accepting and waits, at most `timeoutMs`, for the requests in flight; those that are left are answered 503. */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * How long a client may take to send its request, and its head, and how often node looks for those that take longer; and
 * for how long nothing of an answer may leave, since its client doesn't read.
 */
export interface Times {
  requestMs: number;
  headersMs: number;
  lookMs: number;
  unreadMs: number;
}

const TIMES: Times = { requestMs: 30_000, headersMs: 15_000, lookMs: 30_000, unreadMs: 60_000 };
const KEEP_ALIVE_MS = 65_000;
/** So long the last answers may take to be sent. */
const LAST_ANSWERS_MS = 200;

/** An id for a request that came without one. */
export function newRequestId(): string {
  return randomUUID();
}

const JSON_TYPE = 'application/json; charset=utf-8';

function errorBody(code: ErrorCode, message: string): string {
  return JSON.stringify(new ApiError(code, message).body);
}

function errorAnswer(status: string, code: ErrorCode, message: string): string {
  const body = errorBody(code, message);
  return `HTTP/1.1 ${status}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${newRequestId()}\r\nConnection: close\r\n\r\n${body}`;
}

function refuseExpectation(_req: IncomingMessage, res: ServerResponse): void {
  const headers = { 'Content-Type': JSON_TYPE, 'X-Request-Id': newRequestId() };
  const body = errorBody('INVALID_REQUEST', 'The Expect header asks for something unknown.');
  res.writeHead(400, headers).end(body);
}

/** Answers requests that node would answer by itself, without a body, or not at all. */
function answerUnusual(server: Server, pipelines: Pipelines): void {
  server.on('checkExpectation', (req, res) => pipelines.take(req, res, refuseExpectation));
  server.on('connect', (_req, socket) => {
    // Node has let go of it, and what is wrong with it is nobody's: unheard, it would end the thread.
    socket.on('error', () => undefined);
    socket.on('timeout', () => server.emit('timeout', socket));
    const body = errorAnswer(
      '405 Method Not Allowed',
      'METHOD_NOT_ALLOWED',
      'The method is not allowed here.',
    );
    pipelines.end(socket, body);
  });
}

const LATE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** What node's parser turned down, as it is answered. */
function turnedDown(code: string | undefined): string {
  if (code === LATE) return 'The request took too long to arrive.';
  if (code === 'HPE_HEADER_OVERFLOW') return 'The request headers are too large.';
  return 'The request is not valid HTTP.';
}

/** Requests that node's parser turns down never reach the application: they get the error object all the same. */
function answerUnparsable(server: Server, pipelines: Pipelines, timeMs: number): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { code } = error;
    if (code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const text = errorAnswer('400 Bad Request', 'INVALID_REQUEST', turnedDown(code));
    if (code === LATE) pipelines.endLate(socket, timeMs, text);
    else pipelines.end(socket, text);
  });
}

/** Cuts a connection off on which nothing has moved for so long, in either direction, but while an answer is made. */
function cutOffUnread(server: Server, pipelines: Pipelines, timeMs: number): void {
  server.setTimeout(timeMs, (socket) => {
    const isMade = pipelines.answers(socket).some(({ writableEnded }) => !writableEnded);
    if (socket.writableLength > 0 || !isMade) socket.destroy();
  });
}

/** Behind an answer that is its last node cuts a connection off, with all that has yet to reach a client that sends on. */
function endBehindAnswers(server: Server, pipelines: Pipelines): void {
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = () => pipelines.endNow(socket);
  });
}

/**
 * Node counts a connection as idle, and cuts it off, once its answer is written, whether that has left or not, and asks
 * nobody: where something has yet to leave, or the end is under way, that connection is kept from it.
 */
function keepSending(server: Server, connections: Connections): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const kept = connections.sockets.filter((socket) => socket.writableLength > 0 || socket.writableEnded);
    for (const socket of kept) socket.destroy = () => socket;
    closeIdle();
    for (const socket of kept) socket.destroy = Socket.prototype.destroy;
  };
}

/** Node's options of `listen`, with what its versions from 22.12 on know besides. */
interface SharedListenOptions extends ListenOptions {
  reusePort: boolean;
}

/**
 * Whether a port can be listened on free of others: rejects as `listen` does, else resolves with the port. Sockets
 * that share a port keep off whoever doesn't share, and nobody who does.
 */
export function tryPort(host: string, port: number): Promise<number> {
  const server = createSocketServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** Listens, on a port that others of this process share where that is said; rejects where it is taken or may not be used. */
export function listen(
  listener: RequestListener,
  host: string,
  port: number,
  reusePort = false,
  times: Partial<Times> = {},
): Promise<RunningServer> {
  const { requestMs, headersMs, lookMs, unreadMs } = { ...TIMES, ...times };
  const pipelines = new Pipelines();
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: headersMs,
      connectionsCheckingInterval: lookMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // HTTP/1.1 without a Host is answered as any other request is.
      requireHostHeader: false,
    },
    (req, res) => pipelines.take(req, res, listener),
  );
  // Node leaves out the lines after the 2,000th, and says nothing: a proxy's own would come last. Their bytes are bounded.
  server.maxHeadersCount = 0;
  const connections = new Connections(server);
  keepSending(server, connections);
  answerUnparsable(server, pipelines, requestMs);
  answerUnusual(server, pipelines);
  cutOffUnread(server, pipelines, unreadMs);
  endBehindAnswers(server, pipelines);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const options: SharedListenOptions = { port, host, reusePort };
    server.listen(options, () => {
      server.off('error', reject);
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        drain: (timeoutMs) => drain(server, connections, pipelines, timeoutMs),
      });
    });
  });
}

/** Cuts off what hasn't left, and answers what nobody can wait for any more: what was asked may be done or not. */
function answerLast(connections: Connections, pipelines: Pipelines): void {
  for (const socket of connections.sending) socket.destroy();
  const { body, headers } = unavailable('The service is shutting down. A repeat with the same key is safe.');
  for (const answer of connections.sockets.flatMap((socket) => pipelines.answers(socket)))
    if (!answer.headersSent)
      answer
        .writeHead(503, { ...headers, 'Content-Type': JSON_TYPE, Connection: 'close' })
        .end(JSON.stringify(body));
}

async function drain(
  server: Server,
  connections: Connections,
  pipelines: Pipelines,
  timeoutMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A connection that was busy a moment ago is idle now.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const timer = setTimeout(() => answerLast(connections, pipelines), timeoutMs);
  const end = setTimeout(() => connections.destroyAll(), timeoutMs + LAST_ANSWERS_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
  clearTimeout(end);
}

/** There is no such address, or it is none of this machine's: the port may be right. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EINVAL', 'EAFNOSUPPORT']);

/** Why nothing listens at a place whose host the variable names. */
export function noListening(what: string, hostName: string, error: unknown): string {
  const code = codeOf(error);
  const told = `${what} can't be listened on: ${code}`;
  return NO_ADDRESS.has(code) ? `${told}; is ${hostName} right?` : told;
}

/** Starts to listen, or says which port it can't be, or which variable names no address. @throws OperatorError */
export async function bind<Door extends RunningServer>(
  what: string,
  hostName: string,
  start: () => Promise<Door>,
): Promise<Door> {
  try {
    return await start();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new OperatorError(`${what} is in use: another process listens there`);
    throw new OperatorError(noListening(what, hostName, error));
  }
}
