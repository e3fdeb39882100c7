/**
 * Load generator, a process of its own: keep-alive clients on raw sockets, each with one request under way.
 * Reads its orders as JSON from the first argument, prints what it measured as JSON.
 */
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LoadOrder {
  port: number;
  clients: number;
  /** Requests in all; the same for every variant of a run, so that figures compare. */
  requests: number;
  path: string;
  /** `clientId:clientSecret` each; used in turn. */
  credentials: string[];
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

/** One client: the next request leaves when the answer to the one before is whole. */
function client(
  order: LoadOrder,
  next: () => number | null,
  done: (status: string, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: order.port, noDelay: true });
    let pending = Buffer.alloc(0);
    let sentAt = 0;
    const send = (): void => {
      const n = next();
      if (n === null) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(requestOf(order, n));
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const head = pending.indexOf(HEAD_END);
      if (head < 0) return;
      const text = pending.toString('latin1', 0, head);
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (pending.length < head + HEAD_END.length + length) return;
      pending = pending.subarray(head + HEAD_END.length + length);
      done(text.slice(9, 12), performance.now() - sentAt);
      send();
    });
  });
}

async function load(order: LoadOrder): Promise<LoadResult> {
  let sent = 0;
  const times = new Float64Array(order.requests);
  const statuses: Record<string, number> = {};
  let answered = 0;
  const started = performance.now();
  const next = (): number | null => (sent < order.requests ? sent++ : null);
  const done = (status: string, ms: number): void => {
    times[answered++] = ms;
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: order.clients }, () => client(order, next, done)));
  const seconds = (performance.now() - started) / 1000;
  const sorted = times.subarray(0, answered).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { seconds, rate: answered / seconds, p50: at(0.5), p99: at(0.99), worst: at(1), statuses };
}

process.stdout.write(JSON.stringify(await load(JSON.parse(process.argv[2] ?? '{}') as LoadOrder)));
