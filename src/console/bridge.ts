/**
 * The engine's side of the console: owns its thread, and does for it what only this thread can.
 *
 * 1. The thread serves, reads and checks; here nothing is done but when it asks, so that it costs others nothing.
 * 2. A thread that dies is replaced at the same port, at once or after a pause where that comes often. The process goes
 *    on without it.
 */
import { Worker } from 'node:worker_threads';
import { type AttentionItem, StoreUnavailable } from '../engine/store.ts';
import { asError, textOf } from '../errors.ts';
import type { RunningServer } from '../server/http.ts';
import { unpack } from '../server/threads/errors.ts';
import { pause } from '../waiting.ts';
import { workerEntry } from '../worker-entry.ts';
import type { Acts } from './acts/acts.ts';
import type { PassMarks } from './passes.ts';
import type {
  ConsoleData,
  ConsoleLog,
  FromConsole,
  Granted,
  LogLine,
  MetricsText,
  SeenUrls,
  Tally,
  ToConsole,
  Wish,
} from './protocol.ts';

/** Beyond the bound of its requests, before it is stopped by force. */
const DRAIN_MARGIN_MS = 250;
/** Deaths within this time are followed by a pause. */
const OFTEN_MS = 10_000;
const PAUSE_MS = 5_000;
/** A thread that wants more memory is replaced; the engine's is not touched by it. */
const LIMITS = { maxOldGenerationSizeMb: 192 };

export interface BridgeOptions {
  data: ConsoleData;
  marks: Pick<PassMarks, 'swapMark'>;
  metrics(): Promise<MetricsText>;
  /** How URLs do: of one account, or the worst of all (null). */
  urls(account: string | null): SeenUrls;
  /** Does what operators wish for. */
  acts: Pick<Acts, 'act' | 'run' | 'close'>;
  tally(): Tally;
  /** Puts an item on the list of what needs a person. */
  note(item: AttentionItem): Promise<void>;
  /** The journal was read again, up to what was written then (ms since 1970). */
  onFollowed(at: number): void;
  /** The server's own. */
  log: ConsoleLog;
  /** The thread died, and another takes its place. */
  onFailure(error: Error): void;
}

/** The error of a port that can't be listened on, as node gives it. */
function portError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

export class ConsoleBridge implements RunningServer {
  readonly #options: BridgeOptions;
  /** Resolves once it listens. Rejects with what the port can't be listened on for; nothing runs then. */
  readonly listening: Promise<void>;
  #worker: Worker | null = null;
  #port: number;
  #isDraining = false;
  #drained: () => void = () => {};
  #diedAt = Number.NEGATIVE_INFINITY;

  /** Starts the thread, and doesn't wait for it. */
  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#port = options.data.port;
    this.listening = this.#begin();
    this.listening.catch(() => {});
  }

  /** The port that it listens on; before it listens, the one that was asked for. */
  get port(): number {
    return this.#port;
  }

  /** The thread's worker, for tests that end it. */
  get worker(): Worker | null {
    return this.#worker;
  }

  #begin(): Promise<void> {
    const data: ConsoleData = { ...this.#options.data, port: this.#port };
    const options = { workerData: data, name: 'console', resourceLimits: LIMITS };
    const worker = new Worker(...workerEntry(import.meta.url, './server/thread', options));
    this.#worker = worker;
    return new Promise((resolve, reject) => {
      let failure: Error | null = null;
      let isRefused = false;
      worker.on('message', (message: FromConsole) => {
        if (message.kind === 'listening') {
          this.#port = message.port;
          resolve();
        } else if (message.kind === 'refused') {
          isRefused = true;
          reject(portError(message.code));
          void worker.terminate();
        } else if (message.kind === 'drained') this.#drained();
        else if (message.kind === 'followed') this.#options.onFollowed(message.at);
        else if (message.kind === 'log') this.#log(message.line);
        else void this.#grant(worker, message.number, message.wish);
      });
      worker.on('error', (error) => {
        failure = asError(error);
      });
      worker.once('exit', (code) => {
        this.#worker = null;
        this.#drained();
        if (isRefused || this.#isDraining) return;
        const error = failure ?? new Error(`the console's thread ended with ${code}`);
        this.#replace(error).then(resolve, reject);
      });
    });
  }

  /** Resolves once another thread listens. */
  async #replace(error: Error): Promise<void> {
    this.#options.onFailure(error);
    const isOften = performance.now() - this.#diedAt < OFTEN_MS;
    this.#diedAt = performance.now();
    if (isOften) await pause(PAUSE_MS);
    if (this.#isDraining) return;
    try {
      await this.#begin();
    } catch (next) {
      // The port is somebody else's now, and may come free.
      await this.#replace(asError(next));
    }
  }

  #log({ level, facts, error, text }: LogLine): void {
    this.#options.log[level](error === null ? facts : { err: unpack(error), ...facts }, text);
  }

  async #grant(worker: Worker, number: number, wish: Wish): Promise<void> {
    const say = (message: ToConsole): void => worker.postMessage(message);
    try {
      say({ kind: 'granted', number, granted: await this.#done(wish) });
    } catch (error) {
      const unavailable = error instanceof StoreUnavailable;
      say({ kind: 'failed', number, unavailable, message: textOf(error) });
    }
  }

  async #done(wish: Wish): Promise<Granted> {
    const { marks, metrics, urls, acts, tally, note } = this.#options;
    switch (wish.what) {
      case 'metrics':
        return metrics();
      case 'swapMark':
        return marks.swapMark(wish.name, wish.before, wish.text);
      case 'urls':
        return urls(wish.account);
      case 'act':
        return acts.act(wish.wish);
      case 'run':
        return acts.run(wish.id);
      case 'tally':
        return tally();
      case 'note':
        await note(wish.item);
        return true;
    }
  }

  /** Lets its requests end, at most so long, and then itself. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const ended = this.#options.acts.close();
    const worker = this.#worker;
    if (worker === null) return ended;
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    worker.postMessage({ kind: 'drain', timeoutMs } satisfies ToConsole);
    const late = setTimeout(() => this.#drained(), timeoutMs + DRAIN_MARGIN_MS);
    await drained;
    clearTimeout(late);
    await worker.terminate();
    await ended;
  }
}
