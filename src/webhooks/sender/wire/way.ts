/**
 * What leads to an origin, and how a socket is opened there.
 *
 * A literal address is checked before connecting, a name by the lookup: no socket leads elsewhere.
 */
import net from 'node:net';
import tls from 'node:tls';
import { bareHost, isAllowedLiteral } from '../../address.ts';
import type { AddressLookup } from '../lookup.ts';
import { coded } from '../lookup.ts';

const FAMILY_ATTEMPT_MS = 1_000;

/** What every socket is opened with. */
export interface SocketOptions {
  allowPrivate: boolean;
  lookup: AddressLookup;
}

/** An origin, as far as its connections are concerned. */
export class Way {
  readonly origin: string;
  /** The header `host`. */
  readonly host: string;
  readonly isSecure: boolean;
  /** Whoever answers there doesn't keep to what `plain-response.ts` reads. */
  isUnusual = false;
  readonly #hostname: string;
  readonly #port: number;
  #tlsSession: Buffer | undefined;

  /** `https://example.com:8443`, as the URL parser writes it. */
  constructor(origin: string) {
    const { host, hostname, port, protocol } = new URL(origin);
    this.origin = origin;
    this.host = host;
    this.isSecure = protocol === 'https:';
    this.#hostname = bareHost(hostname);
    this.#port = Number(port || (this.isSecure ? 443 : 80));
  }

  /**
   * A socket that is on its way there; `onread` reads what comes, where it isn't read as a stream.
   * @throws Error with the code `ADDRESS_NOT_ALLOWED`
   */
  open({ allowPrivate, lookup }: SocketOptions, onread?: net.OnReadOpts): net.Socket {
    if (!allowPrivate && !isAllowedLiteral(this.#hostname)) throw coded('ADDRESS_NOT_ALLOWED');
    const target = {
      host: this.#hostname,
      port: this.#port,
      lookup: lookup.lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: FAMILY_ATTEMPT_MS,
      ...(onread === undefined ? {} : { onread }),
    };
    const socket = this.isSecure ? this.#openTls(target) : net.connect(target);
    socket.setNoDelay(true);
    return socket;
  }

  /** Calls once, when requests can be written: with TLS no sooner than the receiver has shown who it is. */
  onceOpen(socket: net.Socket, listener: () => void): void {
    socket.once(this.isSecure ? 'secureConnect' : 'connect', listener);
  }

  #openTls(target: net.TcpNetConnectOpts): tls.TLSSocket {
    const socket = tls.connect({
      ...target,
      ALPNProtocols: ['http/1.1'],
      ...(net.isIP(this.#hostname) === 0 ? { servername: this.#hostname } : {}),
      ...(this.#tlsSession === undefined ? {} : { session: this.#tlsSession }),
    });
    socket.on('session', (session) => {
      this.#tlsSession = session;
    });
    return socket;
  }
}
