/** Reads what came of a request: an answer, or a failure and whether it may pass. */
import type { FailureBody } from './errors.ts';

/** What may be otherwise a moment later. */
const PASSING = [429, 500, 502, 503, 504];

/** What a call asks for. */
export type Wanted = 'application/json' | 'text/csv';

export interface Answer {
  headers: Headers;
  text: string;
  /** The text as JSON; undefined where it is none. */
  body: unknown;
}

export interface Failure {
  body: FailureBody;
  /** Null: no answer came. */
  httpStatus: number | null;
  requestId: string | null;
  /** How long the server asks to wait; 0 where it doesn't. */
  retryAfterMs: number;
  cause?: unknown;
}

export function isFailure(outcome: Answer | Failure): outcome is Failure {
  return 'httpStatus' in outcome;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** `Retry-After` is seconds or a date. */
function retryAfterMs(headers: Headers): number {
  const text = headers.get('retry-after') ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms > 0 ? ms : 0;
}

function isErrorObject(value: unknown): value is FailureBody {
  return isObject(value) && typeof value.error === 'string' && typeof value.message === 'string';
}

/** Only the API's own error objects are believed: a proxy's page has another status and text. */
function bodyOf(httpStatus: number, body: unknown): FailureBody {
  if (httpStatus >= 400 && isErrorObject(body)) return body;
  return { error: 'UNEXPECTED_ANSWER', message: `The answer ${httpStatus} is not the API's.` };
}

/** What a response says; a success that isn't what was asked for (JSON: an object) is none. */
export async function outcomeOf(response: Response, wanted: Wanted): Promise<Answer | Failure> {
  const { headers, status: httpStatus } = response;
  const text = await response.text();
  const body = parsed(text);
  const isCsv = /^text\/csv(?:;|$)/i.test(headers.get('content-type') ?? '');
  if (response.ok && (wanted === 'text/csv' ? isCsv : isObject(body))) return { headers, text, body };
  const requestId = headers.get('x-request-id');
  return { body: bodyOf(httpStatus, body), httpStatus, requestId, retryAfterMs: retryAfterMs(headers) };
}

/** The request broke, or took too long. */
export function noAnswer(cause: unknown): Failure {
  const body = { error: 'NO_ANSWER', message: 'No answer came from the server.' } as const;
  return { body, httpStatus: null, requestId: null, retryAfterMs: 0, cause };
}

/** Whether another attempt may end otherwise. A bank's refusal stands. */
export function isPassing({ body, httpStatus }: Failure): boolean {
  if (body.error === 'PROCESSING_ERROR') return false;
  return httpStatus === null || PASSING.includes(httpStatus);
}

/**
 * Whether it leaves open what became of a request that changes something (docs/api.md, "Errors"). After a
 * PROCESSING_ERROR nothing was created; but what the bank was asked to cancel may follow.
 */
export function leavesOpen({ body, httpStatus }: Failure, mayFollow: boolean): boolean {
  if (body.error === 'PROCESSING_ERROR') return mayFollow;
  return httpStatus === null || httpStatus < 400 || httpStatus >= 500;
}
