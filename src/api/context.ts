/** The state that a request carries from the first check to its handler. */
import type { IncomingMessage as Request } from 'node:http';
import type { Router, RouterContext } from '@koa/router';
import type { DefaultState } from 'koa';
import type { Directory } from '../accounts/directory.ts';
import type { Account } from '../domain/account.ts';
import type { Answer } from '../engine/commands.ts';
import type { SendOptions } from '../engine/engine.ts';
import type { Door, TransactionRecord } from '../engine/journal.ts';
import type { ChargeRequest } from '../engine/new-charge.ts';
import type { IncomingMessage, MessageAnswer, Payments, TransferRequest } from '../engine/payments.ts';
import type { CancelRequest, RefundAnswer, RefundRequest } from '../engine/refunds/orders.ts';
import type { StatementEnd } from '../engine/statement/end.ts';
import type { StatementPage, StatementWish } from '../engine/statement/page.ts';
import type { JournalReads } from '../engine/store.ts';
import { bytesOf } from './body.ts';
import { invalidRequest } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import type { NotCreated, Showing, Shown } from './showing.ts';

export interface RequestState extends DefaultState {
  requestId: string;
  account: Account;
  /** When it gets its 504, ms of `elapsed`. */
  deadline: number;
  /** Set at 504: whoever isn't decided yet is dropped. */
  timedOut: boolean;
  /** The engine has commands of it, and drops them at the deadline. */
  isSent: boolean;
  /** Ends it with 504. */
  timeOut(): void;
}

export type Context = RouterContext<RequestState>;
export type ApiRouter = Router<RequestState>;

/** How a request's commands are carried out. */
export interface CommandOptions extends SendOptions {
  weight: number;
  abandoned(): boolean;
  /** A command that isn't decided by then is dropped, ms of `elapsed`. */
  deadline: number;
  /** Called where the engine, in another thread, has dropped the command at its deadline: no answer comes then. */
  onDropped(): void;
}

/** A page of a statement, once it has its turn; null where the place is none of the account's journal. */
export type ReadPage = (
  account: string,
  wish: StatementWish,
  options: CommandOptions,
) => Promise<StatementPage | null>;

/** The reads that the endpoints need. */
export type ApiReads = Pick<JournalReads, 'head' | 'read' | 'transaction' | 'entries' | 'deliveries'>;

/** What merchants and the bank can have done. */
export interface Acts extends Pick<Payments, 'noteUnknown' | 'noteUndecided'> {
  createCharge(
    account: Account,
    request: ChargeRequest,
    options: CommandOptions,
  ): Promise<Shown | NotCreated>;
  createTransfer(
    account: Account,
    request: TransferRequest,
    options: CommandOptions,
  ): Promise<Shown | NotCreated>;
  refund(account: Account, request: RefundRequest, options: CommandOptions): Promise<RefundAnswer>;
  cancel(account: Account, request: CancelRequest, options: CommandOptions): Promise<Answer>;
  tell(
    record: TransactionRecord,
    incoming: IncomingMessage,
    door: Door,
    options: CommandOptions,
  ): Promise<MessageAnswer>;
  recordInvalid(
    record: TransactionRecord,
    incoming: InvalidIncoming,
    problem: string,
    options: CommandOptions,
  ): Promise<Answer>;
}

/** A message that can't be read, with the id and the data that it came with. */
export type InvalidIncoming = Parameters<Payments['recordInvalid']>[1];

/**
 * The services that the endpoints work with: those of this thread, or of the engine's by messages. Of the store they
 * get reads of journals and no other role: `test/tidy.test.ts` sees to it.
 */
export interface ApiServices {
  journal: ApiReads;
  showing: Showing;
  statement: ReadPage;
  statementEnd: StatementEnd;
  payments: Acts;
  directory: Pick<Directory, 'client'>;
  rateLimit: RateLimit;
  now(): number;
  /** Milliseconds of a clock that never steps, the engine's as well. */
  elapsed(): number;
  /** How long after its deadline a request waits to hear that its commands were dropped; 0 where it drops them itself. */
  patienceMs: number;
  newRequestId(): string;
  trustedProxyHops: number;
  /** Whether the sandbox's endpoints exist. */
  sandbox: boolean;
  bankCallbackSecret: string | null;
}

/** Bytes of a query that are written as %XX, without gaps. */
const ESCAPED = /(?:%[\da-f]{2})+/gi;

/** Whether a query's bytes are text. What is none is read as U+FFFD, which may stand in a text as well. */
function isText(querystring: string): boolean {
  try {
    for (const [bytes] of querystring.matchAll(ESCAPED)) decodeURIComponent(bytes);
    return true;
  } catch {
    return false;
  }
}

/** One value of a query parameter. @throws ApiError INVALID_REQUEST where it is given twice or empty, or is no UTF-8 */
export function queryValue(ctx: Context, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw invalidRequest(`The query parameter ${name} must be given once.`);
  if (value === '') throw invalidRequest(`The query parameter ${name} must not be empty.`);
  if (value.includes('\ufffd') && !isText(ctx.querystring))
    throw invalidRequest('The query is not valid UTF-8.');
  return value;
}

/** Its connection is gone, or the last was said on it: that the request took too long to arrive. */
function hasLeft({ socket }: Request): boolean {
  return socket.destroyed || socket.writableEnded;
}

/** Whether the caller was told 504, or has left. */
export function isAbandoned(ctx: Context): boolean {
  return ctx.state.timedOut || hasLeft(ctx.req);
}

/** A command of this request: dropped if it isn't decided when the caller was told 504 or has left. */
export function sendOptions(ctx: Context): CommandOptions {
  ctx.state.isSent = true;
  return {
    weight: 1_500 + bytesOf(ctx).length * 2,
    abandoned: () => isAbandoned(ctx),
    deadline: ctx.state.deadline,
    onDropped: ctx.state.timeOut,
  };
}
