/**
 * Load generator, a process of its own: keep-alive clients on raw sockets, each with one request under way.
 * Reads its orders as JSON from the first argument, or from the file behind `--for`; prints what it measured as JSON.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { quantile, refusedOf } from './line.ts';
import { COUNT_DIGITS, type RequestText } from './texts.ts';

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

/** Whole requests, in turn, for a time. */
export interface TimedOrder {
  port: number;
  clients: number;
  seconds: number;
  /** What the number in a request begins with. */
  series: string;
  texts: readonly RequestText[];
}

/** What clients are to do. */
interface Work {
  ports: readonly number[];
  clients: number;
  /** The request of this number; null: it is over. */
  request(n: number): Request | null;
}

export interface LoadResult {
  seconds: number;
  /** Answers a second, without those of 400 and above. */
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

/** So many requests. */
function counted(order: LoadOrder): Work {
  const server = serverOf(order);
  const { ports, clients, requests } = order;
  const request = (n: number): Request | null =>
    n >= requests ? null : { text: requestOf(order, n), server: server(n) };
  return { ports, clients, request };
}

/** Requests until the time is over, from the first one on. */
function timed({ port, clients, seconds, series, texts }: TimedOrder): Work {
  let endsAt = 0;
  const request = (n: number): Request | null => {
    if (n === 0) endsAt = performance.now() + seconds * 1000;
    if (performance.now() >= endsAt) return null;
    const [before = '', after = null] = texts[n % texts.length] ?? [];
    const number = `${series}${String(n).padStart(COUNT_DIGITS, '0')}`;
    return { text: after === null ? before : `${before}${number}${after}`, server: 0 };
  };
  return { ports: [port], clients, request };
}

async function load(work: Work): Promise<LoadResult> {
  let sent = 0;
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const next = (): Request | null => work.request(sent++);
  const done = (status: string, ms: number): void => {
    times.push(ms);
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const clients = Array.from({ length: work.clients }, () => new Client(work.ports));
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
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => quantile(sorted, share);
  const rate = (sorted.length - refusedOf(statuses)) / seconds;
  return { seconds, rate, p50: at(0.5), p99: at(0.99), worst: at(1), statuses, cpu };
}

function work(): Work {
  const [first = '{}', file = ''] = process.argv.slice(2);
  if (first === '--for') return timed(JSON.parse(readFileSync(file, 'utf8')) as TimedOrder);
  return counted(JSON.parse(first) as LoadOrder);
}

process.stdout.write(JSON.stringify(await load(work())));
