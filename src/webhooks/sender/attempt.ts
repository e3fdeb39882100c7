/**
 * Owns one exchange with a receiver, from connecting to the last byte that is read of the answer.
 *
 * 1. One deadline, counted from the start of connecting; nothing that the receiver sends extends it. Once the status is
 *    there the rest of the answer has a second: its outcome is known, and others wait for its place.
 * 2. One result: the status as soon as the response's headers are there, or the code of what went wrong.
 * 3. The connection is given back after a whole response and destroyed after anything else.
 */
import { signWebhook } from '../../domain/webhook-signature.ts';
import { codeOf } from '../../errors.ts';
import type { Connections } from './connections.ts';
import type { Lane } from './lanes.ts';
import { coded } from './lookup.ts';
import type { Attempted, Send } from './port.ts';
import type { Connection, WireEvents, WireRequest } from './wire/connection.ts';

/**
 * How an exchange ended: `complete` to the last byte, `heardOut` by us once the rest of its answer had had its time,
 * `cut` by anything else after its status was known, `failed` without a status, `timeout` without one before the
 * deadline.
 */
export type Ending = 'complete' | 'heardOut' | 'cut' | 'failed' | 'timeout';

/** The request and surroundings of an attempt; `now` is the clock that it goes by, in ms since the epoch. */
export interface AttemptOptions {
  send: Send;
  lane: Lane;
  path: string;
  timeoutMs: number;
  connections: Connections;
  now: () => number;
  onResult: (result: Attempted) => void;
  /** Called once, after the result, when the connection is free again or gone. */
  onEnd: (ending: Ending) => void;
}

/** How long the rest of an answer is waited for, at most, once its status is there. */
const HEARD_OUT_MS = 1_000;

/** What a header's value may be made of here. */
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * The headers of the contract (section Events) and of Standard Webhooks, signed for this moment.
 * @throws Error where an id or a secret is none
 */
export function webhookHeaders(send: Send, body: Buffer, nowMs: number): Record<string, string> {
  if (!PRINTABLE.test(send.transactionId + send.event + send.eventId)) throw coded('INVALID_REQUEST');
  const timestamp = Math.floor(nowMs / 1000);
  const signatures = send.secrets.map((secret) => signWebhook(secret, send.eventId, timestamp, body));
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'pixstate',
    'X-Webhook-Source': 'payments-api',
    'X-Transaction-Id': send.transactionId,
    'X-Event': send.event,
    'Idempotency-Key': send.eventId,
    'webhook-id': send.eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** The delay that a `Retry-After` header asks for (RFC 9110 10.2.3: seconds or a date), null if it can't be read. */
export function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(text)) return null;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/** The code that merchants and ops see for an error; nothing of its message or stack. */
function errorCode(error: Error): string {
  const code = codeOf(error);
  return /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : 'NETWORK_ERROR';
}

/** One attempt of one delivery; `begin` is called once. */
export class Attempt implements WireEvents {
  readonly #options: AttemptOptions;
  readonly #begunAt: number;
  readonly #begun = performance.now();
  #connection: Connection | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #request: WireRequest | null = null;
  #reported = false;
  #ended = false;
  #repeated = false;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#begunAt = options.now();
  }

  begin(): void {
    const { send, path, timeoutMs, connections, lane } = this.#options;
    this.#deadline = setTimeout(() => this.#onDeadline(), timeoutMs);
    try {
      const body = Buffer.from(send.body);
      this.#request = { path, headers: webhookHeaders(send, body, this.#begunAt), body };
    } catch {
      this.#fail(coded('INVALID_REQUEST'));
      return;
    }
    this.#dispatch(connections.acquire(lane), this.#request);
  }

  /** Cuts the exchange off: no result, no further call. */
  cancel(): void {
    this.#reported = true;
    this.#ended = true;
    clearTimeout(this.#deadline);
    this.#connection?.destroy();
  }

  onStatus(statusCode: number, retryAfter: string | string[] | undefined): void {
    const { now, timeoutMs } = this.#options;
    const wait = statusCode === 429 ? retryAfterMs(retryAfter, now()) : null;
    this.#report(statusCode, null, wait);
    clearTimeout(this.#deadline);
    const leftMs = this.#begun + timeoutMs - performance.now();
    this.#deadline = setTimeout(() => this.#onDeadline(), Math.min(leftMs, HEARD_OUT_MS));
  }

  onComplete(): void {
    this.#end('complete');
  }

  onFailure(error: Error): void {
    if (this.#reported) this.#end('cut');
    else if (this.#request !== null && this.#wasStale(error)) this.#repeat(this.#request);
    else this.#fail(error);
  }

  #dispatch(connection: Connection, request: WireRequest): void {
    this.#connection = connection;
    connection.begin(request, this);
  }

  /** A kept-alive connection that the receiver closed while we took it up: nothing was answered. */
  #wasStale(error: Error): boolean {
    const connection = this.#connection;
    if (this.#repeated || connection === null || connection.served === 0 || connection.heard) return false;
    const code = errorCode(error);
    return code === 'ECONNRESET' || code === 'EPIPE';
  }

  /** Once, on a new connection and within the same deadline: the key makes a second arrival harmless. */
  #repeat(request: WireRequest): void {
    this.#repeated = true;
    this.#connection?.destroy();
    const { connections, lane } = this.#options;
    this.#dispatch(connections.fresh(lane), request);
  }

  /** Where the process stood still, what has come meanwhile counts: it is read before the turn is over. */
  #onDeadline(): void {
    setImmediate(() => this.#onTooLate());
  }

  #onTooLate(): void {
    if (this.#ended) return;
    if (this.#reported) {
      this.#end('heardOut');
      return;
    }
    this.#report(null, 'TIMEOUT', null);
    this.#end('timeout');
  }

  #fail(error: Error): void {
    const code = errorCode(error);
    this.#report(null, code, null);
    this.#end(code === 'ETIMEDOUT' ? 'timeout' : 'failed');
  }

  #report(statusCode: number | null, error: string | null, retryAfter: number | null): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#options.onResult({
      token: this.#options.send.token,
      kind: 'attempted',
      at: this.#begunAt,
      statusCode,
      error,
      durationMs: Math.round(performance.now() - this.#begun),
      retryAfterMs: retryAfter,
    });
  }

  #end(ending: Ending): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    const connection = this.#connection;
    if (connection !== null) {
      if (ending === 'complete') this.#options.connections.giveBack(connection);
      else connection.destroy();
    }
    this.#options.onEnd(ending);
  }
}
