import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type Json, parseJson } from './json.ts';
import { until } from './wait.ts';

/** A request that the receiver got. `at` and `answeredAt` are in ms of `performance.now()`. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  json: Json;
  at: number;
  answeredAt: number | null;
  /** The status that it was answered with, null while it was not. */
  status: number | null;
}

/** How to answer: by default 200 at once. `hang` never answers; `hangBody` sends the headers alone. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  delayMs?: number;
  hang?: boolean;
  hangBody?: boolean;
}

/** A webhook receiver on loopback that records all it gets. */
export interface Receiver {
  readonly port: number;
  readonly requests: Received[];
  url(path?: string): string;
  /** Sets the answers of a path; `nth` counts the path's requests from 1. */
  answer(path: string, how: (nth: number, request: Received) => Answer): void;
  /** What came in at a path, in order. */
  at(path: string): Received[];
  waitFor(predicate: (request: Received) => boolean, timeoutMs: number): Promise<Received>;
  waitForCount(path: string, count: number, timeoutMs: number): Promise<Received[]>;
  /** Ends it and its connections; it may be called again. */
  close(): Promise<void>;
}

/** An address on loopback. Port 0 is a free one. */
export interface ReceiverAddress {
  host: string;
  port: number;
}

/** Starts a receiver, by default on a free port of 127.0.0.1. */
export async function startReceiver(
  wanted: ReceiverAddress = { host: '127.0.0.1', port: 0 },
): Promise<Receiver> {
  const requests: Received[] = [];
  const counts = new Map<string, number>();
  const answers = new Map<string, (nth: number, request: Received) => Answer>();
  const timers = new Set<NodeJS.Timeout>();
  const at = (path: string) => requests.filter((request) => request.path === path);

  function reply(response: ServerResponse, request: Received, answer: Answer): void {
    if (answer.hang === true || response.destroyed) return;
    request.answeredAt = performance.now();
    request.status = answer.status ?? 200;
    response.writeHead(request.status, answer.headers ?? {});
    if (answer.hangBody === true) response.flushHeaders();
    else response.end();
  }

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('error', () => undefined);
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const rawBody = Buffer.concat(chunks);
      const request: Received = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        rawBody,
        json: parseJson(rawBody.toString('utf8')) ?? null,
        at: performance.now(),
        answeredAt: null,
        status: null,
      };
      requests.push(request);
      const nth = (counts.get(request.path) ?? 0) + 1;
      counts.set(request.path, nth);
      const answer = answers.get(request.path)?.(nth, request) ?? {};
      if (answer.delayMs === undefined) {
        reply(response, request, answer);
        return;
      }
      const timer = setTimeout(() => {
        timers.delete(timer);
        reply(response, request, answer);
      }, answer.delayMs);
      timers.add(timer);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted.port, wanted.host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const port = address.port;

  return {
    port,
    requests,
    url: (path = '/hook') => `http://${wanted.host}:${port}${path}`,
    answer: (path, how) => {
      answers.set(path, how);
    },
    at,
    waitFor: (predicate, timeoutMs) =>
      until(() => requests.find(predicate), timeoutMs, 'the awaited webhook'),
    waitForCount: (path, count, timeoutMs) =>
      until(() => at(path).length >= count && at(path), timeoutMs, `${count} webhooks at ${path}`),
    async close() {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
