import { connect } from 'node:net';
import { Agent, type Dispatcher, request as send } from 'undici';
import { askJson } from './cli.ts';
import { type Json, list, parseJson, text, whole } from './json.ts';
import type { Server } from './server.ts';
import { until } from './wait.ts';

/** A response. `body` is null when the text is no JSON. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Json;
  text: string;
}

export type Headers = Record<string, string>;
export type Method = Dispatcher.HttpMethod;
export type Bytes = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Talks to a server's base address with one set of credentials, or none. */
export interface Client {
  /** Sends a JSON body, where one is given. */
  request(method: Method, path: string, body?: Json, headers?: Headers): Promise<Reply>;
  /** Sends a body as it is, with no header of its own but the authorization. */
  send(method: Method, path: string, bytes: Bytes | null, headers?: Headers): Promise<Reply>;
  get(path: string, headers?: Headers): Promise<Reply>;
  post(path: string, body?: Json, headers?: Headers): Promise<Reply>;
}

/** An account with its credentials and a client that uses them. */
export interface Merchant extends Client {
  readonly accountId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhooks: { url: string; secret: string }[];
  balance(): Promise<number>;
}

const agent = new Agent({ connections: 256, headersTimeout: 35_000, bodyTimeout: 35_000 });

/** The value of an Authorization header. */
export function basic(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
}

/** Sends one request to an absolute address. */
export async function fetchReply(
  method: Method,
  url: string,
  bytes: Bytes | null = null,
  headers: Headers = {},
): Promise<Reply> {
  const body =
    bytes === null || typeof bytes === 'string' || bytes instanceof Uint8Array
      ? bytes
      : (bytes as unknown as Dispatcher.DispatchOptions['body']);
  const response = await send(url, { method, headers, body: body ?? null, dispatcher: agent });
  const answer = await response.body.text();
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return { status: response.statusCode, headers: flat, body: parseJson(answer) ?? null, text: answer };
}

/** A client that sends the given headers with every request; without them it is nobody. */
export function clientOf(server: Server, always: Headers = {}): Client {
  const client: Client = {
    request(method, path, body, headers = {}) {
      const type: Headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const bytes = body === undefined ? null : JSON.stringify(body);
      return client.send(method, path, bytes, { ...type, ...headers });
    },
    send: (method, path, bytes, headers = {}) =>
      fetchReply(method, `${server.url}${path}`, bytes, { ...always, ...headers }),
    get: (path, headers) => client.request('GET', path, undefined, headers),
    post: (path, body, headers) => client.request('POST', path, body, headers),
  };
  return client;
}

/** An account whose credentials are known: `created` is what `account create` printed. */
export function merchantOf(server: Server, created: Json): Merchant {
  const clientId = text(created, 'clientId');
  const clientSecret = text(created, 'clientSecret');
  const client = clientOf(server, { authorization: basic(clientId, clientSecret) });
  return {
    ...client,
    accountId: text(created, 'accountId'),
    clientId,
    clientSecret,
    webhooks: list(created, 'webhooks').map((webhook) => ({
      url: text(webhook, 'url'),
      secret: text(webhook, 'secret'),
    })),
    async balance() {
      return whole((await client.get('/balance')).body, 'balance');
    },
  };
}

async function known(merchant: Merchant): Promise<Merchant> {
  await until(
    async () => (await merchant.get('/balance')).status !== 401,
    5_000,
    'the running server knows the new account',
  );
  return merchant;
}

/** Creates an account with `account create` and waits until the running server knows it. */
export async function merchant(server: Server, createArgs: string[] = []): Promise<Merchant> {
  return known(merchantOf(server, await askJson(server, ['account', 'create', ...createArgs])));
}

/** Creates several accounts alike with one command. */
export async function merchants(
  server: Server,
  count: number,
  createArgs: string[] = [],
): Promise<Merchant[]> {
  const created = await askJson(server, ['account', 'create', '--count', String(count), ...createArgs]);
  const all = list(created, 'accounts').map((account) => merchantOf(server, account));
  if (all.length !== count) throw new Error(`asked for ${count} accounts, got ${all.length}`);
  return Promise.all(all.map(known));
}

/** Sends bytes over a socket and returns all that comes back until the other side ends or `timeoutMs` pass. */
export async function raw(port: number, bytes: string | Uint8Array, timeoutMs = 3_000): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(finish, timeoutMs);
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('end', finish);
    socket.on('error', (error) => {
      clearTimeout(timer);
      if (answer === '') reject(error);
      else resolve(answer);
    });
  });
}
