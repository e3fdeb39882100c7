/** What a request is for, as it says itself: a path, or a whole URL, which need not be one. */
import type Koa from 'koa';
import { invalidRequest } from './errors.ts';

/** @throws ApiError where `ctx.path` and what Koa makes of it can't be read: a URL of which a part makes no sense */
export function checkTarget(ctx: Koa.Context): void {
  try {
    void ctx.path;
  } catch {
    throw invalidRequest('The request target is not a valid URL.');
  }
}

/** For the log, whatever it is: without its query. */
export function targetOf({ req }: Koa.Context): string {
  return req.url?.split('?')[0] ?? '';
}
