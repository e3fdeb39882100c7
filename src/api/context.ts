/** The state that a request carries from the first check to its handler. */
import type { IncomingMessage } from 'node:http';
import type { Router, RouterContext } from '@koa/router';
import type { DefaultState } from 'koa';
import type { Directory } from '../accounts/directory.ts';
import type { Account } from '../domain/account.ts';
import type { SendOptions } from '../engine/engine.ts';
import type { Payments } from '../engine/payments.ts';
import type { JournalReads } from '../engine/store.ts';
import { invalidRequest } from './errors.ts';

export interface RequestState extends DefaultState {
  requestId: string;
  account: Account;
  /** Set at 504: whoever isn't decided yet is dropped. */
  timedOut: boolean;
}

export type Context = RouterContext<RequestState>;
export type ApiRouter = Router<RequestState>;

/**
 * The services that the endpoints work with. Of the store they get `JournalReads` and no other role:
 * `test/tidy.test.ts` sees to it.
 */
export interface ApiServices {
  journal: JournalReads;
  payments: Payments;
  directory: Directory;
  now(): number;
  newRequestId(): string;
  trustedProxyHops: number;
  /** Whether the sandbox's endpoints exist. */
  sandbox: boolean;
  bankCallbackSecret: string | null;
}

/** One value of a query parameter. @throws ApiError INVALID_REQUEST where it is given twice or empty */
export function queryValue(ctx: Context, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw invalidRequest(`The query parameter ${name} must be given once.`);
  if (value === '') throw invalidRequest(`The query parameter ${name} must not be empty.`);
  return value;
}

function hasLeft(req: IncomingMessage): boolean {
  return req.socket.destroyed;
}

/** A command of this request: dropped if it isn't decided when the caller was told 504 or has left. */
export function sendOptions(ctx: Context): SendOptions {
  return {
    weight: 1_500 + Number(ctx.req.headers['content-length'] ?? 1_000) * 2,
    abandoned: () => ctx.state.timedOut || hasLeft(ctx.req),
  };
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

export function isUuidV4(text: string): boolean {
  return UUID_V4.test(text);
}
