/**
 * Signing in and out, and whose a request is: by a link, or by a proxy that has done it. A session has two halves: a cookie, and a header that the page keeps to
 * its own origin; whoever catches the cookie, which knows no ports, has nothing.
 */
import type { Context } from 'koa';
import { objectOf } from '../../api/body.ts';
import { textOfTime } from '../../domain/time.ts';
import {
  endSession,
  findSession,
  openSession,
  type PassMarks,
  SESSION_MS,
  type SeenSession,
  type Session,
  sessionsIn,
  takeLink,
  touchSession,
  type Visitor,
} from '../passes.ts';
import { type Me, SESSION_HEADER, type SessionList, type SessionRow, type SignedIn } from '../shapes.ts';
import { ConsoleError } from './errors.ts';
import type { SignInProxy } from './proxy.ts';

const SECURE_COOKIE = '__Host-pixstate';
/** For browsers that keep no Secure cookie of a loopback address without TLS. */
const PLAIN_COOKIE = 'pixstate';
const MOST_WRONG_KEYS = 20;
const WRONG_KEYS_MS = 60_000;

export interface SignInOptions {
  sandbox: boolean;
  version: string;
  /** The console is behind TLS: a cookie that isn't Secure is neither given nor taken. */
  isSecure: boolean;
  /** What signs people in; null: links do. */
  proxy: SignInProxy | null;
  onSignIn(who: { by: string; role: string }): void;
}

/** Somebody whose request it is: by a session of ours, or by the proxy. */
export interface Entrant extends Visitor {
  session: Session | null;
}

function cookie(name: string, value: string, maxAgeS: number): string {
  const secure = name === SECURE_COOKIE ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}${secure}; HttpOnly; SameSite=Strict`;
}

function setCookies(ctx: Context, names: readonly string[], value: string, maxAgeMs: number): void {
  ctx.append(
    'Set-Cookie',
    names.map((name) => cookie(name, value, maxAgeMs / 1000)),
  );
}

/** The cookies of a request that may be a session's. */
function cookiesOf({ req }: Context, names: readonly string[]): string[] {
  const all = new Map<string, string>();
  for (const part of (req.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0) all.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  return names.flatMap((name) => all.get(name) ?? []);
}

export class SignIn {
  readonly #options: SignInOptions;
  /** Of its cookies, the Secure one first. */
  readonly #names: readonly string[];
  /** When wrong keys came, ms of a clock that never steps. */
  #wrong: number[] = [];

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#names = options.isSecure ? [SECURE_COOKIE] : [SECURE_COOKIE, PLAIN_COOKIE];
  }

  me({ by, role, session }: Entrant): Me {
    const { sandbox, version } = this.#options;
    const until = session === null ? null : new Date(session.until).toISOString();
    return { by, role, via: session === null ? 'proxy' : 'link', until, sandbox, version };
  }

  /** Whose a request is. @throws ConsoleError where it is nobody's */
  async entrant(ctx: Context, marks: PassMarks, now: number): Promise<Entrant> {
    const { proxy } = this.#options;
    if (proxy !== null) return { ...proxy.visitor(ctx), session: null };
    const half = ctx.get(SESSION_HEADER);
    for (const given of half === '' ? [] : cookiesOf(ctx, this.#names)) {
      const session = await findSession(marks, given, half, now);
      if (session === null) continue;
      await touchSession(marks, session, now);
      return { by: session.by, role: session.role, session };
    }
    throw new ConsoleError('INVALID_CREDENTIALS', 'Sign in with a link: npx pixstate console prints one.');
  }

  /** Signs in with a link's key. @throws ConsoleError, ApiError */
  async enter(ctx: Context, marks: PassMarks, now: number): Promise<SignedIn> {
    if (this.#options.proxy !== null) throw this.#options.proxy.refusal();
    const { key } = objectOf(ctx);
    this.#expectFewWrong();
    const visitor = typeof key === 'string' ? await takeLink(marks, key, now) : null;
    if (visitor === null) {
      this.#wrong.push(performance.now());
      const message = 'The link was used before, or is too old: npx pixstate console prints another.';
      throw new ConsoleError('INVALID_CREDENTIALS', message);
    }
    const { cookie, half, session } = await openSession(marks, visitor, now);
    this.#options.onSignIn(visitor);
    setCookies(ctx, this.#names, cookie, SESSION_MS);
    return { ...this.me({ ...visitor, session }), half };
  }

  #expectFewWrong(): void {
    const since = performance.now() - WRONG_KEYS_MS;
    this.#wrong = this.#wrong.filter((at) => at > since);
    if (this.#wrong.length >= MOST_WRONG_KEYS)
      throw new ConsoleError('RATE_LIMITED', 'Too many wrong keys.', { 'Retry-After': '60' });
  }

  /** The sessions that last; none where a proxy signs people in. */
  async sessions(marks: PassMarks, { session }: Entrant, now: number): Promise<SessionList> {
    const seen = this.#options.proxy === null ? await sessionsIn(marks, now) : [];
    const rows = seen.map(
      ({ id, by, role, since, usedAt, until, name }): SessionRow => ({
        ...{ id, by, role, isOwn: name === session?.name },
        since: textOfTime(since),
        usedAt: textOfTime(usedAt),
        until: textOfTime(until),
      }),
    );
    return { rows };
  }

  /** Ends somebody's session, who may be the one who asks; answers whose it was. @throws ConsoleError where there is none */
  async end(marks: PassMarks, entrant: Entrant, id: string, now: number): Promise<SeenSession> {
    const found = (await sessionsIn(marks, now)).find((each) => each.id === id);
    if (found === undefined)
      throw new ConsoleError('SESSION_NOT_FOUND', 'There is no such session any more.');
    if (found.name !== entrant.session?.name && entrant.role !== 'operator')
      throw new ConsoleError('OPERATORS_ONLY', "Only operators end others' sessions.");
    await endSession(marks, found);
    return found;
  }

  /** Ends a session. @throws ConsoleError where the proxy has it */
  async leave(ctx: Context, marks: PassMarks, { session }: Entrant): Promise<void> {
    if (session === null) throw new ConsoleError('NOT_FOUND', 'The proxy has signed you in: sign out there.');
    await endSession(marks, session);
    setCookies(ctx, this.#names, '', 0);
  }
}
