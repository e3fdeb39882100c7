/** Reads a request's body: bounded, strict UTF-8, JSON of bounded depth. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { ApiError, invalidRequest } from './errors.ts';

export const MAX_BODY_BYTES = 64 * 1024;
/** Deeper than any request needs to be, and far from what recursion can't take. */
const MAX_DEPTH = 32;

function tooLarge(limit: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The request body is larger than ${limit} bytes.`);
}

/** The body's bytes. @throws ApiError PAYLOAD_TOO_LARGE, or INVALID_REQUEST where the caller broke off. */
export async function readBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  const declared = req.headers['content-length'];
  if (declared !== undefined && Number(declared) > limit) throw tooLarge(limit);
  try {
    return await getRawBody(req, { limit, length: declared ?? null });
  } catch (error) {
    if ((error as { type?: string }).type === 'entity.too.large') throw tooLarge(limit);
    throw invalidRequest('The request body could not be read.');
  }
}

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
  }
  return false;
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

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;

/** A body may only come as plain JSON in UTF-8. @throws ApiError INVALID_REQUEST */
export function checkContentType(req: IncomingMessage): void {
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw invalidRequest('The Content-Type must be application/json.');
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw invalidRequest('The request body must not be compressed.');
  }
}

/** A JSON object from a request. @throws ApiError INVALID_REQUEST or PAYLOAD_TOO_LARGE */
export async function readObject(req: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await readBytes(req, MAX_BODY_BYTES);
  checkContentType(req);
  return asObject(parseJson(bytes));
}

/** As `readObject`, but nothing at all is an empty object. */
export async function readOptionalObject(req: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await readBytes(req, MAX_BODY_BYTES);
  if (bytes.length === 0) return {};
  checkContentType(req);
  return asObject(parseJson(bytes));
}

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('The request body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
