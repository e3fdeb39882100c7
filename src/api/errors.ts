/** The one table from error codes to HTTP (contract, "Errors"; decisions, "further errors"). */
import type { FieldError } from '../domain/message-data.ts';

const STATUS = {
  INVALID_REQUEST: 400,
  VALIDATION_ERROR: 400,
  INSUFFICIENT_BALANCE: 400,
  INVALID_CREDENTIALS: 401,
  IP_NOT_ALLOWED: 403,
  USER_INACTIVE: 403,
  ACCOUNT_INACTIVE: 403,
  TRANSACTION_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DUPLICATE_REQUEST: 409,
  MESSAGE_NOT_ACCEPTED: 409,
  REFUND_NOT_POSSIBLE: 409,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  PROCESSING_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 504,
} as const;

export type ErrorCode = keyof typeof STATUS;

export const ERROR_CODES = Object.keys(STATUS) as ErrorCode[];

/** An answer that is an error: what the caller sees, and nothing else. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    extra: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    super(message);
    this.code = code;
    this.status = STATUS[code];
    this.extra = extra;
    this.headers = headers;
  }

  /** The error object. */
  get body(): Record<string, unknown> {
    return { error: this.code, message: this.message, ...this.extra };
  }
}

export function invalidRequest(message: string): ApiError {
  return new ApiError('INVALID_REQUEST', message);
}

export function validationError(details: readonly FieldError[]): ApiError {
  return new ApiError('VALIDATION_ERROR', 'One or more fields are invalid.', { details });
}

export function notFound(): ApiError {
  return new ApiError('TRANSACTION_NOT_FOUND', 'Transaction not found.');
}

/** 503: the caller may come again. */
export function unavailable(message: string): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', message, {}, { 'Retry-After': '1' });
}
