/**
 * Owns the sockets to receivers: one undici client a connection, kept for reuse while it idles.
 *
 * 1. A connection carries one exchange at a time; whoever took it gives it back or destroys it.
 * 2. A literal address is checked before connecting, a name by the lookup: no socket leads elsewhere.
 * 3. What one exchange reads off the wire is bounded, whatever part of HTTP the receiver abuses for it.
 * 4. Idle connections close after seconds, and over all receivers their number is bounded.
 */
import net from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
import { Client } from 'undici';
import { isAllowedLiteral } from '../address.ts';
import type { AddressLookup } from './lookup.ts';
import { coded } from './lookup.ts';

const IDLE_MS = 4_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Body and headers at their bounds, and room for chunk framing or TLS records around them. */
const WIRE_BYTES_MAX = 128 * 1024;
const FAMILY_ATTEMPT_MS = 1_000;
/** undici connects again, by itself, when a socket dies under a request that wasn't written yet. */
const CONNECTS_MAX = 3;

/** Where connections of one origin go, and what they share. */
export interface Origin {
  /** `https://example.com:8443`, as the URL parser writes it. */
  readonly origin: string;
  readonly idle: Connection[];
  tlsSession: Buffer | undefined;
}

/** One client with at most one socket. */
export class Connection {
  readonly client: Client;
  readonly origin: Origin;
  /** Exchanges that were completed over it. */
  served = 0;
  /** Called when the exchange has read more than a response may have. */
  onFlood: (() => void) | null = null;
  #socket: net.Socket | null = null;
  #bytesBefore = 0;
  #connects = 0;
  #destroyed = false;
  readonly #allowPrivate: boolean;
  readonly #lookup: net.LookupFunction;

  constructor(origin: Origin, options: { allowPrivate: boolean; lookup: AddressLookup }) {
    this.origin = origin;
    this.#allowPrivate = options.allowPrivate;
    this.#lookup = options.lookup.lookup;
    this.client = new Client(origin.origin, {
      connect: (target, callback) => this.#connect(target, callback),
      // The exchange has one deadline of its own, which no byte from the receiver extends.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADERS_BYTES_MAX,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      pipelining: 1,
    });
  }

  /** Marks where the next exchange begins to count what it reads. */
  begin(onFlood: () => void): void {
    this.#bytesBefore = this.#socket?.bytesRead ?? 0;
    this.#connects = 0;
    this.onFlood = onFlood;
  }

  /** Whether the receiver has sent anything in this exchange. */
  get heard(): boolean {
    return (this.#socket?.bytesRead ?? 0) > this.#bytesBefore;
  }

  destroy(): void {
    this.#destroyed = true;
    this.onFlood = null;
    this.client.destroy(null, () => {});
    this.#socket?.destroy();
  }

  #connect(target: buildConnector.Options, callback: buildConnector.Callback): void {
    if (!this.#allowPrivate && !isAllowedLiteral(target.hostname)) {
      callback(coded('ADDRESS_NOT_ALLOWED'), null);
      return;
    }
    this.#connects += 1;
    if (this.#connects > CONNECTS_MAX) {
      callback(coded('INVALID_RESPONSE'), null);
      return;
    }
    const secure = target.protocol === 'https:';
    const socket = secure ? this.#openTls(target) : this.#openTcp(target);
    let waiting: buildConnector.Callback | null = callback;
    this.#socket = socket;
    this.#bytesBefore = 0;
    socket.setNoDelay(true);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      const connected = waiting;
      waiting = null;
      if (this.#destroyed) socket.destroy();
      else connected?.(null, socket);
    });
    socket.on('readable', () => {
      if (socket.bytesRead - this.#bytesBefore > WIRE_BYTES_MAX) this.onFlood?.();
    });
    const failed = (error: Error) => {
      const connecting = waiting;
      waiting = null;
      if (!this.#destroyed) connecting?.(error, null);
    };
    socket.on('error', failed);
    socket.once('close', () => failed(coded('ECONNRESET')));
  }

  #openTcp(target: buildConnector.Options): net.Socket {
    return net.connect(this.#address(target, 80));
  }

  #openTls(target: buildConnector.Options): tls.TLSSocket {
    const { tlsSession } = this.origin;
    const socket = tls.connect({
      ...this.#address(target, 443),
      ALPNProtocols: ['http/1.1'],
      ...(net.isIP(target.hostname) === 0 ? { servername: target.hostname } : {}),
      ...(tlsSession === undefined ? {} : { session: tlsSession }),
    });
    socket.on('session', (session) => {
      this.origin.tlsSession = session;
    });
    return socket;
  }

  #address(target: buildConnector.Options, defaultPort: number) {
    return {
      host: target.hostname,
      port: Number(target.port || defaultPort),
      lookup: this.#lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: FAMILY_ATTEMPT_MS,
    };
  }
}

/** Hands out connections, idle ones first. */
export class Connections {
  readonly #options: { allowPrivate: boolean; lookup: AddressLookup; maxIdle: number };
  readonly #idle = new Set<Connection>();

  constructor(options: { allowPrivate: boolean; lookup: AddressLookup; maxIdle: number }) {
    this.#options = options;
  }

  acquire(origin: Origin): Connection {
    // The one used last: those that a burst has opened grow idle and close.
    const idle = origin.idle.pop();
    if (idle === undefined) return this.fresh(origin);
    this.#idle.delete(idle);
    return idle;
  }

  fresh(origin: Origin): Connection {
    return new Connection(origin, this.#options);
  }

  giveBack(connection: Connection): void {
    connection.onFlood = null;
    connection.served += 1;
    connection.origin.idle.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size <= this.#options.maxIdle) return;
    for (const oldest of this.#idle) {
      this.#drop(oldest);
      return;
    }
  }

  /** Closes what idles towards an origin. */
  release(origin: Origin): void {
    for (const connection of [...origin.idle]) this.#drop(connection);
    origin.tlsSession = undefined;
  }

  #drop(connection: Connection): void {
    this.#idle.delete(connection);
    const index = connection.origin.idle.indexOf(connection);
    if (index >= 0) connection.origin.idle.splice(index, 1);
    connection.destroy();
  }
}
