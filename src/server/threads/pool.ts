/**
 * The HTTP threads of a server, behind one port.
 *
 * 1. One thread has the port for itself. Several share it, and before them it is bound once without sharing, so that
 *    a second server on it is refused.
 * 2. A thread that dies is replaced, and what it waited for is dropped. The third death within a minute is fatal:
 *    what kills them would kill the next one.
 * 3. They listen before the store is open, and serve once `serve` has given them the engine.
 */
import { asError, OperatorError, textOf } from '../../errors.ts';
import { type RunningServer, tryPort } from '../http.ts';
import type { EnginePorts, ThreadPorts } from './answering.ts';
import type { ThreadData } from './protocol.ts';
import { HttpThread } from './thread.ts';

const MOST_DEATHS = 3;
const DEATHS_MS = 60_000;

export interface PoolOptions {
  threads: number;
  data: Omit<ThreadData, 'shared'>;
  ports: ThreadPorts;
  /** A thread died, and another takes its place. */
  onFailure(error: Error): void;
  /** The process must end. */
  onFatal(error: OperatorError): void;
  /** Stands in for the worker's module in tests. */
  entry?: URL;
}

export class HttpThreads implements RunningServer {
  readonly #options: PoolOptions;
  readonly #threads = new Set<HttpThread>();
  readonly #deaths: number[] = [];
  #port: number;
  #engine: EnginePorts | null = null;
  #drainMs: number | null = null;

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#port = options.data.port;
  }

  /** Resolves once all of them listen. @throws what the port can't be listened on for */
  static async open(options: PoolOptions): Promise<HttpThreads> {
    const pool = new HttpThreads(options);
    const { host, port } = options.data;
    if (options.threads > 1) pool.#port = await tryPort(host, port);
    try {
      for (let count = 0; count < options.threads; count += 1) await pool.#add();
    } catch (error) {
      await pool.drain(0);
      throw error;
    }
    return pool;
  }

  get port(): number {
    return this.#port;
  }

  /** Carries out what requests want, from now on. */
  serve(engine: EnginePorts): void {
    this.#engine = engine;
    for (const thread of this.#threads) thread.serve(engine);
  }

  async #add(): Promise<void> {
    const { data, ports, threads, entry } = this.#options;
    const thread = await HttpThread.open({
      data: { ...data, port: this.#port, shared: threads > 1 },
      ports,
      onDeath: (dead, error) => {
        this.#threads.delete(dead);
        this.#replace(error);
      },
      ...(entry === undefined ? {} : { entry }),
    });
    if (this.#engine !== null) thread.serve(this.#engine);
    this.#threads.add(thread);
    this.#port = thread.port;
    if (this.#drainMs !== null) await this.#end(thread, this.#drainMs);
  }

  #replace(error: Error): void {
    if (this.#drainMs !== null) return;
    const { onFailure, onFatal } = this.#options;
    const now = performance.now();
    this.#deaths.push(now);
    while ((this.#deaths[0] ?? now) < now - DEATHS_MS) this.#deaths.shift();
    if (this.#deaths.length >= MOST_DEATHS) {
      const times = `${MOST_DEATHS} times within ${DEATHS_MS / 1000} s`;
      onFatal(new OperatorError(`HTTP threads have died ${times}, the last one of: ${textOf(error)}`));
      return;
    }
    onFailure(error);
    this.#add().catch((next: unknown) => this.#replace(asError(next)));
  }

  async #end(thread: HttpThread, drainMs: number): Promise<void> {
    await thread.drain(drainMs);
    this.#threads.delete(thread);
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#drainMs = timeoutMs;
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, timeoutMs)));
  }
}
