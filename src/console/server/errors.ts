/** How the console's endpoints fail: the merchants' error object, with codes of their own where those have none. */
import { ApiError } from '../../api/errors.ts';
import { StoreUnavailable } from '../../engine/store.ts';

const STATUS = {
  INVALID_REQUEST: 400,
  WRONG_PEER: 400,
  INVALID_CREDENTIALS: 401,
  SIGN_IN_BY_PROXY: 401,
  WRONG_ORIGIN: 403,
  OPERATORS_ONLY: 403,
  SANDBOX_ONLY: 403,
  NOT_FOUND: 404,
  ACCOUNT_NOT_FOUND: 404,
  TRANSACTION_NOT_FOUND: 404,
  EVENT_NOT_FOUND: 404,
  DELIVERY_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  ITEM_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ACCOUNT_BUSY: 409,
  ACCOUNT_CHANGED: 409,
  ADJUSTMENT_REFUSED: 409,
  DELIVERY_NOT_DEAD: 409,
  DONE_BEFORE: 409,
  ID_REUSED: 409,
  WRONG_HOST: 421,
  RATE_LIMITED: 429,
  TOO_MANY_STREAMS: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ConsoleErrorCode = keyof typeof STATUS;

/** An answer that is an error. */
export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode;
  readonly headers: Record<string, string>;
  /** Further members of the error object. */
  readonly extra: Record<string, unknown>;

  constructor(
    code: ConsoleErrorCode,
    message: string,
    headers: Record<string, string> = {},
    extra: Record<string, unknown> = {},
  ) {
    super(message);
    this.code = code;
    this.headers = headers;
    this.extra = extra;
  }
}

/** What is answered to whatever was thrown. */
export interface Failed {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** The answer to whatever was thrown. */
export function failed(error: unknown): Failed {
  if (error instanceof ApiError) return { status: error.status, headers: error.headers, body: error.body };
  const known =
    error instanceof ConsoleError
      ? error
      : error instanceof StoreUnavailable
        ? new ConsoleError('SERVICE_UNAVAILABLE', 'The store is not available.', { 'Retry-After': '1' })
        : new ConsoleError('INTERNAL_ERROR', 'Internal server error.');
  const { code, message, headers, extra } = known;
  return { status: STATUS[code], headers, body: { error: code, message, ...extra } };
}

export function noTransaction(): ConsoleError {
  return new ConsoleError('TRANSACTION_NOT_FOUND', 'There is no such transaction.');
}
