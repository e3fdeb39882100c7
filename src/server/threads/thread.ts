/** Owns the worker of one HTTP thread, from its first word to its end. */
import { Worker } from 'node:worker_threads';
import { asError } from '../../errors.ts';
import { atMost } from '../../waiting.ts';
import { workerEntry } from '../../worker-entry.ts';
import { Answering, type EnginePorts, type ThreadPorts } from './answering.ts';
import { unpack } from './errors.ts';
import type { FromThread, ThreadData, ToThread } from './protocol.ts';

/** Beyond the bound of its requests, before it is stopped by force. */
const DRAIN_MARGIN_MS = 250;

export interface HttpThreadOptions {
  data: ThreadData;
  ports: ThreadPorts;
  /** It ended without having been told to, after it had listened. */
  onDeath(thread: HttpThread, error: Error): void;
  /** Stands in for the worker's module in tests. */
  entry?: URL;
}

export class HttpThread {
  readonly #worker: Worker;
  readonly #answering: Answering;
  readonly #exited: Promise<void>;
  #port = 0;
  #isDraining = false;
  #drained: () => void = () => {};

  private constructor({ data, ports, entry }: HttpThreadOptions) {
    const options = { workerData: data, name: 'http' };
    const worker = new Worker(...workerEntry(import.meta.url, entry ?? './worker', options));
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    this.#answering = new Answering(ports, (replies) => this.#post(replies));
  }

  /** Resolves once it listens. @throws what it could not listen for, or died of before */
  static async open(options: HttpThreadOptions): Promise<HttpThread> {
    const thread = new HttpThread(options);
    await thread.#begin(options.onDeath);
    return thread;
  }

  /** Carries out what its requests want from now on; until then that waits. */
  serve(engine: EnginePorts): void {
    this.#answering.serve(engine);
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#port;
  }

  #begin(onDeath: HttpThreadOptions['onDeath']): Promise<void> {
    return new Promise((resolve, reject) => {
      let failure: Error | null = null;
      this.#worker.on('message', (message: FromThread) => {
        if (message.listening !== undefined) {
          this.#port = message.listening;
          resolve();
        } else if (message.refused !== undefined) {
          this.#isDraining = true;
          reject(unpack(message.refused));
          void this.#worker.terminate();
        } else if (message.drained) this.#drained();
        else this.#answering.take(message);
      });
      this.#worker.on('error', (error) => {
        failure = asError(error);
      });
      this.#worker.once('exit', (code) => {
        this.#answering.end();
        if (this.#isDraining) return;
        const error = failure ?? new Error(`an HTTP thread ended with ${code}`);
        if (this.#port === 0) reject(error);
        else onDeath(this, error);
      });
    });
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Lets its requests end, at most so long, and then itself. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.#post({ drainMs: timeoutMs });
    await atMost(timeoutMs + DRAIN_MARGIN_MS, Promise.race([drained, this.#exited]));
    await this.#worker.terminate();
  }
}
