/**
 * What is looked at before a request is answered, in this order: the host that it names, whether somebody plays the
 * proxy (proxy.ts), which page it comes from, what kind of body it has. Whose it is comes after that.
 *
 * 1. A page under a name of somebody else's that leads here arrives with its own name.
 * 2. Cookies don't know ports: a page on another port of this host sends ours, and says that it isn't of this origin.
 */
import type { Context } from 'koa';
import { checkContentType } from '../../api/body.ts';
import { ConsoleError } from './errors.ts';

/** Nothing but our own files, no markup from texts, and nobody's frame. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ');

/** On all that the console answers. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** The names that a request may bear, each with the origin of the pages under it. */
export type Hosts = ReadonlyMap<string, string>;

/** The names by which this machine reaches itself at a port, and that of an origin before it. */
export function ownHosts(host: string, port: number, origin: string | null): Hosts {
  const literal = host.includes(':') ? `[${host}]` : host;
  const names = ['127.0.0.1', 'localhost', '[::1]', literal];
  // Browsers leave out the port that is usual.
  const own = names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  const hosts = new Map(own.map((name) => [name, `http://${name}`]));
  if (origin === null) return hosts;
  const { host: name, port: named } = new URL(origin);
  // A proxy may name it all the same.
  for (const each of named === '' ? [name, `${name}:443`] : [name]) hosts.set(each, origin);
  return hosts;
}

/** The origin of the page that may ask. @throws ConsoleError where the request was meant for somebody else */
export function guardHost({ req }: Context, hosts: Hosts): string {
  const own = hosts.get((req.headers.host ?? '').toLowerCase());
  if (own === undefined) throw new ConsoleError('WRONG_HOST', 'Nothing is served under this name.');
  return own;
}

/** @throws ConsoleError, ApiError where another page than the origin's asks, or not in JSON */
export function guardCall(ctx: Context, own: string): void {
  const { headers, method } = ctx.req;
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead ? headers.origin !== undefined && headers.origin !== own : headers.origin !== own)
    throw new ConsoleError('WRONG_ORIGIN', 'Another page may not call here.');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin')
    throw new ConsoleError('WRONG_ORIGIN', 'Another page may not call here.');
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!isRead && (hasBody || method !== 'DELETE')) checkContentType(ctx);
}
