/**
 * Calls to the bank: a token, one exchange, and what became of it.
 *
 * 1. Nothing that may have been done is repeated here. What is repeated was surely not done: 401 once with a new
 *    token, unless one didn't help calls of the same name just before; 429 after the time that the bank asks for, as
 *    long as the call's deadline lasts.
 * 2. A call that the breaker or a bank's `Retry-After` forbids is `not-done`, at once.
 * 3. Whether an order is wanted still is looked at right before it leaves: it may wait for the bank's `Retry-After`, or
 *    for a token, for as long as its deadline lasts.
 */
import { pause, within } from '../../../waiting.ts';
import { type Answer, jsonOf, objectOf } from '../reading.ts';
import type { Breaker } from './breaker.ts';
import type { Request, Wire } from './exchange.ts';
import {
  CallFailed,
  type Concern,
  type FailureKind,
  failureOf,
  isNotFound,
  type RawAnswer,
} from './outcome.ts';
import { Quiet } from './quiet.ts';
import type { Token, Tokens } from './token.ts';

/** Why calls are held back, and for how long in all: by the bank's word (of this call, or of `token`), or since it is away. */
export type Held = { by: 'limit'; call: string; ms: number } | { by: 'away'; ms: number };

/** A call that has ended, for metrics and logs: it names no key, document or id. */
export interface CallEnded {
  call: string;
  outcome: 'ok' | 'not-found' | FailureKind;
  status: number | null;
  ms: number;
  /** What of ours the call shows to be wrong. */
  concern: Concern | null;
  /** What went wrong; empty where nothing did. */
  message: string;
  /** Null where calls go through. */
  held: Held | null;
}

export interface Call {
  /** What is called, `PUT cob` for one: calls of one name share what the bank says of its limits. */
  name: string;
  request: Request;
  deadlineMs: number;
  /** Whether a 404 of this name is about the payee's key: a refusal. */
  namesPayee?: (name: string) => boolean;
  /** Which names may say that there is no such thing: all, where nothing is said. */
  namesMissing?: (name: string) => boolean;
}

/** An order, and the last look before it leaves: false where it is not to begin any more. */
export type Order = Call & { mayBegin?: (() => Promise<boolean>) | undefined };

const ACCEPTED = { accept: 'application/json, application/problem+json' };

const ANY_NAME = (): boolean => true;

/** Calls of a name that are 401 with a new token, too, have no other dropped for so long: there are banks that give five a minute. */
const UNHELPED_MS = 60_000;

export interface ClientOptions {
  line: Wire;
  tokens: Tokens;
  breaker: Breaker;
  now(): number;
  /** A clock that never steps, ms. */
  elapsed(): number;
  onCall?(ended: CallEnded): void;
}

