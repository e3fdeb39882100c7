/**
 * Owns the connections to receivers, and keeps those that idle for reuse.
 *
 * 1. A connection carries one exchange at a time; whoever took it gives it back or destroys it.
 * 2. What one exchange reads off the wire is bounded, whatever part of HTTP the receiver abuses for it.
 * 3. Idle connections close after seconds, and over all receivers their number is bounded.
 * 4. All lanes to an origin share what idles towards it: an exchange leaves nothing on its connection for the next.
 */
import type { Lane } from './lanes.ts';
import type { Connection } from './wire/connection.ts';
import { PlainConnection } from './wire/plain.ts';
import { UndiciConnection } from './wire/undici.ts';
import { type SocketOptions, Way } from './wire/way.ts';

/** What is known of an origin. */
interface Origin {
  readonly way: Way;
  /** Those that lead there; without any it is forgotten. */
  readonly lanes: Set<Lane>;
  readonly idle: Connection[];
}

/** Hands out connections, idle ones first. */
export class Connections {
  readonly #options: SocketOptions & { maxIdle: number };
  readonly #origins = new Map<string, Origin>();
  readonly #idle = new Set<Connection>();

  constructor(options: SocketOptions & { maxIdle: number }) {
    this.#options = options;
  }

  acquire(lane: Lane): Connection {
    const { idle } = this.#origin(lane);
    // The one used last: those that a burst has opened grow idle and close.
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
      this.#idle.delete(last);
      if (last.canServe) return last;
      last.destroy();
    }
    return this.fresh(lane);
  }

  fresh(lane: Lane): Connection {
    const { way } = this.#origin(lane);
    return way.isUnusual ? new UndiciConnection(way, this.#options) : new PlainConnection(way, this.#options);
  }

  giveBack(connection: Connection): void {
    const { way } = connection;
    const origin = this.#origins.get(way.origin);
    // Its lanes may have been released meanwhile.
    if (origin?.way !== way || !connection.canServe) {
      connection.destroy();
      return;
    }
    connection.served += 1;
    origin.idle.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size <= this.#options.maxIdle) return;
    for (const oldest of this.#idle) {
      this.#drop(oldest);
      return;
    }
  }

  /** Closes what idles towards a lane's origin, unless other lanes lead there. */
  release(lane: Lane): void {
    const origin = this.#origins.get(lane.origin);
    if (origin === undefined) return;
    origin.lanes.delete(lane);
    if (origin.lanes.size > 0) return;
    this.#origins.delete(lane.origin);
    for (const connection of [...origin.idle]) this.#drop(connection);
  }

  /** Closes what has idled for too long; to be called about once a second. */
  sweep(): void {
    for (const connection of this.#idle) if (!connection.canServe) this.#drop(connection);
  }

  /** Closes all that idles. */
  close(): void {
    for (const connection of [...this.#idle]) this.#drop(connection);
    this.#origins.clear();
  }

  #origin(lane: Lane): Origin {
    let origin = this.#origins.get(lane.origin);
    if (origin === undefined) {
      origin = { way: new Way(lane.origin), lanes: new Set(), idle: [] };
      this.#origins.set(lane.origin, origin);
    }
    origin.lanes.add(lane);
    return origin;
  }

  #drop(connection: Connection): void {
    this.#idle.delete(connection);
    const idle = this.#origins.get(connection.way.origin)?.idle ?? [];
    const index = idle.indexOf(connection);
    if (index >= 0) idle.splice(index, 1);
    connection.destroy();
  }
}
