/** Somebody who signs in at a server's console, and calls it as its page does. */
import { cliJson } from '../support/cli.ts';
import { fetchReply, type Headers, type Method, type Reply } from '../support/client.ts';
import { type Json, text } from '../support/json.ts';
import { type Server, type ServerOptions, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

export const SESSION = 'x-pixstate-session';

/** Waits until a server has said where its console is: it is ready before. */
export async function consoleReady(server: Server): Promise<void> {
  await until(async () => /^console: http/m.test(server.stdout()), 15_000, 'the console is served');
}

/** A server with a console. */
export async function startConsole(options: ServerOptions = {}): Promise<Server> {
  const server = await startServer({ ...options, env: { CONSOLE: 'on', ...options.env } });
  try {
    await consoleReady(server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

export function origin(server: Server): string {
  return `http://127.0.0.1:${server.adminPort}`;
}

/** A new link's address and key. */
export async function link(server: Server, args: string[] = []): Promise<{ url: string; key: string }> {
  const url = text(await cliJson(server, ['console', ...args]), 'url');
  return { url, key: url.slice(url.indexOf('#k=') + 3) };
}

/** What the page sends with each call. */
export function pageHeaders(server: Server): Headers {
  return { origin: origin(server), 'sec-fetch-site': 'same-origin' };
}

/** A call of the console's API with exactly these headers. */
export function call(
  server: Server,
  method: Method,
  path: string,
  headers: Headers = {},
  body?: Json,
): Promise<Reply> {
  const type: Headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const bytes = body === undefined ? null : JSON.stringify(body);
  return fetchReply(method, `${origin(server)}/console/api${path}`, bytes, { ...type, ...headers });
}

export function signIn(server: Server, key: string): Promise<Reply> {
  return call(server, 'POST', '/session', pageHeaders(server), { key });
}

/** The value of one of the cookies that a reply sets. */
export function cookieOf(reply: Reply, name: string): string {
  const found = new RegExp(`(?:^|, )${name}=([^;]*)`).exec(reply.headers['set-cookie'] ?? '');
  if (found === null) throw new Error(`no cookie ${name}: ${reply.text}`);
  return found[1] ?? '';
}

/** Both halves of a session, and calls with them. */
export interface Visitor {
  readonly cookie: string;
  readonly half: string;
  readonly headers: Headers;
  get(path: string): Promise<Reply>;
  /** As the page does what an operator does. */
  act(method: Method, path: string, body: Json): Promise<Reply>;
}

export async function visitor(server: Server, args: string[] = []): Promise<Visitor> {
  const { key } = await link(server, args);
  const reply = await signIn(server, key);
  if (reply.status !== 200) throw new Error(`not signed in: ${reply.text}`);
  const cookie = cookieOf(reply, '__Host-pixstate');
  const half = text(reply.body, 'half');
  const headers = { cookie: `__Host-pixstate=${cookie}`, [SESSION]: half };
  const both = { ...headers, ...pageHeaders(server) };
  return {
    ...{ cookie, half, headers },
    get: (path) => call(server, 'GET', path, headers),
    act: (method, path, body) => call(server, method, path, both, body),
  };
}