export class BankClient {
  readonly tokens: Tokens;
  readonly breaker: Breaker;
  readonly #options: ClientOptions;
  /** Calls that the bank doesn't want so often, by their names. */
  readonly #quiets = new Map<string, Quiet>();
  /** Calls that no new token helps, by their names: until when their 401 says nothing of tokens. */
  readonly #unhelped = new Map<string, number>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.tokens = options.tokens;
    this.breaker = options.breaker;
  }

  /**
   * The answer's object; null where the bank, in its own words, knows no such thing.
   * @throws CallFailed
   */
  async ask(call: Call): Promise<Answer | null> {
    return this.#told(call, async () => {
      const raw = await this.#exchange(call);
      if (isNotFound(raw, call.namesMissing ?? ANY_NAME)) return null;
      return this.#read(call, raw);
    });
  }

  /**
   * The answer's object, where not finding is a failure as any other. That a repeat is refused says nothing: `unknown`.
   * @throws CallFailed
   */
  async order(call: Order): Promise<Answer> {
    return this.#told(call, async () => {
      const sent = { times: 0 };
      const raw = await this.#exchange(call, sent);
      if (isSuccess(raw)) return this.#read(call, raw);
      const failure = this.#failure(call, raw);
      if (failure.kind !== 'refused' || sent.times === 1) throw failure;
      // A bank that answered 429 or 401 may have let the order through all the same: then its repeat is refused.
      throw new CallFailed('unknown', failure.message, { status: raw.status });
    });
  }

  /**
   * The answer of a list: an object, or, from some banks, the bare array of its items.
   * @throws CallFailed
   */
  async list(call: Call): Promise<Answer | unknown[]> {
    return this.#told(call, async () => {
      const raw = await this.#exchange(call);
      const items = isSuccess(raw) ? jsonOf(raw.body) : null;
      return Array.isArray(items) ? items : this.#read(call, raw);
    });
  }

  /**
   * For calls whose answer has no body. False: the bank, in its own words, knows no such thing, which `mustBeThere`
   * makes a failure.
   * @throws CallFailed
   */
  async tell(call: Call & { mustBeThere?: boolean }): Promise<boolean> {
    const done = await this.#told(call, async () => {
      const raw = await this.#exchange(call);
      if (call.mustBeThere !== true && isNotFound(raw, ANY_NAME)) return null;
      if (!isSuccess(raw)) throw this.#failure(call, raw);
      return true;
    });
    return done !== null;
  }

  async close(): Promise<void> {
    await this.#options.line.close();
  }

  /** Does a call, and tells of its end. */
  async #told<Result>(call: Call, work: () => Promise<Result>): Promise<Result> {
    const { elapsed, onCall = () => {} } = this.#options;
    const begun = elapsed();
    const number = this.breaker.begin();
    const end = (outcome: CallEnded['outcome'], error: CallFailed | null = null): void =>
      onCall({
        ...{ call: call.name, outcome, ms: elapsed() - begun, status: error?.status ?? null },
        ...{ concern: error?.concern ?? null, message: error?.message ?? '' },
        held: error === null ? null : this.#held(call),
      });
    try {
      const result = await work();
      this.breaker.succeeded(number);
      end(result === null ? 'not-found' : 'ok');
      return result;
    } catch (error) {
      if (error instanceof CallFailed) {
        this.#count(number, error);
        end(error.kind, error);
      }
      throw error;
    }
  }

  /** A bank that says no is there; what never reached it says nothing. */
  #count(number: number, error: CallFailed): void {
    if (!error.isBanks && error.status !== null) this.breaker.succeeded(number);
    if (error.isBanks) this.breaker.failed(number, error);
  }

  async #exchange(call: Order, sent = { times: 0 }): Promise<RawAnswer> {
    const { elapsed } = this.#options;
    // First, so that no call that a limit forbids takes the place of the probe.
    this.#expectUnlimited(call);
    if (!this.breaker.admits())
      throw new CallFailed('not-done', 'the bank is known to be away', { isHeld: true });
    const until = elapsed() + call.deadlineMs;
    let dropped = 0;
    for (;;) {
      await this.#quiet(call, until - elapsed());
      const token = await this.#token(until - elapsed());
      if ((await call.mayBegin?.()) === false)
        throw new CallFailed('not-done', 'the order is not to begin any more', { isUnwanted: true });
      sent.times += 1;
      const raw = await this.#once(call, token, until - elapsed());
      if (raw.status === 401 && dropped === 0 && this.#mayHelp(call)) {
        dropped += 1;
        this.tokens.drop(token);
      } else if (raw.status === 429) this.#leaveAlone(call, raw);
      else {
        this.#quiets.get(call.name)?.end();
        if (raw.status !== 401) this.#unhelped.delete(call.name);
        else if (dropped > 0) this.#unhelped.set(call.name, elapsed() + UNHELPED_MS);
        return raw;
      }
    }
  }

  /** Whether a 401 may be the token's. One kind of call that always ends so would cost all others each good token. */
  #mayHelp({ name }: Call): boolean {
    return this.#options.elapsed() >= (this.#unhelped.get(name) ?? 0);
  }

  #held({ name }: Call): Held | null {
    const ofCall = { call: name, ms: this.#quiets.get(name)?.wholeMs ?? 0 };
    const ofToken = { call: 'token', ms: this.tokens.quiet.wholeMs };
    const longer = ofToken.ms > ofCall.ms ? ofToken : ofCall;
    if (longer.ms > 0) return { by: 'limit', ...longer };
    const ms = this.breaker.openMs;
    return ms > 0 ? { by: 'away', ms } : null;
  }

  /** Whether the bank failed, the request for the token says: it has more time than most who wait for it. */
  #token(leftMs: number): Promise<Token> {
    const late = (): CallFailed => new CallFailed('not-done', 'no token came in time');
    return within(Math.max(0, leftMs), this.tokens.get(), late);
  }

  #once({ request, deadlineMs }: Call, token: Token, leftMs: number): Promise<RawAnswer> {
    const headers = { ...ACCEPTED, ...request.headers, authorization: `Bearer ${token.text}` };
    return this.#options.line.exchange({ ...request, headers }, Math.max(1, leftMs), deadlineMs);
  }

  /** @throws CallFailed where a limit, on such calls or on tokens, surely outlasts the call */
  #expectUnlimited(call: Call): void {
    this.#quietMs(call, call.deadlineMs);
    this.tokens.expectGettable();
  }

  /** Waits until the bank wants to be called again. @throws CallFailed where that is too late */
  async #quiet(call: Call, leftMs: number): Promise<void> {
    const waitMs = this.#quietMs(call, leftMs);
    if (waitMs > 0) await pause(waitMs);
  }

  /** How long the bank wants no such calls. @throws CallFailed where that is too late */
  #quietMs({ name }: Call, leftMs: number): number {
    const waitMs = this.#quiets.get(name)?.leftMs ?? 0;
    if (waitMs === 0 || waitMs < leftMs) return waitMs;
    const facts = { retryAfterMs: waitMs, isHeld: true };
    throw new CallFailed('not-done', 'the bank asks not to be called so often', facts);
  }

  #leaveAlone({ name }: Call, raw: RawAnswer): void {
    const { elapsed, now } = this.#options;
    const quiet = this.#quiets.get(name) ?? new Quiet(elapsed);
    this.#quiets.set(name, quiet);
    quiet.begin(failureOf(raw, now()).retryAfterMs);
  }

  #failure(call: Call, raw: RawAnswer): CallFailed {
    return failureOf(raw, this.#options.now(), call.namesPayee);
  }

  #read(call: Call, raw: RawAnswer): Answer {
    if (!isSuccess(raw)) throw this.#failure(call, raw);
    const answer = objectOf(jsonOf(raw.body));
    return answer ?? throwUnreadable(raw.status);
  }
}

function isSuccess({ status }: RawAnswer): boolean {
  return status >= 200 && status < 300;
}

/** An answer that says it worked, and not what: nobody knows. */
export function throwUnreadable(status: number | null = null): never {
  const facts = status === null ? {} : { status };
  throw new CallFailed('unknown', "the bank's answer can't be read", { ...facts, isBanks: true });
}
