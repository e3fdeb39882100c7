/**
 * A TCP proxy in front of a `mongod`, for networks that stall, reset, slow down, or cut exactly between a request
 * and its answer.
 *
 * A client that knows a replica set talks to the members that the set's configuration names, not to the ones in
 * its connection string: either `directConnection=true`, or a set whose configuration names the proxies
 * (`withProxiedMongod` of `mongodb.ts`).
 */
import { type AddressInfo, createServer, connect as open, type Socket } from 'node:net';
import { type Conditions, cut, Lane } from './tcp-lane.ts';
import { answersTo, MessageSplitter, type Predicate, requestIdOf } from './wire.ts';

/**
 * - `pass`: everything goes through.
 * - `stall`: connections are accepted and read, and nothing goes through, either way, until `pass`.
 * - `refuse`: open connections are reset, new ones as soon as they are there.
 */
export type Mode = 'pass' | 'stall' | 'refuse';

/** A cut that waits for its message. */
export interface Trap {
  /** Resolves once it has cut as often as it should. */
  readonly sprung: Promise<void>;
  /** How often it has cut. */
  readonly cuts: number;
  disarm(): void;
}

export interface TcpProxy {
  readonly port: number;
  /** Connections of clients that are open. */
  readonly connections: number;
  mode(mode: Mode): void;
  /** Resets all open connections now; what they had in hand is lost. */
  reset(): void;
  /** Makes a round trip longer by so much, half of it each way. */
  latency(ms: number): void;
  /**
   * Lets the next request that matches through and cuts its connection when the answer comes: it was done, and
   * the client never hears of it. A number means that so many answers, of whatever requests, still arrive.
   * The driver repeats a retryable write once by itself: `times` 2 cuts that one as well.
   */
  dropAnswersAfter(which: Predicate | number, times?: number): Trap;
  /** Cuts the connection in place of passing the next request that matches: the server never sees it. */
  cutBefore(which: Predicate, times?: number): Trap;
  /** Resets everything and stops listening. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  targetPort: number;
  /** Without it a free one. */
  port?: number;
}

class ArmedTrap implements Trap {
  readonly where: 'before' | 'after';
  readonly sprung: Promise<void>;
  cuts = 0;
  readonly #matches: Predicate;
  /** How many more it takes. */
  #left: number;
  #resolve: () => void = () => {};

  constructor(where: 'before' | 'after', matches: Predicate, times: number) {
    this.where = where;
    this.#matches = matches;
    this.#left = times;
    this.sprung = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Whether it takes this request; then it counts as taken, whenever the cut comes. */
  takes(request: Buffer): boolean {
    if (this.#left === 0 || !this.#matches(request)) return false;
    this.#left -= 1;
    return true;
  }

  cut(): void {
    this.cuts += 1;
    if (this.#left === 0) this.#resolve();
  }

  disarm(): void {
    this.#left = 0;
  }
}

/** Every request but the first `count`. */
function afterSome(count: number): Predicate {
  let seen = 0;
  return () => {
    seen += 1;
    return seen > count;
  };
}

/** One client's connection and its counterpart to the server. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests: Lane;
  readonly #answers: Lane;
  readonly #traps: ReadonlySet<ArmedTrap>;
  /** Requests under way whose answers nobody will get. */
  readonly #doomed = new Map<number, ArmedTrap>();

  /** Resolves once both sides are closed. */
  readonly over: Promise<unknown>;

  constructor(client: Socket, targetPort: number, conditions: Conditions, traps: ReadonlySet<ArmedTrap>) {
    this.#client = client;
    this.#server = open({ port: targetPort, host: '127.0.0.1', noDelay: true });
    this.#traps = traps;
    this.#requests = new Lane(this.#server, conditions, (request) => this.#admitsRequest(request));
    this.#answers = new Lane(this.#client, conditions, (answer) => this.#admitsAnswer(answer));
    this.over = Promise.all([
      this.#join(this.#client, this.#requests),
      this.#join(this.#server, this.#answers),
    ]);
  }

  /** Leads what a socket sends into its lane; resolves once it is closed. */
  #join(source: Socket, lane: Lane): Promise<void> {
    const splitter = new MessageSplitter();
    let abrupt = false;
    source.on('data', (chunk) => {
      try {
        for (const message of splitter.push(chunk)) lane.push({ message });
      } catch {
        this.reset();
      }
    });
    source.on('error', () => {
      abrupt = true;
    });
    return new Promise((resolve) => {
      source.on('close', () => {
        lane.push({ end: abrupt ? 'abrupt' : 'orderly' });
        resolve();
      });
    });
  }

  #admitsRequest(request: Buffer): boolean {
    for (const trap of this.#traps) {
      if (!trap.takes(request)) continue;
      if (trap.where === 'before') {
        this.reset();
        trap.cut();
        return false;
      }
      this.#doomed.set(requestIdOf(request), trap);
    }
    return true;
  }

  #admitsAnswer(answer: Buffer): boolean {
    const trap = this.#doomed.get(answersTo(answer));
    if (trap === undefined) return true;
    this.reset();
    trap.cut();
    return false;
  }

  flush(): void {
    this.#requests.flush();
    this.#answers.flush();
  }

  /** A reset to both sides. */
  reset(): void {
    this.#requests.close();
    this.#answers.close();
    cut(this.#client);
    cut(this.#server);
  }
}

class Proxying implements TcpProxy {
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));
  readonly #links = new Set<Link>();
  readonly #traps = new Set<ArmedTrap>();
  readonly #conditions: Conditions = { stalled: false, delayMs: 0 };
  readonly #targetPort: number;
  #refuses = false;
  #open = 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#open;
  }

  #accept(client: Socket): void {
    if (this.#refuses) {
      client.on('error', () => undefined);
      cut(client);
      return;
    }
    this.#open += 1;
    const link = new Link(client, this.#targetPort, this.#conditions, this.#traps);
    this.#links.add(link);
    client.on('close', () => {
      this.#open -= 1;
    });
    // Later than its client's end: what that one sent last may still be on its way.
    void link.over.then(() => this.#links.delete(link));
  }

  mode(mode: Mode): void {
    this.#refuses = mode === 'refuse';
    this.#conditions.stalled = mode === 'stall';
    if (mode === 'refuse') this.reset();
    if (mode === 'pass') for (const link of this.#links) link.flush();
  }

  reset(): void {
    for (const link of this.#links) link.reset();
    this.#links.clear();
  }

  latency(ms: number): void {
    this.#conditions.delayMs = ms / 2;
  }

  #arm(trap: ArmedTrap): Trap {
    this.#traps.add(trap);
    return trap;
  }

  dropAnswersAfter(which: Predicate | number, times = 1): Trap {
    const matches = typeof which === 'number' ? afterSome(which) : which;
    return this.#arm(new ArmedTrap('after', matches, times));
  }

  cutBefore(which: Predicate, times = 1): Trap {
    return this.#arm(new ArmedTrap('before', which, times));
  }

  async close(): Promise<void> {
    this.#refuses = true;
    this.reset();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Listens on loopback and leads to `targetPort` there. */
export async function startProxy(options: ProxyOptions): Promise<TcpProxy> {
  const proxy = new Proxying(options.targetPort);
  await proxy.listen(options.port ?? 0);
  return proxy;
}
