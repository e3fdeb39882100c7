/**
 * Sends requests, and sends those again that may be: reads, and what a key makes safe. A call ends within its time,
 * with all that it repeats.
 */
import {
  type Answer,
  type Failure,
  isFailure,
  isPassing,
  leavesOpen,
  noAnswer,
  outcomeOf,
  type Wanted,
} from './answers.ts';
import { PixstateError } from './errors.ts';

/** Past the server's own 29 seconds. */
const ATTEMPT_MS = 35_000;
const TIMEOUT_MS = 60_000;
const RETRIES = 4;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4_000;

export interface PixstateOptions {
  /** The API's address with its version, `https://pix.example/v1`; without it where a proxy adds that. */
  baseUrl: string;
  clientId: string;
  /** Belongs on a server, never into a browser or an app. */
  clientSecret: string;
  /** How often a request is sent again, where that is safe: 4 times unless given, 0 for never. */
  retries?: number;
  /** The time of a call in ms, with all that it repeats: 60,000 unless given. */
  timeoutMs?: number;
  /** Sends the requests in the place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** A name that is none of these is one that was misspelt. */
const OPTIONS: Readonly<Record<keyof PixstateOptions, true>> = {
  ...{ baseUrl: true, clientId: true, clientSecret: true },
  ...{ retries: true, timeoutMs: true, fetch: true },
};

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason: `AbortSignal.timeout(ms)` is a deadline. */
  signal?: AbortSignal | undefined;
}

/** How long a call may take; requests that belong together share it. */
export interface Patience extends CallOptions {
  /** By `performance.now()`. */
  endsAt: number;
}

export interface Call {
  method: 'GET' | 'POST';
  /** Below the base address. */
  path: string;
  query?: Record<string, string | undefined>;
  /** JSON, made when the call began: what is sent again is what was sent, whatever the caller's object is by then. */
  body?: string;
  /** Whether sending it again changes nothing more. */
  isRepeatable: boolean;
  /** Whether the bank may still do it after a PROCESSING_ERROR. */
  mayFollow?: true;
}

/** Rejects with the signal's reason where that comes first. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Longer each time, and never the same for all that failed together. */
function backoffMs(attempts: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));
  return (longest * (1 + Math.random())) / 2;
}

/** @throws TypeError */
function addressOf(baseUrl: string): string {
  const { origin, pathname, protocol, search, hash, username, password } = new URL(baseUrl);
  if (!/^https?:$/.test(protocol) || `${search}${hash}${username}${password}` !== '')
    throw new TypeError('baseUrl must be an http or https address without credentials, query and fragment');
  return origin + pathname.replace(/\/+$/, '');
}

/** @throws TypeError */
function authorizationOf(clientId: string, clientSecret: string): string {
  const isPair = typeof clientId === 'string' && typeof clientSecret === 'string';
  if (!isPair || !/^[^:]+$/.test(clientId) || clientSecret === '')
    throw new TypeError('clientId and clientSecret must be those of an account');
  const bytes = new TextEncoder().encode(`${clientId}:${clientSecret}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** @throws TypeError */
function fromZero(name: string, value: number): number {
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`${name} must be a number from 0`);
  return value;
}

/** @throws TypeError */
function timeOf(timeoutMs: number): number {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0))
    throw new TypeError('timeoutMs must be a number above 0');
  return timeoutMs;
}

/** JSON would make null of such a number, which the API takes for one left out: a refund's amount for all of it. */
function finite(_name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError('a request must not hold a number that is not finite');
  return value;
}

/** The text of a body. @throws TypeError for what would not be sent as it is */
export function jsonOf(body: object): string {
  return JSON.stringify(body, finite);
}

function queryOf(query: Call['query'] = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

export class Connection {
  readonly #address: string;
  readonly #authorization: string;
  readonly #retries: number;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  /** @throws TypeError for options that can't be right. */
  constructor(options: PixstateOptions) {
    for (const name of Object.keys(options))
      if (!Object.hasOwn(OPTIONS, name)) throw new TypeError(`${name} is not an option`);
    this.#address = addressOf(options.baseUrl);
    this.#authorization = authorizationOf(options.clientId, options.clientSecret);
    this.#retries = fromZero('retries', options.retries ?? RETRIES);
    if (this.#retries % 1 > 0) throw new TypeError('retries must be a whole number');
    this.#timeoutMs = timeOf(options.timeoutMs ?? TIMEOUT_MS);
    if (options.fetch !== undefined && typeof options.fetch !== 'function')
      throw new TypeError('fetch must be a function');
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** The time that a call has from now on. */
  patience({ signal }: CallOptions): Patience {
    return { signal, endsAt: performance.now() + this.#timeoutMs };
  }

  /** The answer's JSON. @throws PixstateError, or the signal's reason */
  async json<Result>(call: Call, patience: Patience): Promise<Result> {
    return (await this.#send(call, 'application/json', patience)).body as Result;
  }

  /** The answer as CSV. @throws PixstateError, or the signal's reason */
  csv(call: Call, patience: Patience): Promise<Answer> {
    return this.#send(call, 'text/csv', patience);
  }

  async #send(call: Call, accept: Wanted, patience: Patience): Promise<Answer> {
    const { signal, endsAt } = patience;
    let outcomeUnknown = false;
    for (let attempts = 1; ; attempts++) {
      signal?.throwIfAborted();
      const outcome = await this.#attempt(call, accept, patience);
      if (!isFailure(outcome)) return outcome;
      if (call.method !== 'GET' && leavesOpen(outcome, call.mayFollow === true)) outcomeUnknown = true;
      const waitMs = Math.max(backoffMs(attempts), outcome.retryAfterMs);
      const mayRepeat = call.isRepeatable && isPassing(outcome) && attempts <= this.#retries;
      if (!mayRepeat || performance.now() + waitMs >= endsAt) {
        const { body, httpStatus, requestId, cause } = outcome;
        throw new PixstateError(body, { httpStatus, requestId, attempts, outcomeUnknown }, cause);
      }
      await pause(waitMs, signal);
    }
  }

  async #attempt(call: Call, accept: Wanted, { signal, endsAt }: Patience): Promise<Answer | Failure> {
    const { method, path, query, body } = call;
    const ms = Math.max(0, Math.min(ATTEMPT_MS, endsAt - performance.now()));
    const inTime = AbortSignal.timeout(Math.ceil(ms));
    const headers: Record<string, string> = { Authorization: this.#authorization, Accept: accept };
    // A redirect would lead credentials and money astray: it is an unexpected answer.
    const request: RequestInit = { method, headers, redirect: 'manual' };
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      request.body = body;
    }
    request.signal = signal === undefined ? inTime : AbortSignal.any([signal, inTime]);
    try {
      const response = await this.#fetch(`${this.#address}${path}${queryOf(query)}`, request);
      return await outcomeOf(response, accept);
    } catch (error) {
      signal?.throwIfAborted();
      return noAnswer(error);
    }
  }
}
