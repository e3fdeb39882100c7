/**
 * Who comes by a proxy that signs people in: it says by headers who they are. They count from the proxy's address alone,
 * which is the other end of the connection and nothing that a request could say.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import type { Context } from 'koa';
import type { Visitor } from '../passes.ts';
import { networksOf, type ProxySettings } from '../settings.ts';
import { ConsoleError } from './errors.ts';

const LONGEST_NAME = 256;

/** A request that bore the proxy's headers, and came from elsewhere. */
export interface Forgery {
  peer: string;
  headers: string[];
  path: string;
}

export interface ProxyOptions extends ProxySettings {
  /** Where people are sent to sign in. */
  origin: string;
  onForgery(forgery: Forgery): void;
}

/** Node reads a header's bytes as Latin-1, and proxies write names in UTF-8. */
function textOf(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}

function peerOf({ socket }: IncomingMessage): string {
  // An address of this link alone names the link behind it.
  return (socket.remoteAddress ?? '').replace(/%.*$/, '');
}

export class SignInProxy {
  readonly #options: ProxyOptions;
  readonly #peers: BlockList;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#peers = networksOf(options.peers);
  }

  #isFrom(request: IncomingMessage): boolean {
    const peer = peerOf(request);
    const kind = isIP(peer);
    return kind !== 0 && this.#peers.check(peer, kind === 6 ? 'ipv6' : 'ipv4');
  }

  /** @throws ConsoleError where another one than the proxy says who somebody is */
  guard({ req, path }: Context): void {
    const { userHeader, groupsHeader, onForgery } = this.#options;
    if (this.#isFrom(req)) return;
    const headers = [userHeader, groupsHeader].filter((name) => name !== null && name in req.headers);
    if (headers.length === 0) return;
    const forgery = { peer: peerOf(req), headers: headers.filter((name) => name !== null), path };
    onForgery(forgery);
    throw new ConsoleError(
      'WRONG_PEER',
      `${forgery.headers.join(' and ')} may come from CONSOLE_PROXY alone, and this request came from ${forgery.peer}.`,
    );
  }

  /** Whom the proxy has signed in. @throws ConsoleError where it has said nobody, or somebody else has asked */
  visitor({ req }: Context): Visitor {
    const { userHeader, groupsHeader, operators } = this.#options;
    const by = this.#isFrom(req) ? this.#said(req, userHeader) : '';
    if (by === '') throw this.refusal();
    if (by.length > LONGEST_NAME)
      throw new ConsoleError('INVALID_REQUEST', `${userHeader} is longer than ${LONGEST_NAME} characters.`);
    // authentik puts bars between them.
    const groups = groupsHeader === null ? [] : this.#said(req, groupsHeader).split(/[,|]/);
    const isOperator = groups.some((group) => operators.includes(group.trim()));
    return { by, role: isOperator ? 'operator' : 'viewer' };
  }

  /** The answer to whoever the proxy hasn't signed in. */
  refusal(): ConsoleError {
    return new ConsoleError('SIGN_IN_BY_PROXY', `Sign in at ${this.#options.origin}.`);
  }

  /** What the proxy says by a header. Where it stands twice, one of both came from behind the proxy. */
  #said(request: IncomingMessage, header: string): string {
    const values = request.headersDistinct[header] ?? [];
    if (values.length > 1)
      throw new ConsoleError(
        'INVALID_REQUEST',
        `${header} stands ${values.length} times: the proxy must replace it.`,
      );
    return textOf(values[0] ?? '').trim();
  }
}
