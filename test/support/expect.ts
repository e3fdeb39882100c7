import * as assert from 'uvu/assert';
import type { Reply } from './client.ts';
import { type Json, keys, list, object, text } from './json.ts';
import { packageRoot } from './process.ts';

export const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const endToEndId = /^E[0-9A-Z]{8}\d{12}[0-9A-Za-z]{11}$/;
/** A well-formed UUID v4 of no transaction. */
export const unknownId = '00000000-0000-4000-8000-000000000000';

/** What a response must never show: stack traces and paths of the server's files. */
const leak = /node_modules|\bat .+:\d+:\d+|\.[jt]s:\d+|dist\/|"stack"|\/(home|root|tmp|usr|var|opt)\//;

/** Asserts that a text shows nothing of the server's inside. */
export function expectNoLeak(shown: string): void {
  const found = shown.includes(packageRoot) ? packageRoot : (leak.exec(shown)?.[0] ?? null);
  assert.is(found, null, `leaks: ${shown.slice(0, 500)}`);
}

/** Asserts a response that carries the error object, and returns its body. */
export function expectError(reply: Reply, status: number, code: string): Json {
  assert.is(reply.status, status, `${status} ${code} expected, got ${reply.status}: ${reply.text}`);
  assert.match(reply.headers['content-type'] ?? '', /^application\/json\b/);
  assert.is(text(reply.body, 'error'), code, reply.text);
  assert.ok(text(reply.body, 'message').length > 0, 'the message is empty');
  assert.match(reply.headers['x-request-id'] ?? '', /^[\x20-\x7e]{1,128}$/);
  expectNoLeak(reply.text);
  return reply.body;
}

/** Asserts a `VALIDATION_ERROR` and returns the sorted names of the fields in its details. */
export function expectInvalid(reply: Reply): string[] {
  const body = expectError(reply, 400, 'VALIDATION_ERROR');
  assert.equal(keys(body), ['details', 'error', 'message']);
  const details = list(body, 'details');
  assert.ok(details.length > 0, 'no details');
  for (const detail of details) {
    assert.equal(keys(detail), ['field', 'message']);
    assert.ok(text(detail, 'message').length > 0, 'a detail has no message');
  }
  return [...new Set(details.map((detail) => text(detail, 'field')))].sort();
}

/** Asserts a `VALIDATION_ERROR` of exactly the given fields. */
export function expectInvalidFields(reply: Reply, fields: string[]): void {
  assert.equal(expectInvalid(reply), [...fields].sort(), reply.text);
}

/** Asserts a success status and returns the body's object. */
export function expectStatus(reply: Reply, status: number): Json {
  assert.is(reply.status, status, `${status} expected, got ${reply.status}: ${reply.text}`);
  assert.match(reply.headers['content-type'] ?? '', /^application\/json\b/);
  object(reply.body);
  return reply.body;
}

/** Expects work to fail, by an error of that kind. */
export async function expectRejection(
  work: Promise<unknown>,
  kind: new (...parts: never[]) => Error = Error,
): Promise<void> {
  const error = await work.catch((reason: unknown) => reason);
  assert.instance(error, kind, String(error));
}

/** The error of a kind that work rejects with. @throws whatever else it rejects with */
export async function rejectionOf<Failure extends Error>(
  kind: abstract new (...parts: never[]) => Failure,
  work: Promise<unknown>,
): Promise<Failure> {
  try {
    await work;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error(`it did not fail with a ${kind.name}`);
}
