/**
 * Owns a sender that runs in the thread it was opened in: the queue, the connections and the attempts under way.
 *
 * 1. Every accepted item is reported once, in batches of one turn of the event loop, until `close`.
 * 2. After `close` nothing is left: no socket, no timer.
 */

import { Lately, Numbered } from '../../passing.ts';
import { onceATurn } from '../../waiting.ts';
import { Attempt } from './attempt.ts';
import { Connections } from './connections.ts';
import type { Slot } from './lanes.ts';
import type { SenderLimits } from './limits.ts';
import { AddressLookup } from './lookup.ts';
import type { Send, SendResult, WebhookSender } from './port.ts';
import { OriginQueue, type UrlParts } from './queue.ts';

const SWEEP_MS = 1_000;
/** Whoever listens gets on with other work between two such pages. */
const REPORTED_TOGETHER = 512;
/** URLs whose parts are remembered, at least. */
const URLS = 1_000;

function partsOf(text: string): UrlParts | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, pathname, search } = new URL(text);
  return /^https?:$/.test(protocol) ? { origin, pathname, search } : null;
}

/** Options of a sender in the own thread; `now` is the wall clock in ms since the epoch. */
export interface LocalSenderOptions {
  allowPrivate: boolean;
  limits: SenderLimits;
  now: () => number;
}

/** Sends from the own thread. */
export class LocalSender implements WebhookSender {
  readonly #options: LocalSenderOptions;
  readonly #connections: Connections;
  readonly #queue: OriginQueue;
  readonly #attempts = new Numbered<Attempt>();
  readonly #listeners: Array<(results: SendResult[]) => void> = [];
  readonly #sweeper: NodeJS.Timeout;
  #results: SendResult[] = [];
  readonly #scheduleFlush = onceATurn(() => this.#flush());
  #inFlight = 0;
  /** By their texts. */
  readonly #urls = new Lately<UrlParts | null>(URLS);
  #closed: Promise<void> | null = null;
  #onQuiet: (() => void) | null = null;

  constructor(options: LocalSenderOptions) {
    const { allowPrivate, limits } = options;
    this.#options = options;
    const lookup = new AddressLookup({ allowPrivate });
    this.#connections = new Connections({ allowPrivate, lookup, maxIdle: limits.maxInFlight });
    this.#queue = new OriginQueue(limits, {
      start: (slot) => this.#start(slot),
      putOff: (token) => this.#report({ token, kind: 'putOff' }),
      release: (lane) => this.#connections.release(lane),
      clock: () => performance.now(),
    });
    const sweepMs = Math.min(SWEEP_MS, limits.idleMs, limits.maxWaitMs);
    this.#sweeper = setInterval(() => {
      this.#queue.sweep();
      this.#connections.sweep();
    }, sweepMs).unref();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  send(items: Send[]): void {
    if (this.#closed !== null) return;
    this.#inFlight += items.length;
    for (const item of items) {
      const url = this.#parsed(item.url);
      if (url === null) this.#reportInvalidUrl(item);
      else this.#queue.add(item, url);
    }
  }

  /** A URL's parts; null where it is none of HTTP's. The same come again and again. */
  #parsed(text: string): UrlParts | null {
    const known = this.#urls.get(text);
    if (known !== undefined) return known;
    const parts = partsOf(text);
    this.#urls.set(text, parts);
    return parts;
  }

  onResults(listener: (results: SendResult[]) => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#queue.clear();
    if (this.#attempts.size > 0) {
      await new Promise<void>((resolve) => {
        const bound = setTimeout(resolve, this.#options.limits.closeMs);
        this.#onQuiet = () => {
          clearTimeout(bound);
          resolve();
        };
      });
    }
    for (const [number, attempt] of this.#attempts) {
      attempt.cancel();
      this.#attempts.take(number);
    }
    while (this.#results.length > 0) this.#flush();
    this.#listeners.length = 0;
    this.#queue.clear();
    this.#connections.close();
  }

  #start(slot: Slot): void {
    const { send, target } = slot;
    const attempt = new Attempt({
      send,
      lane: target.lane,
      path: target.path,
      timeoutMs: this.#options.limits.timeoutMs,
      connections: this.#connections,
      now: () => this.#nowFor(send),
      onResult: (result) => {
        if (result.statusCode !== null) this.#queue.answered(slot);
        this.#report(result);
      },
      onEnd: (ending) => {
        this.#attempts.take(number);
        this.#queue.ended(slot, ending);
        if (this.#attempts.size === 0) this.#onQuiet?.();
      },
    });
    const number = this.#attempts.put(attempt);
    attempt.begin();
  }

  #nowFor({ ahead = 0 }: Send): number {
    return this.#options.now() + ahead;
  }

  #reportInvalidUrl(item: Send): void {
    const at = this.#nowFor(item);
    const nothing = { statusCode: null, durationMs: 0, retryAfterMs: null };
    this.#report({ token: item.token, kind: 'attempted', at, error: 'INVALID_URL', ...nothing });
  }

  #report(result: SendResult): void {
    this.#results.push(result);
    this.#scheduleFlush();
  }

  #flush(): void {
    const results = this.#results.splice(0, REPORTED_TOGETHER);
    if (results.length === 0) return;
    if (this.#results.length > 0) this.#scheduleFlush();
    this.#inFlight -= results.length;
    for (const listener of this.#listeners) listener(results);
  }
}
