/**
 * The access token (OAuth2 client credentials over mutual TLS, RFC 8705): each process its own.
 *
 * 1. All callers share one request for it.
 * 2. It is renewed a minute before its end, or at half its life where that is shorter. To its end it is used as long as
 *    there is no newer one.
 * 3. Without a token the call itself was not made: whatever happened is `not-done`.
 * 4. A bank that answers 429 isn't asked again before its time.
 * 5. A request for it that fails counts for the breaker by itself, once: whoever waits for it may have given up before.
 */

import { jsonOf, objectOf, textIn, wholeIn } from '../reading.ts';
import type { Breaker } from './breaker.ts';
import type { Wire } from './exchange.ts';
import { bankErrorName, CallFailed, type Concern, type RawAnswer, retryAfterMs } from './outcome.ts';
import { Quiet } from './quiet.ts';

const RENEW_BEFORE_MS = 60_000;
/** After a renewal that failed, while the old one is good. */
const RENEW_AGAIN_MS = 1_000;
const DEADLINE_MS = 8_000;
const LIFE_WITHOUT_WORD_S = 300;

export interface Token {
  text: string;
  /** As the bank grants them; null where it doesn't say. */
  scopes: string[] | null;
  /** By the clock that never steps, ms. */
  askedAt: number;
  /** Until when no newer one is asked for. */
  freshUntil: number;
  /** Until when it is used. */
  goodUntil: number;
  /** How far the bank's clock was ahead of ours when it gave the token, ms, to a second; null where it doesn't say. */
  clockAheadMs: number | null;
}

export interface TokensOptions {
  line: Pick<Wire, 'exchange'>;
  breaker: Pick<Breaker, 'begin' | 'failed'>;
  path: string;
  request: { headers: Record<string, string>; body: string };
  /** The wall clock, ms. */
  now(): number;
  /** A clock that never steps, ms. */
  elapsed(): number;
}

const BY_ERROR: Record<string, Concern> = {
  invalid_client: 'credentials',
  unauthorized_client: 'credentials',
  invalid_scope: 'scope',
};
const BY_STATUS: Record<number, Concern> = { 400: 'credentials', 401: 'credentials', 403: 'credentials' };

/** What OAuth calls the error, where that is a plain word; else the bank's own name of it. */
function errorName(body: string): string | null {
  const error = textIn(objectOf(jsonOf(body)), 'error');
  return error !== null && /^[a-z_]{1,60}$/.test(error) ? error : bankErrorName(body);
}

function refusal(answer: RawAnswer, now: number): CallFailed {
  const { status } = answer;
  const name = errorName(answer.body);
  const wait = retryAfterMs(answer.retryAfter, now);
  const isBanks = status >= 500;
  const otherwise = isBanks || status === 429 ? undefined : 'path';
  const concern = (name === null ? undefined : BY_ERROR[name]) ?? BY_STATUS[status] ?? otherwise;
  return new CallFailed(
    'not-done',
    `the bank gives no token: ${status}${name === null ? '' : ` (${name})`}`,
    {
      ...{ status, isBanks },
      ...(name === null ? {} : { name }),
      ...(concern === undefined ? {} : { concern }),
      ...(wait === null ? {} : { retryAfterMs: wait }),
    },
  );
}

export class Tokens {
  /** The bank wants no requests for tokens. */
  readonly quiet: Quiet;
  readonly #options: TokensOptions;
  #token: Token | null = null;
  #asking: Promise<Token> | null = null;

  constructor(options: TokensOptions) {
    this.#options = options;
    this.quiet = new Quiet(options.elapsed);
  }

  /** The token in use; null before the first, and after one was dropped. */
  get current(): Token | null {
    return this.#token;
  }

  /**
   * A token that is good for a call.
   * @throws CallFailed `not-done`
   */
  async get(): Promise<Token> {
    const token = this.#token;
    const now = this.#options.elapsed();
    if (token !== null && now < token.freshUntil) return token;
    this.#asking ??= this.#asked().finally(() => {
      this.#asking = null;
    });
    if (token === null || now >= token.goodUntil) return this.#asking;
    // Nobody waits for the newer one, or hears that there is none.
    this.#asking.catch(() => {});
    return token;
  }

  /**
   * Asks for nothing.
   * @throws CallFailed where there is no token, and the bank wants to be asked for none
   */
  expectGettable(): void {
    const { elapsed } = this.#options;
    if (this.#token === null || elapsed() >= this.#token.goodUntil) this.#expectAskable();
  }

  /** The bank doesn't take it any more. A newer one, which another caller has asked for, stays. */
  drop(token: Token): void {
    if (this.#token === token) this.#token = null;
  }

  /** @throws CallFailed where the bank wants to be asked for none */
  #expectAskable(): void {
    const waitMs = this.quiet.leftMs;
    if (waitMs === 0) return;
    const facts = { retryAfterMs: waitMs, isHeld: true };
    throw new CallFailed('not-done', 'no token: the bank asks not to be asked so often', facts);
  }

  async #asked(): Promise<Token> {
    const { breaker, elapsed } = this.#options;
    const number = breaker.begin();
    try {
      return await this.#ask();
    } catch (error) {
      const token = this.#token;
      if (token !== null) token.freshUntil = Math.min(elapsed() + RENEW_AGAIN_MS, token.goodUntil);
      if (error instanceof CallFailed && error.isBanks) breaker.failed(number, error);
      throw error;
    }
  }

  async #ask(): Promise<Token> {
    const { line, path, request, elapsed, now } = this.#options;
    this.#expectAskable();
    const askedAt = elapsed();
    let answer: RawAnswer;
    try {
      answer = await line.exchange({ method: 'POST', path, ...request }, DEADLINE_MS);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      const { concern } = error;
      throw new CallFailed('not-done', `no token: ${error.message}`, {
        isBanks: true,
        ...(concern === null ? {} : { concern }),
      });
    }
    if (answer.status === 429) this.quiet.begin(retryAfterMs(answer.retryAfter, now()));
    else this.quiet.end();
    if (answer.status < 200 || answer.status >= 300) throw refusal(answer, now());
    this.#token = this.#read(answer, askedAt);
    return this.#token;
  }

  #read({ body, date }: RawAnswer, askedAt: number): Token {
    const answer = objectOf(jsonOf(body));
    const text = textIn(answer, 'access_token');
    // What isn't a token's text could change the request's other headers.
    if (text === null || !/^[\x21-\x7e]+$/.test(text))
      throw new CallFailed('not-done', "the bank's token can't be read", { isBanks: true });
    const lifeMs = (wholeIn(answer, 'expires_in') ?? LIFE_WITHOUT_WORD_S) * 1000;
    const freshUntil = askedAt + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2);
    const scopes = textIn(answer, 'scope')?.split(/\s+/) ?? null;
    const banks = date === null ? Number.NaN : Date.parse(date);
    const clockAheadMs = Number.isNaN(banks) ? null : banks - this.#options.now();
    return { text, scopes, askedAt, freshUntil, goodUntil: askedAt + lifeMs, clockAheadMs };
  }
}
