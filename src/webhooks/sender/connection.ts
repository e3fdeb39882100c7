/**
 * Owns the sockets to receivers: one undici client a connection, kept for reuse while it idles.
 *
 * 1. A connection carries one exchange at a time; whoever took it gives it back or destroys it.
 * 2. A literal address is checked before connecting, a name by the lookup: no socket leads elsewhere.
 * 3. What one exchange reads off the wire is bounded, whatever part of HTTP the receiver abuses for it.
 * 4. Idle connections close after seconds, and over all receivers their number is bounded.
 * 5. All lanes to an origin share what idles towards it: an exchange leaves nothing on its connection for the next.
 */
import net from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
import { Client } from 'undici';
import { isAllowedLiteral } from '../address.ts';
import type { Lane } from './lanes.ts';
import type { AddressLookup } from './lookup.ts';
import { coded } from './lookup.ts';

const IDLE_MS = 4_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Body and headers at their bounds, and room for chunk framing or TLS records around them. */
const WIRE_BYTES_MAX = 128 * 1024;
const FAMILY_ATTEMPT_MS = 1_000;
/** undici connects again, by itself, when a socket dies under a request that wasn't written yet. */
const CONNECTS_MAX = 3;

/** What leads to an origin. */
interface Way {
  readonly origin: string;
  /** Those that lead there; without any the way is closed. */
  readonly lanes: Set<Lane>;
  readonly idle: Connection[];
  tlsSession: Buffer | undefined;
}

/** One client with at most one socket. */
export class Connection {
  readonly client: Client;
  readonly way: Way;
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

  constructor(way: Way, options: { allowPrivate: boolean; lookup: AddressLookup }) {
    this.way = way;
    this.#allowPrivate = options.allowPrivate;
    this.#lookup = options.lookup.lookup;
    this.client = new Client(way.origin, {
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
    const { tlsSession } = this.way;
    const socket = tls.connect({
      ...this.#address(target, 443),
      ALPNProtocols: ['http/1.1'],
      ...(net.isIP(target.hostname) === 0 ? { servername: target.hostname } : {}),
      ...(tlsSession === undefined ? {} : { session: tlsSession }),
    });
    socket.on('session', (session) => {
      this.way.tlsSession = session;
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
  readonly #ways = new Map<string, Way>();
  readonly #idle = new Set<Connection>();

  constructor(options: { allowPrivate: boolean; lookup: AddressLookup; maxIdle: number }) {
    this.#options = options;
  }

  acquire(lane: Lane): Connection {
    // The one used last: those that a burst has opened grow idle and close.
    const idle = this.#way(lane).idle.pop();
    if (idle === undefined) return this.fresh(lane);
    this.#idle.delete(idle);
    return idle;
  }

  fresh(lane: Lane): Connection {
    return new Connection(this.#way(lane), this.#options);
  }

  giveBack(connection: Connection): void {
    const { way } = connection;
    // Its lanes were released meanwhile.
    if (this.#ways.get(way.origin) !== way) {
      connection.destroy();
      return;
    }
    connection.onFlood = null;
    connection.served += 1;
    way.idle.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size <= this.#options.maxIdle) return;
    for (const oldest of this.#idle) {
      this.#drop(oldest);
      return;
    }
  }

  /** Closes what idles towards a lane's origin, unless other lanes lead there. */
  release(lane: Lane): void {
    const way = this.#ways.get(lane.origin);
    if (way === undefined) return;
    way.lanes.delete(lane);
    if (way.lanes.size > 0) return;
    this.#ways.delete(way.origin);
    for (const connection of [...way.idle]) this.#drop(connection);
  }

  /** Closes all that idles. */
  close(): void {
    for (const connection of [...this.#idle]) this.#drop(connection);
    this.#ways.clear();
  }

  #way(lane: Lane): Way {
    const { origin } = lane;
    let way = this.#ways.get(origin);
    if (way === undefined) {
      way = { origin, lanes: new Set(), idle: [], tlsSession: undefined };
      this.#ways.set(origin, way);
    }
    way.lanes.add(lane);
    return way;
  }

  #drop(connection: Connection): void {
    this.#idle.delete(connection);
    const { idle } = connection.way;
    const index = idle.indexOf(connection);
    if (index >= 0) idle.splice(index, 1);
    connection.destroy();
  }
}
