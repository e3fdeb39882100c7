/**
 * The API: one Koa application. Order of a request: id, authentication (below the base address), path and
 * method, rate limit, size and body, validation, handler. Whatever goes wrong ends in the error object.
 */
import { Router } from '@koa/router';
import Koa from 'koa';
import { readNumberingPlans } from '../domain/people/contact.ts';
import { Abandoned, Overloaded } from '../engine/actors/host.ts';
import { BankRefused } from '../engine/bank.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { readBalance, readDeliveries } from './account-endpoints.ts';
import { authenticate } from './auth.ts';
import { MAX_BODY_BYTES, readBody } from './body.ts';
import { MAX_CALLBACK_BYTES, receiveCallbacks } from './callbacks.ts';
import type { ApiRouter, ApiServices, Context, RequestState } from './context.ts';
import { ApiError, unavailable } from './errors.ts';
import { openApiDocument } from './openapi/document.ts';
import { BURST, RATE_PER_SECOND } from './rate-limit.ts';
import { cancelCharge, createRefund, listRefunds, readRefund } from './refunds.ts';
import { pay, sendMessage } from './sandbox.ts';
import { readStatement } from './statement/read.ts';
import { checkTarget, targetOf } from './target.ts';
import { createCharge, createTransfer, lookUp } from './transactions.ts';

const BASE_PATH = '/v1';
const CALLBACKS_PATH = `${BASE_PATH}/bank/callbacks`;
const TIMEOUT_MS = 29_000;
/**
 * What is taken from an account ends within a second, and settings may be half a second old when a request is checked by
 * them: where its body comes so much later, it is checked again.
 */
const LATE_MS = 200;
/** No status of HTTP's: the caller has left. */
const LEFT_STATUS = 499;
const REQUEST_ID = /^[\x20-\x7e]{1,128}$/;
const RATE_POLICY = `"account";q=${RATE_PER_SECOND};w=1;burst=${BURST}`;

/** The server's state, as far as the API answers by it. */
export interface ServerState {
  /** Null: ready. Else why not. */
  notReady(): Promise<string | null>;
  /** What must be known before anything is done is known. */
  readonly opened: boolean;
  /** The end has begun: requests are still served, and connections end with their answers. */
  readonly closing: boolean;
  /** Nothing is begun any more. */
  readonly draining: boolean;
}

/** An answer in short, for metrics and the log. */
export interface Answered {
  requestId: string;
  method: string;
  route: string;
  status: number;
  ms: number;
}

/** What the API needs to answer anything at all. */
export interface FrontOptions
  extends Pick<ApiServices, 'elapsed' | 'patienceMs' | 'newRequestId' | 'sandbox' | 'bankCallbackSecret'> {
  state: ServerState;
  /** A 5xx with its cause, for the log. */
  onFailure(error: unknown, requestId: string, path: string): void;
  /** A request has come. */
  onRequest?(): void;
  /** After each answer, for metrics. */
  onAnswer?(answer: Answered): void;
}

export interface ApiOptions extends ApiServices, FrontOptions {}

/** The error object of whatever was thrown. */
function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof BankRefused)
    return new ApiError('PROCESSING_ERROR', 'The bank did not accept the operation.');
  if (error instanceof Overloaded) return unavailable('The service is overloaded. Please try again.');
  if (error instanceof StoreUnavailable) {
    return unavailable('The service is not available. A repeat with the same key is safe.');
  }
  return new ApiError('INTERNAL_ERROR', 'Internal server error.');
}

function fail(ctx: Koa.Context, error: unknown, options: FrontOptions): void {
  // Nobody hears the answer, and nothing was done: this is for the metrics.
  if (error instanceof Abandoned) {
    ctx.status = LEFT_STATUS;
    return;
  }
  const failure = toApiError(error);
  if (failure.status >= 500) options.onFailure(error, ctx.state.requestId, targetOf(ctx));
  ctx.status = failure.status;
  if (Object.keys(failure.headers).length > 0) ctx.set(failure.headers);
  ctx.body = failure.body;
}

