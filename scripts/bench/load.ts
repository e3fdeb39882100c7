/**
 * Load generator, a process of its own: keep-alive clients on raw sockets, each with one request under way.
 * Reads its orders as JSON from the first argument, prints what it measured as JSON.
 */
import { hash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LoadOrder {
  /** Servers on one store. */
  ports: readonly number[];
  /** Which of them a request goes to: its account's, as a balancer keeps it by the client id, or any. */
  routing: 'account' | 'random';
  clients: number;
  /** Requests in all; the same for every variant of a run, so that figures compare. */
  requests: number;
  path: string;
  /** `clientId:clientSecret` each; used in turn. */
  credentials: readonly string[];
  kind: 'pix-in' | 'cashout';
  /** Cents: the last two digits choose the sandbox's scenario. */
  amount: number;
  seed: number;
}

export interface LoadResult {
  seconds: number;
  rate: number;
  p50: number;
  p99: number;
  worst: number;
  statuses: Record<string, number>;
  /** CPU seconds of the generator itself. */
  cpu: number;
}

interface Request {
  text: string;
  /** Index of the server that it goes to. */
  server: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

function bodyOf(order: LoadOrder, n: number): string {
  if (order.kind === 'pix-in')
    return JSON.stringify({ amount: order.amount, externalRef: `order-${order.seed}-${n}` });
  const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
  return JSON.stringify({ amount: order.amount, idempotencyKey: `key-${order.seed}-${n}`, pix });
}

function requestOf(order: LoadOrder, n: number): string {
  const body = bodyOf(order, n);
  const credentials = order.credentials[n % order.credentials.length] ?? '';
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  return (
    `POST ${order.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Index of the server that a request goes to; the same for the same seed. */
function serverOf(order: LoadOrder): (n: number) => number {
  const { ports, credentials, routing, seed } = order;
  const indexOf = (text: string): number =>
    Number.parseInt(hash('sha1', text).slice(0, 8), 16) % ports.length;
  if (ports.length === 1) return () => 0;
  if (routing === 'random') return (n) => indexOf(`${seed}-${n}`);
  const ofAccount = credentials.map((text) => indexOf(text.slice(0, text.indexOf(':'))));
  return (n) => ofAccount[n % ofAccount.length] ?? 0;
}

/** A request that costs nothing: a server that has answered it has taken the connection. */
const GREETING = 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** One keep-alive connection; `answered` gets each answer's status once it is whole. */
class Connection {
  readonly #socket: Socket;
  #answered: (status: string) => void = () => {};
  #pending: Buffer = Buffer.alloc(0);

  constructor(port: number, failed: (error: Error) => void) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('error', failed);
    this.#socket.on('end', () => failed(new Error('the server has closed a connection')));
    this.#socket.on('data', (chunk) => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const head = this.#pending.indexOf(HEAD_END);
    if (head < 0) return;
    const text = this.#pending.toString('latin1', 0, head);
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (this.#pending.length < head + HEAD_END.length + length) return;
    this.#pending = this.#pending.subarray(head + HEAD_END.length + length);
    this.#answered(text.slice(9, 12));
  }

  send(request: string, answered: (status: string) => void): void {
    this.#answered = answered;
    this.#socket.write(request);
  }

  /** Resolves once the server has answered something. */
  greet(): Promise<void> {
    return new Promise((resolve) => this.send(GREETING, () => resolve()));
  }

  close(): void {
    this.#socket.removeAllListeners('end').end();
  }
}

/** One client: the next request leaves when the answer to the one before is whole. */
class Client {
  readonly #connections: readonly Connection[];
  /** Resolves once there is no next request; rejects where a connection fails. */
  readonly over: Promise<void>;
  #end: () => void = () => {};

  constructor(ports: readonly number[]) {
    let failed: (error: Error) => void = () => {};
    this.over = new Promise((resolve, reject) => {
      this.#end = resolve;
      failed = reject;
    });
    this.#connections = ports.map((port) => new Connection(port, failed));
  }

  async greet(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.greet()));
  }

  run(next: () => Request | null, done: (status: string, ms: number) => void): void {
    const request = next();
    if (request === null) {
      for (const connection of this.#connections) connection.close();
      this.#end();
      return;
    }
    const sentAt = performance.now();
    this.#connections[request.server]?.send(request.text, (status) => {
      done(status, performance.now() - sentAt);
      this.run(next, done);
    });
  }
}

async function load(order: LoadOrder): Promise<LoadResult> {
  let sent = 0;
  const times = new Float64Array(order.requests);
  const statuses: Record<string, number> = {};
  let answered = 0;
  const server = serverOf(order);
  const next = (): Request | null => {
    if (sent >= order.requests) return null;
    const n = sent++;
    return { text: requestOf(order, n), server: server(n) };
  };
  const done = (status: string, ms: number): void => {
    times[answered++] = ms;
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const clients = Array.from({ length: order.clients }, () => new Client(order.ports));
  const over = Promise.all(clients.map((client) => client.over));
  // A busy server takes one new connection a turn of its event loop: what that costs is not the requests'.
  await Promise.race([over, Promise.all(clients.map((client) => client.greet()))]);
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  for (const client of clients) client.run(next, done);
  await over;
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpu = (user + system) / 1e6;
  const sorted = times.subarray(0, answered).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { seconds, rate: answered / seconds, p50: at(0.5), p99: at(0.99), worst: at(1), statuses, cpu };
}

process.stdout.write(JSON.stringify(await load(JSON.parse(process.argv[2] ?? '{}') as LoadOrder)));
