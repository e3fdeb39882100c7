/** What a request asks for in its address: each parameter once, and nothing that isn't bounded. */
import type { Context } from 'koa';
import { isDay } from '../../domain/time.ts';
import { ConsoleError } from './errors.ts';

const MOST_TEXT = 1_024;
const USUAL_LIMIT = 50;
export const MOST_LIMIT = 100;
/** So long a page of a list looks for what fits it, so that its answer leaves within the 50 ms that are promised. */
export const LIST_MS = 30;
/** RFC 3339, the zone named. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** A part of the path, by its name in the route. */
export function partOf(ctx: Context, name: string): string {
  return String((ctx.params as Record<string, string | undefined>)[name] ?? '');
}

/** A parameter of the query that may stand once. @throws ConsoleError */
export function textOf(ctx: Context, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined || value === '') return null;
  if (typeof value === 'string' && value.length <= MOST_TEXT) return value;
  throw new ConsoleError('INVALID_REQUEST', `${name} may stand once, and have ${MOST_TEXT} characters.`);
}

/** One of a few texts. @throws ConsoleError */
export function oneOf<Text extends string>(ctx: Context, name: string, known: readonly Text[]): Text | null {
  const text = textOf(ctx, name);
  if (text === null) return null;
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw new ConsoleError('INVALID_REQUEST', `${name} must be one of ${known.join(', ')}.`);
}

/** @throws ConsoleError */
export function wholeOf(ctx: Context, name: string): number | null {
  const text = textOf(ctx, name);
  if (text === null) return null;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ConsoleError('INVALID_REQUEST', `${name} must be a whole number.`);
}

/** A text as a time, ms since 1970; null where it is none, as on February 30. */
export function timeIn(text: string): number | null {
  const ms = TIME.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** A time in ms since 1970. @throws ConsoleError */
export function timeOf(ctx: Context, name: string): number | null {
  const text = textOf(ctx, name);
  if (text === null) return null;
  const ms = timeIn(text);
  if (ms !== null) return ms;
  throw new ConsoleError('INVALID_REQUEST', `${name} must be a time such as 2026-11-22T18:00:00Z.`);
}

/** Null: open on that side. @throws ConsoleError where a window of time (ms) ends before it begins */
export function expectInOrder(from: number | null, to: number | null): void {
  if (from !== null && to !== null && from > to)
    throw new ConsoleError('INVALID_REQUEST', 'from must not be after to.');
}

/** Rows of a page. @throws ConsoleError */
export function limitOf(ctx: Context): number {
  const limit = wholeOf(ctx, 'limit') ?? USUAL_LIMIT;
  if (limit > MOST_LIMIT) throw new ConsoleError('INVALID_REQUEST', `limit is at most ${MOST_LIMIT}.`);
  return limit;
}
