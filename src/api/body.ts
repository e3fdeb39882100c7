/** A request's body: raw-body reads its bytes, bounded; here they become JSON: strict UTF-8, of bounded depth. */
import { isUtf8 } from 'node:buffer';
import type { Context, Middleware } from 'koa';
import getRawBody from 'raw-body';
import { isTooDeep } from '../domain/text.ts';
import { ApiError, invalidRequest } from './errors.ts';

export const MAX_BODY_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

declare module 'koa' {
  interface Request {
    /** Its body as it came, once `readBody` has read it. */
    bytes?: Buffer;
  }
}

/** What the functions below need of a request's context. */
type Carrier = Pick<Context, 'req' | 'request'>;

function isCompressed({ req }: Carrier): boolean {
  const encoding = req.headers['content-encoding'];
  return encoding !== undefined && encoding !== 'identity';
}

/** Why a body is refused that could not be read whole. */
function unread(error: { type?: string }, limit: number): ApiError {
  return error.type === 'entity.too.large'
    ? new ApiError('PAYLOAD_TOO_LARGE', `The request body is larger than ${limit} bytes.`)
    : invalidRequest('The request body could not be read.');
}

/** Looks once more at who sends a body, where it took long; else null. @throws ApiError */
export type LookAgain = (ctx: Context) => Promise<void> | null;

/**
 * Reads a route's bodies, for `bytesOf`, `objectOf` and `optionalObjectOf`. A body that is refused for its type or
 * encoding is read all the same: its size comes first (413), and a callback's signature is of its bytes. Before all of
 * that comes who sends it, now as when its headers came: `lookAgain` is asked once the body is there, or refused.
 * @throws ApiError PAYLOAD_TOO_LARGE, INVALID_REQUEST where the caller broke off, or what `lookAgain` throws
 */
export function readBody(limit: number, lookAgain: LookAgain = () => null): Middleware {
  return async (ctx, next) => {
    const length = ctx.req.headers['content-length'] ?? null;
    const read = await getRawBody(ctx.req, { limit, length }).catch((error) => unread(error, limit));
    const looking = lookAgain(ctx);
    if (looking !== null) await looking;
    if (read instanceof ApiError) throw read;
    ctx.request.bytes = read;
    return next();
  };
}

/** A body's bytes as they came, after `readBody`; empty where there was none. */
export function bytesOf({ request }: Carrier): Buffer {
  return request.bytes ?? EMPTY;
}

/** The JSON value of a body. @throws ApiError INVALID_REQUEST */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalidRequest('The request body is not valid UTF-8.');
  if (isTooDeep(bytes)) throw invalidRequest('The request body is nested too deeply.');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw invalidRequest('The request body is not valid JSON.');
  }
}

/** No two parts of it take the same blanks: else a long row of them would take time by the square of its length. */
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?(?:;\s*)?$/i;

/** A body may only come as plain JSON in UTF-8. @throws ApiError INVALID_REQUEST */
export function checkContentType(ctx: Carrier): void {
  if (!JSON_TYPE.test(ctx.req.headers['content-type'] ?? '')) {
    throw invalidRequest('The Content-Type must be application/json.');
  }
  if (isCompressed(ctx)) throw invalidRequest('The request body must not be compressed.');
}

/** A JSON object from a body, after `readBody`. @throws ApiError INVALID_REQUEST */
export function objectOf(ctx: Carrier): Record<string, unknown> {
  checkContentType(ctx);
  return asObject(parseJson(bytesOf(ctx)));
}

/** As `objectOf`, but nothing at all is an empty object. */
export function optionalObjectOf(ctx: Carrier): Record<string, unknown> {
  return bytesOf(ctx).length === 0 ? {} : objectOf(ctx);
}

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('The request body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
