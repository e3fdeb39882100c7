/** The six checks, in the contract's order and words ("Order of checks and results"). */
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import { isDigest, secretDigest } from '../accounts/credentials.ts';
import type { Directory } from '../accounts/directory.ts';
import type { Account } from '../domain/account.ts';
import { ApiError } from './errors.ts';

const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="payments", charset="UTF-8"' };
const BASIC = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i;
/** An IPv4-mapped address as sockets write it; and any as the URL parser does, which undoes every notation. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const PARSED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

function invalidCredentials(message: string): ApiError {
  return new ApiError('INVALID_CREDENTIALS', message, {}, CHALLENGE);
}

interface Credentials {
  clientId: string;
  /** SHA-256 of the secret: the secret itself is kept nowhere. */
  digest: Buffer;
}

/** The client id and secret of a well-formed header; null for any other. The secret may contain colons. */
function parseBasic(header: string): Credentials | null {
  const match = BASIC.exec(header);
  if (match === null) return null;
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { clientId: text.slice(0, colon), digest: secretDigest(text.slice(colon + 1)) };
}

/**
 * The caller's address: the socket's, or behind `hops` trusted proxies the entry of X-Forwarded-For counted
 * from the right, since whatever stands further left is the caller's own claim. Null where it isn't known.
 */
function sourceAddress(req: IncomingMessage, hops: number): string | null {
  let address = req.socket.remoteAddress ?? '';
  if (hops > 0) {
    const header = req.headers['x-forwarded-for'];
    const entries = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
    address = (entries[entries.length - hops] ?? '').trim();
  }
  const plain = MAPPED.exec(address)?.[1] ?? address;
  return isIPv4(plain) ? plain : mappedIn(plain);
}

/** The IPv4 address that an IPv6 address stands for; null where it stands for none. */
function mappedIn(address: string): string | null {
  const url = `http://[${address}]`;
  if (!isIPv6(address) || !URL.canParse(url)) return null;
  const [, high, low] = PARSED.exec(new URL(url).hostname) ?? [];
  if (high === undefined || low === undefined) return null;
  return [high, low].flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255]).join('.');
}

/** The account that a request is from. @throws ApiError 401 or 403 */
export async function authenticate(
  req: IncomingMessage,
  directory: Pick<Directory, 'client'>,
  hops: number,
): Promise<Account> {
  const header = req.headers.authorization ?? '';
  if (header.trim() === '') {
    throw invalidCredentials('Missing Authorization header. Use Basic Auth (client_id:client_secret).');
  }
  const credentials = parseBasic(header);
  if (credentials === null) {
    throw invalidCredentials(
      'Invalid Authorization header format. Use Basic Auth (client_id:client_secret).',
    );
  }
  const account = await directory.client(credentials.clientId);
  // Unknown clients cost the same as wrong secrets.
  if (!isDigest(credentials.digest, account?.secretHash ?? null) || account === null) {
    throw invalidCredentials('Invalid credentials.');
  }
  if (account.userStatus !== 'active') throw new ApiError('USER_INACTIVE', 'User is inactive or suspended.');
  if (!account.allowedIps.includes('*')) {
    const address = sourceAddress(req, hops);
    if (address === null || !account.allowedIps.includes(address)) {
      throw new ApiError('IP_NOT_ALLOWED', 'Request from unauthorized IP address.');
    }
  }
  if (account.status !== 'active')
    throw new ApiError('ACCOUNT_INACTIVE', 'Account is inactive or suspended.');
  return account;
}
