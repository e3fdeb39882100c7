/**
 * What became of a call that brought no answer to use. Three outcomes, and no fourth: nobody knows, surely not done,
 * surely refused. Whoever moves money goes by them alone.
 */
import { jsonOf, listIn, objectOf, textIn } from '../reading.ts';

/** `unknown`: the bank may have done it. `not-done`: it surely hasn't. `refused`: it says no, for good. */
export type FailureKind = 'unknown' | 'not-done' | 'refused';

/** What ops mend, where a call shows that something of theirs is wrong. */
export type Concern = 'credentials' | 'scope' | 'certificate' | 'path';

export interface FailureFacts {
  /** The answer's status; null without one. */
  status?: number;
  /** The bank's own name of the error, `CobNaoEncontrado` for one. */
  name?: string;
  concern?: Concern;
  /** How long the bank asks to be left alone, ms. */
  retryAfterMs?: number;
  /** The bank failed, or can't be reached: five of these in a row open the breaker. */
  isBanks?: boolean;
  /** The call was held back here: the bank is known to be away, or wants none for a while. */
  isHeld?: boolean;
  /** It wasn't wanted any more by the time that it was to leave. */
  isUnwanted?: boolean;
  /** Which fields the bank finds wrong, `cob.chave` for one. */
  violated?: readonly string[];
}

/** A call without an answer to use. The message names neither secret, key, document nor token. */
export class CallFailed extends Error {
  readonly kind: FailureKind;
  readonly status: number | null;
  readonly bankName: string | null;
  readonly concern: Concern | null;
  readonly retryAfterMs: number | null;
  readonly isBanks: boolean;
  readonly isHeld: boolean;
  readonly isUnwanted: boolean;
  readonly violated: readonly string[];

  constructor(kind: FailureKind, message: string, facts: FailureFacts = {}) {
    super(message);
    this.kind = kind;
    this.status = facts.status ?? null;
    this.bankName = facts.name ?? null;
    this.concern = facts.concern ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.isBanks = facts.isBanks ?? false;
    this.isHeld = facts.isHeld ?? false;
    this.isUnwanted = facts.isUnwanted ?? false;
    this.violated = facts.violated ?? [];
  }
}

/** An answer as it came: status, and the whole body as text. */
export interface RawAnswer {
  status: number;
  body: string;
  /** The header, if the bank sent one. */
  retryAfter: string | null;
  /** The bank's own clock, the header `date`. */
  date: string | null;
}

const NAME = /^[\w.-]{1,80}$/;
const SECONDS = /^\d{1,9}$/;

/** A problem of RFC 7807 that doesn't say of which type it is: a gateway may have written it. */
const ANY_PROBLEM = 'problem';

/**
 * The name of an error in the bank's own words, by which a body is known to be the bank's: the end of a problem's
 * `type`, or Efí's `nome`. Null where the body is somebody else's, a gateway's page for one.
 */
export function bankErrorName(body: string): string | null {
  const error = objectOf(jsonOf(body));
  const name = textIn(error, 'type')?.split('/').at(-1) ?? textIn(error, 'nome');
  if (name !== null && name !== undefined && NAME.test(name)) return name;
  const isProblem = textIn(error, 'title') !== null && textIn(error, 'detail') !== null;
  return isProblem ? ANY_PROBLEM : null;
}

/** A `Retry-After` in ms, in seconds or as a date. */
export function retryAfterMs(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (SECONDS.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

function violatedIn(body: string): string[] {
  return listIn(objectOf(jsonOf(body)), 'violacoes').flatMap((each) => textIn(each, 'propriedade') ?? []);
}

const OF_OPS: Record<number, Concern> = { 401: 'credentials', 403: 'scope' };
const REFUSALS = [400, 422];

/** What an answer that is no success says. `namesPayee`: whether a 404 of this name is about the payee's key. */
export function failureOf(
  answer: RawAnswer,
  now: number,
  namesPayee: (name: string) => boolean = () => false,
): CallFailed {
  const { status, body } = answer;
  const name = bankErrorName(body);
  const wait = retryAfterMs(answer.retryAfter, now);
  const told = name === null ? '' : ` (${name})`;
  const message = `the bank answers ${status}${told}`;
  const facts: FailureFacts = {
    status,
    ...(name === null ? {} : { name }),
    ...(wait === null ? {} : { retryAfterMs: wait }),
  };
  if (status === 429) return new CallFailed('not-done', message, facts);
  const concern = OF_OPS[status];
  if (concern !== undefined) return new CallFailed('not-done', message, { ...facts, concern });
  if (status >= 500) return new CallFailed('unknown', message, { ...facts, isBanks: true });
  if (status < 400 || status === 409) return new CallFailed('unknown', message, facts);
  const isRefusal = REFUSALS.includes(status) || (status === 404 && name !== null && namesPayee(name));
  if (isRefusal && name !== null)
    return new CallFailed('refused', message, { ...facts, violated: violatedIn(body) });
  return new CallFailed('not-done', message, { ...facts, concern: 'path' });
}

/** Names that say so by themselves: Efí answers 400 with `cobranca_nao_encontrada`, for one. */
const SAYS_MISSING = /nao_encontrad[ao]$/;

/** The bank answers in its own words, with a name that is meant: it knows no such thing. */
export function isNotFound({ status, body }: RawAnswer, isMeant: (name: string) => boolean): boolean {
  if (status !== 404 && status !== 400) return false;
  const name = bankErrorName(body);
  if (name === null || name === ANY_PROBLEM || !isMeant(name)) return false;
  return status === 404 || SAYS_MISSING.test(name);
}
