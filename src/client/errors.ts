/** What a call may fail with: one class, and a union by `code`. */
import type { Error as ErrorObject } from './types.ts';

/** No answer came: no connection, one that broke, or none within the time. */
interface NoAnswer {
  error: 'NO_ANSWER';
  message: string;
}

/** An answer came that isn't the API's: a proxy's page, a redirect. */
interface UnexpectedAnswer {
  error: 'UNEXPECTED_ANSWER';
  message: string;
}

export type FailureBody = ErrorObject | NoAnswer | UnexpectedAnswer;

/** The API's codes (docs/api.md, "Errors"), and the client's own two. A later server may send others. */
export type ErrorCode = FailureBody['error'];

/** An error's members: `code`, those that only this code has, and whether there is a status. */
type Told<Body> = Body extends { error: infer Code }
  ? { readonly code: Code; readonly httpStatus: Code extends 'NO_ANSWER' ? null : number } & Readonly<
      Omit<Body, 'error' | 'message'>
    >
  : never;

/** How a call came to its end. */
export interface Ending {
  /** Null: no answer came. */
  httpStatus: number | null;
  requestId: string | null;
  attempts: number;
  outcomeUnknown: boolean;
}

class CallFailed extends Error implements Ending {
  override readonly name = 'PixstateError';
  readonly code: ErrorCode;
  /** The answer's status; null where none came. */
  readonly httpStatus: number | null;
  /** The answer's `X-Request-Id`, which the server's log has as well; null where none came. */
  readonly requestId: string | null;
  /** How often the request was sent. */
  readonly attempts: number;
  /**
   * Whether it may have taken effect all the same: no answer came, or one that doesn't say. Ask how things stand, or
   * send it again with the same idempotency key. Always false of what only reads.
   */
  readonly outcomeUnknown: boolean;

  constructor({ error, message, ...more }: FailureBody, ending: Ending, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = error;
    this.httpStatus = ending.httpStatus;
    this.requestId = ending.requestId;
    this.attempts = ending.attempts;
    this.outcomeUnknown = ending.outcomeUnknown;
    // What an answer brings may not take the place of what the client itself knows.
    for (const [name, value] of Object.entries(more))
      if (!(name in this)) Object.assign(this, { [name]: value });
  }
}

/**
 * A call that failed: a union by `code`. After a look at it TypeScript knows what else there is: `details` of
 * VALIDATION_ERROR, `transactionId` and `refundId` of DUPLICATE_REQUEST, `status` and `allowed` of
 * MESSAGE_NOT_ACCEPTED, `status` of REFUND_NOT_POSSIBLE, and that every code but NO_ANSWER has an `httpStatus`.
 */
export type PixstateError = CallFailed & Told<FailureBody>;

/** The class, as `instanceof` and tests of applications take it: what it makes has the members of its code. */
interface PixstateErrorClass {
  readonly prototype: PixstateError;
  new (body: FailureBody, ending: Ending, cause?: unknown): PixstateError;
}

export const PixstateError = CallFailed as PixstateErrorClass;
