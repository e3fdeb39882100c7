/**
 * One exchange with the bank over mutual TLS.
 *
 * 1. Whether a request may have left is known, not guessed: it leaves in the turn in which undici starts it. What
 *    failed before is surely not done; what failed later, nobody knows.
 * 2. No request is ever written twice: undici may take up one that it never wrote, and a second start is cut off.
 * 3. An exchange ends within its deadline, waiting for its turn included; its body is bounded.
 * 4. What never had its turn, or had it too late to be answered in time, says nothing about the bank.
 */
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { codeOf } from '../../../errors.ts';
import { Semaphore } from '../../../waiting.ts';
import type { ClientIdentity } from './identity.ts';
import { CallFailed, type RawAnswer } from './outcome.ts';

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const HEADERS_BYTES_MAX = 32 * 1024;
const CONNECT_MS = 5_000;
/** Of its whole deadline a call leaves the bank so much at least, where not answering in time is the bank's failure. */
const FAIR_SHARE = 0.5;
/** Gateways turn away who doesn't say what they are. */
const WHO = { 'user-agent': 'pixstate' };

/** The peer's alerts that end a handshake over our certificate. Under TLS 1.3 they come after it looked done. */
const REFUSED_CERTIFICATE =
  /^ERR_SSL_\w*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)/;

export interface Request {
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface LineOptions {
  /** Scheme, host and port. */
  origin: string;
  identity: ClientIdentity;
  /** Certificates of a private authority, PEM; the public ones without. */
  ca: string | null;
  /** How many exchanges at once; more wait for their turn. */
  atOnce: number;
}

/** How exchanges with one host are made. */
export interface Wire {
  /**
   * Ends within its deadline. `wholeMs`: the whole call's, of which a part may be over when the exchange begins.
   * @throws CallFailed `not-done` or `unknown`: there is no answer
   */
  exchange(request: Request, deadlineMs: number, wholeMs?: number): Promise<RawAnswer>;
  /** Ends all connections; what is under way is unknown then. */
  close(): Promise<void>;
}

function aboutCertificate(error: unknown): boolean {
  return REFUSED_CERTIFICATE.test(codeOf(error));
}

/** The connections to one host. */
export class Line implements Wire {
  readonly #pool: Pool;
  /** Not the pool's own queue: what waits there can't be told from what waits for a bank that is hard to reach. */
  readonly #places: Semaphore;

  constructor({ origin, identity, ca, atOnce }: LineOptions) {
    this.#places = new Semaphore(atOnce);
    const connect: buildConnector.BuildOptions = {
      ...identity.tls,
      ...(ca === null ? {} : { ca }),
      timeout: CONNECT_MS,
    };
    this.#pool = new Pool(origin, {
      connect,
      connections: atOnce,
      pipelining: 1,
      // The exchange has one deadline of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADERS_BYTES_MAX,
    });
  }

  async exchange(request: Request, deadlineMs: number, wholeMs = deadlineMs): Promise<RawAnswer> {
    const begun = performance.now();
    const late = `the bank has not answered within ${Math.round(deadlineMs)} ms`;
    if (!(await this.#places.acquire(deadlineMs)))
      throw new CallFailed('not-done', `${late}: as many calls as may be were under way`);
    try {
      const leftMs = Math.max(1, deadlineMs - (performance.now() - begun));
      return await this.#begin(request, leftMs, { late, isBanks: leftMs >= wholeMs * FAIR_SHARE });
    } finally {
      this.#places.release();
    }
  }

  #begin(
    request: Request,
    leftMs: number,
    { late, isBanks }: { late: string; isBanks: boolean },
  ): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const handler = new OneAnswer(resolve, reject);
      const timer = setTimeout(() => handler.giveUp(late, isBanks), leftMs);
      handler.onEnd = () => clearTimeout(timer);
      const { method, path, headers, body = null } = request;
      this.#pool.dispatch({ method, path, headers: { ...WHO, ...headers }, body }, handler);
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Gathers one answer, and knows how far the request has come. */
class OneAnswer implements Dispatcher.DispatchHandler {
  onEnd: () => void = () => {};
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (error: CallFailed) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #ended = false;
  #bytes = 0;
  #status = 0;
  #retryAfter: string | null = null;
  #date: string | null = null;

  constructor(resolve: (answer: RawAnswer) => void, reject: (error: CallFailed) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  giveUp(message: string, isBanks: boolean): void {
    this.#fail(message, isBanks);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended || this.#controller !== null) {
      controller.abort(new Error('the request is not to leave any more'));
      this.#fail('the connection was lost');
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    const { 'retry-after': retryAfter, date } = headers;
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
    this.#date = typeof date === 'string' ? date : null;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > ANSWER_BYTES_MAX) this.#fail(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#ended) return;
    this.#end();
    const body = Buffer.concat(this.#chunks).toString('utf8');
    this.#resolve({ status: this.#status, body, retryAfter: this.#retryAfter, date: this.#date });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (aboutCertificate(error)) {
      this.#end();
      const facts = { concern: 'certificate', isBanks: true } as const;
      this.#reject(new CallFailed('not-done', `the bank refuses our certificate (${codeOf(error)})`, facts));
    } else this.#fail(`the connection failed (${codeOf(error)})`);
  }

  #fail(message: string, isBanks = true): void {
    if (this.#ended) return;
    this.#end();
    const kind = this.#controller === null ? 'not-done' : 'unknown';
    this.#controller?.abort(new Error(message));
    this.#reject(new CallFailed(kind, message, { isBanks }));
  }

  #end(): void {
    this.#ended = true;
    this.onEnd();
  }
}