/**
 * Ends a request after 29 s; what isn't decided by then is dropped. Where the engine is another thread, it alone drops
 * what it has: the request ends when the engine has said so, or 1 s later.
 */
async function withinTime(
  ctx: Koa.Context,
  work: () => Promise<void>,
  { elapsed, patienceMs }: FrontOptions,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  ctx.state.deadline = elapsed() + TIMEOUT_MS;
  const ended = new Promise<void>((resolve, reject) => {
    const timeOut = (): void => {
      ctx.state.timedOut = true;
      reject(new ApiError('TIMEOUT', 'The request took too long. A repeat with the same key is safe.'));
    };
    ctx.state.timeOut = timeOut;
    timer = setTimeout(() => {
      if (ctx.state.isSent && patienceMs > 0) timer = setTimeout(timeOut, patienceMs);
      else timeOut();
    }, TIMEOUT_MS);
    work().then(resolve, reject);
  });
  try {
    await ended;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Checks once more whose a request is, where its body took long: who holds bodies back would else keep for half a minute
 * what was taken from the account. Null where it didn't take long. @throws ApiError 401 or 403
 */
function authenticateLate(ctx: Koa.Context, options: ApiOptions): Promise<void> | null {
  const begunAt = ctx.state.deadline - TIMEOUT_MS;
  if (options.elapsed() - begunAt < LATE_MS) return null;
  return authenticate(ctx.req, options.directory, options.trustedProxyHops).then((account) => {
    ctx.state.account = account;
  });
}

function routes(options: ApiOptions): ApiRouter {
  const router: ApiRouter = new Router<RequestState>({ prefix: BASE_PATH, strict: true, sensitive: true });
  const limited = (ctx: Context, next: () => Promise<void>): Promise<void> => {
    const left = options.rateLimit.take(ctx.state.account);
    ctx.res.setHeader('RateLimit-Policy', RATE_POLICY);
    ctx.res.setHeader('RateLimit', `"account";r=${Math.max(0, left)};t=1`);
    if (left < 0) throw new ApiError('RATE_LIMITED', 'Too many requests.', {}, { 'Retry-After': '1' });
    return next();
  };
  const withBody = readBody(MAX_BODY_BYTES, (ctx) => authenticateLate(ctx, options));
  router.post('/pix-in', limited, withBody, createCharge(options));
  router.get('/pix-in', limited, lookUp(options, 'pix-in', 'externalRef'));
  router.post('/pix-in/:id/refunds', limited, withBody, createRefund(options));
  router.get('/pix-in/:id/refunds', limited, listRefunds(options));
  router.post('/pix-in/:id/cancel', limited, withBody, cancelCharge(options));
  router.get('/refunds', limited, readRefund(options));
  router.post('/cashout', limited, withBody, createTransfer(options));
  router.get('/cashout', limited, lookUp(options, 'cashout', 'reference'));
  router.get('/balance', limited, readBalance(options));
  router.get('/statement', limited, readStatement(options));
  router.get('/webhooks', limited, readDeliveries(options));
  if (options.sandbox) {
    router.post('/sandbox/pix-in/:id/pay', limited, withBody, pay(options));
    router.post('/sandbox/transactions/:id/messages', limited, withBody, sendMessage(options));
  }
  if (options.bankCallbackSecret !== null) {
    const withCallbacks = readBody(MAX_CALLBACK_BYTES);
    router.post('/bank/callbacks', withCallbacks, receiveCallbacks(options, options.bankCallbackSecret));
  }
  return router;
}

/** Outside the base address: probes and the interface's own description. */
async function outside(ctx: Koa.Context, options: FrontOptions, document: () => object): Promise<void> {
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  if (!['/livez', '/readyz', '/openapi.json'].includes(ctx.path))
    throw new ApiError('NOT_FOUND', 'There is nothing at this path.');
  if (!isRead)
    throw new ApiError('METHOD_NOT_ALLOWED', 'The method is not allowed here.', {}, { Allow: 'GET, HEAD' });
  if (ctx.path === '/livez') ctx.body = { status: 'alive' };
  if (ctx.path === '/openapi.json') ctx.body = document();
  if (ctx.path !== '/readyz') return;
  const reason = await options.state.notReady();
  ctx.status = reason === null ? 200 : 503;
  ctx.body = reason === null ? { status: 'ready' } : { status: 'not ready', reason };
}

/** Methods that a path below the base address takes; empty where there is no such path. */
function methodsOf(router: ApiRouter, path: string): string[] {
  const methods = new Set<string>();
  for (const layer of router.match(path, 'GET').path) for (const method of layer.methods) methods.add(method);
  return [...methods];
}

/** No route took the request: no such path, or not with this method. */
function unrouted(ctx: Koa.Context, router: ApiRouter): never {
  const methods = methodsOf(router, ctx.path);
  if (methods.length === 0) throw new ApiError('NOT_FOUND', 'There is nothing at this path.');
  throw new ApiError(
    'METHOD_NOT_ALLOWED',
    'The method is not allowed here.',
    {},
    { Allow: methods.join(', ') },
  );
}

function starting(): ApiError {
  return unavailable('The service is starting.');
}

/** The application, but for what lies below the base address. */
function createFront(options: FrontOptions, below: (ctx: Koa.Context) => Promise<void>): Koa {
  const app = new Koa();
  let made: object | null = null;
  // It takes 40 ms of a start's CPU, and hardly anybody asks for it.
  const document = (): object => {
    made ??= openApiDocument(options.sandbox, options.bankCallbackSecret !== null);
    return made;
  };

  const handle = async (ctx: Koa.Context): Promise<void> => {
    checkTarget(ctx);
    const isBelowBase = ctx.path === BASE_PATH || ctx.path.startsWith(`${BASE_PATH}/`);
    if (!isBelowBase) return outside(ctx, options, document);
    if (options.state.draining) throw unavailable('The service is shutting down.');
    if (!options.state.opened) throw starting();
    await below(ctx);
  };

  app.use(async (ctx) => {
    const started = performance.now();
    options.onRequest?.();
    const given = ctx.req.headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : options.newRequestId();
    ctx.state.requestId = requestId;
    ctx.state.timedOut = false;
    ctx.state.isSent = false;
    ctx.res.setHeader('X-Request-Id', requestId);
    try {
      await withinTime(ctx, () => handle(ctx), options);
    } catch (error) {
      fail(ctx, error, options);
    }
    if (options.state.closing) ctx.set('Connection', 'close');
    const route = String(ctx._matchedRoute ?? 'none');
    options.onAnswer?.({
      requestId,
      method: ctx.method,
      route,
      status: ctx.status,
      ms: performance.now() - started,
    });
  });
  // The only error that still gets here is a socket's that broke while it was being answered.
  app.on('error', (error: Error & { code?: string }, ctx?: Koa.Context) => {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET')
      options.onFailure(error, ctx?.state.requestId ?? '', ctx === undefined ? '' : targetOf(ctx));
  });
  return app;
}

export function createApp(options: ApiOptions): Koa {
  // The first request with a phone's number doesn't wait for them.
  readNumberingPlans();
  const router = routes(options);
  const routed = router.routes();
  return createFront(options, async (ctx) => {
    // The bank has no Basic credentials: its signature is checked by the endpoint, and without one it isn't there.
    if (ctx.path !== CALLBACKS_PATH)
      ctx.state.account = await authenticate(ctx.req, options.directory, options.trustedProxyHops);
    await routed(ctx as never, async () => unrouted(ctx, router));
  });
}

/** The application while the store is being opened: probes are answered, and all below the base address is 503. */
export function createStartingApp(options: FrontOptions): Koa {
  return createFront(options, () => Promise.reject(starting()));
}
