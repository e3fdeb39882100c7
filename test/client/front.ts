/** Stands between a client and a server: it passes requests on, and now and then loses an answer or gives its own. */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * What becomes of a request:
 * - `pass`: it reaches the server, and the answer the client;
 * - `loseRequest`: the connection breaks before the server hears of it;
 * - `loseAnswer`: the server does it, and the connection breaks then;
 * - `hang`: nothing comes;
 * - an answer of the front's own, in the server's place.
 */
export type Fate =
  | 'pass'
  | 'loseRequest'
  | 'loseAnswer'
  | 'hang'
  | { status: number; headers?: Record<string, string>; body: string };

export interface Seen {
  method: string;
  path: string;
  atMs: number;
}

export interface Front {
  /** The base address. */
  readonly url: string;
  readonly seen: Seen[];
  /** What becomes of the next requests, in order; after them all pass. Forgets what was seen. */
  next(...fates: Fate[]): void;
  close(): Promise<void>;
}

/** Starts one before a server's port. */
export async function startFront(serverPort: number): Promise<Front> {
  const seen: Seen[] = [];
  let fates: Fate[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    seen.push({ method, path, atMs: performance.now() });
    const fate = fates.shift() ?? 'pass';
    const body = await buffer(request);
    if (fate === 'hang') return;
    if (fate === 'loseRequest') {
      request.socket.destroy();
      return;
    }
    if (typeof fate === 'object') {
      response.writeHead(fate.status, fate.headers).end(fate.body);
      return;
    }
    const onward = send({ host: '127.0.0.1', port: serverPort, method, path, headers });
    onward.on('error', () => request.socket.destroy());
    onward.on('response', (answer) => {
      if (fate === 'loseAnswer') {
        answer.resume().on('end', () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.end(body);
  }

  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    next(...given) {
      fates = given;
      seen.length = 0;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
