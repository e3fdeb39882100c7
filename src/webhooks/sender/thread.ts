/**
 * Owns the worker thread that sends, and what is known of it from outside.
 *
 * 1. What is handed over in one turn of the event loop travels in one message.
 * 2. A thread that dies is replaced; what it held is put off, since it may have been sent: at least once.
 * 3. While no thread runs, what comes is put off at once: nothing waits without a bound.
 */

import { Worker } from 'node:worker_threads';
import { asError } from '../../errors.ts';
import { onceATurn } from '../../waiting.ts';
import { workerEntry } from '../../worker-entry.ts';
import type { SenderLimits } from './limits.ts';
import type { Send, SendResult, WebhookSender } from './port.ts';

const RESTART_MIN_MS = 100;
const RESTART_MAX_MS = 5_000;
/** A thread that lived this long died of something new. */
const STEADY_MS = 30_000;
/** Beyond the worker's own bound, before its thread is stopped by force. */
const CLOSE_MARGIN_MS = 500;

/** Options of a sender in a thread of its own; `entry` stands in for the worker's module in tests. */
export interface ThreadSenderOptions {
  allowPrivate: boolean;
  limits: SenderLimits;
  onFailure: (error: Error) => void;
  entry?: URL;
}

/** Sends from a worker thread. */
export class ThreadSender implements WebhookSender {
  readonly #options: ThreadSenderOptions;
  readonly #listeners: Array<(results: SendResult[]) => void> = [];
  /** How often each token is out: accepted and not reported. */
  readonly #out = new Map<string, number>();
  #outgoing: Send[] = [];
  readonly #schedulePost = onceATurn(() => this.#post());
  #worker: Worker | null = null;
  #startedAt = 0;
  #restartMs = RESTART_MIN_MS;
  #restart: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #closed: Promise<void> | null = null;

  constructor(options: ThreadSenderOptions) {
    this.#options = options;
    this.#open();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  send(items: Send[]): void {
    if (this.#closed !== null) return;
    for (const item of items) {
      this.#out.set(item.token, (this.#out.get(item.token) ?? 0) + 1);
      this.#outgoing.push(item);
    }
    this.#inFlight += items.length;
    this.#schedulePost();
  }

  onResults(listener: (results: SendResult[]) => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#restart);
    const worker = this.#worker;
    if (worker !== null) {
      const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      worker.postMessage('close');
      const bound = setTimeout(() => void worker.terminate(), this.#options.limits.closeMs + CLOSE_MARGIN_MS);
      await ended;
      clearTimeout(bound);
    }
    this.#listeners.length = 0;
  }

  #open(): void {
    const { allowPrivate, limits } = this.#options;
    const workerData = { allowPrivate, limits };
    const worker = new Worker(
      ...workerEntry(import.meta.url, this.#options.entry ?? './worker', { workerData }),
    );
    let failure: Error | null = null;
    this.#worker = worker;
    this.#startedAt = performance.now();
    worker.on('message', (results: SendResult[]) => this.#report(results));
    worker.on('error', (error) => {
      failure = asError(error);
    });
    worker.once('exit', (code) => {
      this.#worker = null;
      if (this.#closed === null) this.#replace(failure ?? new Error(`webhook thread ended with ${code}`));
    });
  }

  #replace(error: Error): void {
    if (performance.now() - this.#startedAt > STEADY_MS) this.#restartMs = RESTART_MIN_MS;
    this.#restart = setTimeout(() => this.#open(), this.#restartMs);
    this.#restartMs = Math.min(RESTART_MAX_MS, this.#restartMs * 2);
    this.#outgoing = [];
    this.#putOffAll();
    this.#options.onFailure(error);
  }

  #post(): void {
    if (this.#closed !== null) return;
    const items = this.#outgoing;
    this.#outgoing = [];
    if (this.#worker === null) this.#putOffAll();
    else if (items.length > 0) this.#worker.postMessage(items);
  }

  #putOffAll(): void {
    const results: SendResult[] = [];
    for (const [token, times] of this.#out) {
      for (let time = 0; time < times; time += 1) results.push({ token, kind: 'putOff' });
    }
    this.#report(results);
  }

  #report(results: SendResult[]): void {
    if (results.length === 0) return;
    for (const { token } of results) {
      const times = this.#out.get(token) ?? 0;
      if (times > 1) this.#out.set(token, times - 1);
      else this.#out.delete(token);
    }
    this.#inFlight -= results.length;
    for (const listener of this.#listeners) listener(results);
  }
}
