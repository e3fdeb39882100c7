/** The shop's web application: its page, its orders, and the webhooks. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import Koa from 'koa';
import { type Pixstate, PixstateError, verifyWebhook, WebhookRejected } from 'pixstate/client';
import { PRODUCTS, parseCart } from './catalogue.ts';
import { Orders, type ShownOrder } from './orders.ts';
import { page } from './page.ts';

const MOST_BYTES = 65_536;
/** What keeps a silent stream open on its way through proxies. */
const BEAT_MS = 15_000;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

const FILES: Record<string, string> = {
  '/base.css': 'text/css; charset=utf-8',
  '/shop.css': 'text/css; charset=utf-8',
  '/shop.js': 'text/javascript; charset=utf-8',
  '/icon.svg': 'image/svg+xml',
  ...Object.fromEntries(PRODUCTS.map(({ id }) => [`/${id}.svg`, 'image/svg+xml'])),
};

export interface ShopOptions {
  pixstate: Pixstate;
  /** Of the URL that leads to this shop's `/webhooks`. */
  webhookSecret: string;
  /** Whether the page may play the buyer's bank. */
  isSandbox: boolean;
}

/** A body as it came. */
async function bodyOf(ctx: Koa.Context): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of ctx.req as IncomingMessage & AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) ctx.throw(413, 'That is too much.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A JSON object that this shop's own page sent: another site's page can't say that its body is JSON. */
async function jsonOf(ctx: Koa.Context): Promise<Record<string, unknown>> {
  if (!ctx.is('application/json')) ctx.throw(415, 'The body must be JSON.');
  try {
    const json: unknown = JSON.parse((await bodyOf(ctx)).toString());
    if (typeof json === 'object' && json !== null) return json as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return ctx.throw(400, 'The body must be a JSON object.');
}

function found<Found>(ctx: Koa.Context, order: Found | null): Found {
  return order ?? ctx.throw(404, 'There is no such order.');
}

/** What the buyer is told of a call to Pixstate that failed; the log has the rest. */
function tellFailure(ctx: Koa.Context, error: PixstateError): void {
  const [field] = error.code === 'VALIDATION_ERROR' ? error.details : [];
  ctx.status = field === undefined ? 502 : 400;
  ctx.body = {
    message:
      field === undefined ? 'That did not work. Please try again.' : `${field.field} ${field.message}.`,
  };
  console.error(`${ctx.method} ${ctx.path}: ${error.code} ${error.message} (request ${error.requestId})`);
}

/** Errors as JSON, which the page shows as text. */
async function withErrors(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  ctx.set(HEADERS);
  try {
    await next();
    if (ctx.status === 404 && ctx.body === undefined) ctx.throw(404, 'There is nothing here.');
  } catch (error) {
    if (error instanceof PixstateError) return tellFailure(ctx, error);
    const {
      status = 500,
      expose = false,
      message,
    } = error as { status?: number; expose?: boolean; message?: string };
    if (!expose) console.error(error);
    ctx.status = status;
    ctx.body = { message: expose ? message : 'Something is wrong with the shop.' };
  }
}

/** The order as it is and as it changes: server-sent events. */
function stream(ctx: Koa.Context, orders: Orders, id: string): void {
  const events = new PassThrough();
  const send = (order: ShownOrder): void => {
    events.write(`data: ${JSON.stringify(order)}\n\n`);
  };
  const stop = found(ctx, orders.watch(id, send));
  const beat = setInterval(() => events.write(': still there\n\n'), BEAT_MS);
  events.once('close', () => {
    clearInterval(beat);
    stop();
  });
  ctx.type = 'text/event-stream';
  ctx.body = events;
}

/** Pixstate's webhooks: only what is signed counts, and only what was done is confirmed. */
function webhooks(orders: Orders, secret: string) {
  return async (ctx: RouterContext): Promise<void> => {
    try {
      await orders.take(verifyWebhook(await bodyOf(ctx), ctx.headers, secret));
    } catch (error) {
      if (!(error instanceof WebhookRejected)) throw error;
      ctx.throw(401, 'The signature is not right.');
    }
    ctx.status = 204;
  };
}

/** The shop, ready to be listened with. */
export function createShop({ pixstate, webhookSecret, isSandbox }: ShopOptions): Koa {
  const orders = new Orders(pixstate);
  const router = new Router();
  router.get('/', (ctx) => {
    ctx.type = 'html';
    ctx.body = page(isSandbox);
  });
  for (const [path, type] of Object.entries(FILES))
    router.get(path, async (ctx) => {
      ctx.type = type;
      ctx.body = await readFile(new URL(`public${path}`, import.meta.url));
    });
  router.post('/orders', async (ctx) => {
    const { cart: given, name } = await jsonOf(ctx);
    const cart = parseCart(given) ?? ctx.throw(400, 'The cart is not one of this shop.');
    ctx.status = 201;
    ctx.body = await orders.place(cart, typeof name === 'string' ? name.trim() : '');
  });
  router.get('/orders/:id/qr.svg', async (ctx) => {
    ctx.type = 'image/svg+xml';
    ctx.body = found(ctx, await orders.qrCode(ctx.params.id ?? ''));
  });
  router.get('/orders/:id/events', (ctx) => stream(ctx, orders, ctx.params.id ?? ''));
  // In real life this is behind a login of the shop's own people.
  router.post('/orders/:id/refund', async (ctx) => {
    await jsonOf(ctx);
    ctx.body = found(ctx, await orders.refund(ctx.params.id ?? ''));
  });
  if (isSandbox)
    router.post('/orders/:id/pay', async (ctx) => {
      await jsonOf(ctx);
      ctx.body = found(ctx, await orders.payInSandbox(ctx.params.id ?? ''));
    });
  router.post('/webhooks', webhooks(orders, webhookSecret));
  const app = new Koa();
  app.use(withErrors);
  app.use(router.routes());
  // A stream whose reader went away.
  app.on('error', (error: Error & { code?: string }) => {
    if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? ''))
      console.error(error);
  });
  return app;
}
