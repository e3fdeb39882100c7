/**
 * The console's server: one Koa application. Order of a request: metrics; headers; host; proxy; files, or
 * below `/console/api`: origin, kind of body, session, role, handler. Whatever goes wrong ends in the error object.
 */
import { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import { objectOf, readBody } from '../../api/body.ts';
import { checkTarget } from '../../api/target.ts';
import type { StoreReads } from '../../engine/store.ts';
import type { Follower } from '../../store/open.ts';
import type { Tried } from '../api-shapes.ts';
import type { PassMarks } from '../passes.ts';
import type { ConsoleLog, MetricsText, SeenUrls } from '../protocol.ts';
import type { AccountDocument, DoorName } from '../shapes/account.ts';
import type { UrlHealth } from '../shapes/deliveries.ts';
import { statementCsv } from './account/csv.ts';
import { balanceCurve } from './account/curve.ts';
import { accountDocument, accountOf } from './account/document.ts';
import { listAccounts } from './account/list.ts';
import { statementPage } from './account/statement.ts';
import { ACT_ENDPOINTS, type ActLine, answerAct, answerRun } from './acts/endpoints.ts';
import { deliveryWish, listDeliveries } from './deliveries/list.ts';
import { urlList } from './deliveries/urls.ts';
import { ConsoleError, failed } from './errors.ts';
import { find } from './finding.ts';
import { guardCall, guardHost, type Hosts, SECURITY_HEADERS } from './guard.ts';
import { listTransactions, listWish } from './listing.ts';
import type { Live } from './live/live.ts';
import type { Now } from './now/now.ts';
import { listProtests } from './now/protests.ts';
import type { SignInProxy } from './proxy.ts';
import { expectInOrder, limitOf, MOST_LIMIT, oneOf, partOf, textOf, timeOf, wholeOf } from './query.ts';
import type { Reference } from './reference.ts';
import type { Entrant, SignIn } from './sign-in.ts';
import { type StaticFiles, serveStatic } from './static.ts';
import { sentPayload, transactionDocument } from './transaction.ts';

const API = '/console/api';
const MOST_BODY_BYTES = 64 * 1024;
const DOORS: readonly DoorName[] = ['api', 'bank', 'sandbox', 'ops', 'clock'];
/** How far back a curve goes where nothing is said. */
const CURVE_MS = 7 * 24 * 3_600_000;

export interface AppOptions {
  /** The names under which it is served. */
  hosts(): Hosts;
  follower: Pick<Follower, 'look' | 'now'>;
  swapMark: PassMarks['swapMark'];
  metrics(): Promise<MetricsText>;
  /** How URLs do: of one account, or the worst of all (null). */
  urls(account: string | null): Promise<SeenUrls>;
  /** Does what operators do. */
  acts: ActLine;
  /** The sandbox's bank lets every door speak for it. */
  sandbox: boolean;
  /** Other processes work on the same store. */
  shared: boolean;
  now: Pick<Now, 'read' | 'entries' | 'verified'>;
  signIn: SignIn;
  /** What signs people in; null: links do. */
  proxy: SignInProxy | null;
  reference: Reference;
  live: Live;
  files: StaticFiles;
  log: ConsoleLog;
}

/** A request that is known to be somebody's, with what it reads from. */
interface Call {
  ctx: Context;
  reads: StoreReads;
  marks: PassMarks;
  session: Entrant;
  now: number;
}

type Answer = (call: Call) => Promise<object | null>;

/** @throws ConsoleError */
function operatorsOnly({ role }: Entrant, what: string): void {
  if (role !== 'operator') throw new ConsoleError('OPERATORS_ONLY', `Only operators ${what}.`);
}

/** Whether a request wants to see what is masked. @throws ConsoleError where that isn't its to see */
function reveals({ ctx, session }: Call, log: ConsoleLog): boolean {
  if (oneOf(ctx, 'reveal', ['1']) === null) return false;
  operatorsOnly(session, 'see what is masked');
  log.info({ by: session.by, path: ctx.path }, 'the console shows what is masked');
  return true;
}

function accounts(ctx: Context, reads: StoreReads): Promise<object> {
  return listAccounts(reads, textOf(ctx, 'q') ?? '', textOf(ctx, 'after') ?? '', limitOf(ctx));
}

/** @throws ConsoleError */
async function statement(call: Call): Promise<object> {
  const { ctx, reads } = call;
  const { id } = await accountOf(reads, partOf(call.ctx, 'id'));
  const [before, door] = [textOf(ctx, 'before'), oneOf(ctx, 'door', DOORS)];
  return statementPage(reads, { account: id, before, door, limit: limitOf(ctx) });
}

/** @throws ConsoleError */
async function curve(call: Call): Promise<object> {
  const { ctx, reads, now } = call;
  const { id } = await accountOf(reads, partOf(call.ctx, 'id'));
  const to = timeOf(ctx, 'to') ?? now;
  const from = timeOf(ctx, 'from') ?? to - CURVE_MS;
  expectInOrder(from, to);
  const points = wholeOf(ctx, 'points') ?? MOST_LIMIT;
  if (points > MOST_LIMIT) throw new ConsoleError('INVALID_REQUEST', `points is at most ${MOST_LIMIT}.`);
  return balanceCurve(reads, { account: id, from, to, points });
}

type Endpoint = [method: 'get' | 'delete', path: string, answer: Answer];

function accountEndpoints({ urls, now: start }: AppOptions): Endpoint[] {
  const healthOf = async (account: string): Promise<readonly UrlHealth[]> => (await urls(account)).urls;
  const document: Answer = async (call) => {
    const id = partOf(call.ctx, 'id');
    const own = await accountDocument(call.reads, id, healthOf, call.now);
    return { ...own, verified: await start.verified(call.reads, id) } satisfies AccountDocument;
  };
  return [
    ['get', '/accounts', ({ ctx, reads }) => accounts(ctx, reads)],
    ['get', '/accounts/:id', document],
    ['get', '/accounts/:id/statement', statement],
    [
      'get',
      '/accounts/:id/statement/csv',
      (call) => statementCsv(call.ctx, call.reads, partOf(call.ctx, 'id'), call.now),
    ],
    ['get', '/accounts/:id/curve', curve],
  ];
}

function deliveryEndpoints({ urls, shared }: AppOptions): Endpoint[] {
  return [
    ['get', '/deliveries', ({ ctx, reads }) => listDeliveries(reads, deliveryWish(ctx))],
    ['get', '/urls', async ({ ctx, reads }) => urlList(reads, await urls(textOf(ctx, 'account')), shared)],
  ];
}

function sessionEndpoints({ signIn, live, log }: AppOptions): Endpoint[] {
  const leave: Answer = async ({ ctx, marks, session }) => {
    await signIn.leave(ctx, marks, session);
    live.leave(session.session);
    return null;
  };
  const end: Answer = async ({ ctx, marks, session, now }) => {
    const ended = await signIn.end(marks, session, partOf(ctx, 'id'), now);
    live.leave(ended);
    log.info({ by: session.by, of: ended.by, role: ended.role }, 'somebody ends a session');
    return null;
  };
  return [
    ['get', '/me', async ({ session }) => signIn.me(session)],
    ['delete', '/session', leave],
    ['get', '/sessions', ({ marks, session, now }) => signIn.sessions(marks, session, now)],
    ['delete', '/sessions/:id', end],
  ];
}

function endpoints(options: AppOptions): Endpoint[] {
  const { log, sandbox: everyDoorSpeaks } = options;
  return [
    ['get', '/find', ({ ctx, reads }) => find(reads, textOf(ctx, 'q') ?? '', textOf(ctx, 'account'))],
    ...accountEndpoints(options),
    ...deliveryEndpoints(options),
    ['get', '/now', ({ reads }) => options.now.read(reads)],
    ['get', '/protests', ({ ctx, reads }) => listProtests(reads, textOf(ctx, 'after'), limitOf(ctx))],
    ['get', '/journal', ({ ctx, reads }) => options.now.entries(reads, limitOf(ctx))],
    ['get', '/transactions', ({ ctx, reads }) => listTransactions(reads, listWish(ctx))],
    [
      'get',
      '/transactions/:id',
      (call) => {
        const { ctx, now } = call;
        const wish = { before: wholeOf(ctx, 'before'), reveal: reveals(call, log), now, everyDoorSpeaks };
        return transactionDocument(call.reads, partOf(call.ctx, 'id'), wish);
      },
    ],
    [
      'get',
      '/transactions/:id/payload/:event',
      (call) =>
        sentPayload(call.reads, partOf(call.ctx, 'id'), partOf(call.ctx, 'event'), reveals(call, log)),
    ],
    ...sessionEndpoints(options),
  ];
}

/** Tries the API for an operator. The log says who, and where; not with which credentials. */
async function tryApi(ctx: Context, session: Entrant, { reference, log }: AppOptions): Promise<Tried> {
  operatorsOnly(session, 'try the API');
  const given = objectOf(ctx);
  const tried = await reference.try(given);
  const { method, path, clientId } = given;
  log.info({ by: session.by, method, path, clientId, status: tried.status }, 'somebody tries the API');
  return tried;
}

function routes(options: AppOptions): Router {
  const router = new Router({ prefix: API, strict: true, sensitive: true });
  const { follower, swapMark, signIn, reference, live } = options;
  // What was swapped meanwhile must be seen: a look of its own for each mark.
  const mark = (name: string): Promise<string | null> => follower.look(({ marks }) => marks.mark(name));
  const marks = { mark, swapMark };
  const withBody = readBody(MOST_BODY_BYTES);
  router.post('/session', withBody, async (ctx) => {
    ctx.body = await signIn.enter(ctx, marks, follower.now());
  });
  // These two wait for the API, and need no look at the store.
  const entrant = (ctx: Context): Promise<Entrant> => signIn.entrant(ctx, marks, follower.now());
  router.get('/reference', async (ctx) => {
    await entrant(ctx);
    ctx.body = await reference.read();
  });
  router.post('/try', withBody, async (ctx) => {
    ctx.body = await tryApi(ctx, await entrant(ctx), options);
  });
  for (const endpoint of ACT_ENDPOINTS)
    router[endpoint.method](endpoint.path, withBody, async (ctx) =>
      answerAct(ctx, await entrant(ctx), endpoint, options.acts),
    );
  router.get('/deliveries/retries/:id', async (ctx) => {
    await entrant(ctx);
    await answerRun(ctx, options.acts);
  });
  router.get('/live', async (ctx) => live.open(ctx, await entrant(ctx)));
  for (const [method, path, answer] of endpoints(options)) {
    router[method](path, async (ctx) => {
      const now = follower.now();
      const session = await signIn.entrant(ctx, marks, now);
      const body = await follower.look((reads) => answer({ ctx, reads, marks, session, now }));
      if (body === null) ctx.status = 204;
      else ctx.body = body;
    });
  }
  return router;
}

/** No route took the call. @throws ConsoleError */
function unrouted(ctx: Context, router: Router): never {
  const layers = router.match(ctx.path, 'GET').path;
  if (layers.length === 0) throw new ConsoleError('NOT_FOUND', 'There is nothing at this path.');
  const allow = [...new Set(layers.flatMap(({ methods }) => methods))].join(', ');
  throw new ConsoleError('METHOD_NOT_ALLOWED', 'The method is not allowed here.', { Allow: allow });
}

async function answerMetrics(ctx: Context, { metrics }: AppOptions): Promise<void> {
  const { type, text } = await metrics();
  ctx.body = text;
  ctx.set('Content-Type', type);
}

export function createConsole(options: AppOptions): Koa {
  const app = new Koa();
  const router = routes(options);
  const routed = router.routes();
  const handle = async (ctx: Context): Promise<void> => {
    ctx.set(SECURITY_HEADERS);
    checkTarget(ctx);
    if (ctx.path === '/metrics') return answerMetrics(ctx, options);
    const own = guardHost(ctx, options.hosts());
    options.proxy?.guard(ctx);
    if (ctx.path !== API && !ctx.path.startsWith(`${API}/`)) return serveStatic(ctx, options.files);
    ctx.set('Cache-Control', 'no-store');
    guardCall(ctx, own);
    await routed(ctx as never, async () => unrouted(ctx, router));
  };
  app.use(async (ctx) => {
    try {
      await handle(ctx);
    } catch (error) {
      const { status, headers, body } = failed(error);
      if (status === 500) options.log.error({ err: error, path: ctx.path }, "a console's request failed");
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  });
  // A socket that broke while it was answered is nobody's fault.
  app.on('error', (error: Error & { code?: string }) => {
    const isGone = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? '');
    if (!isGone) options.log.error({ err: error }, "a console's answer failed");
  });
  return app;
}
