/**
 * Signing in and out, and whose a request is. A session has two halves: a cookie, and a header that the page keeps to
 * its own origin; whoever catches the cookie, which knows no ports, has nothing.
 */
import type { Context } from 'koa';
import { objectOf } from '../../api/body.ts';
import {
  endSession,
  findSession,
  openSession,
  type PassMarks,
  SESSION_MS,
  type Session,
  takeLink,
  touchSession,
} from '../passes.ts';
import { type Me, SESSION_HEADER, type SignedIn } from '../shapes.ts';
import { ConsoleError } from './errors.ts';

const SECURE_COOKIE = '__Host-pixstate';
/** For browsers that keep no Secure cookie of a loopback address without TLS. */
const PLAIN_COOKIE = 'pixstate';
const MOST_WRONG_KEYS = 20;
const WRONG_KEYS_MS = 60_000;

export interface SignInOptions {
  sandbox: boolean;
  version: string;
  onSignIn(who: { by: string; role: string }): void;
}

function cookie(name: string, value: string, maxAgeS: number): string {
  const secure = name === SECURE_COOKIE ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}${secure}; HttpOnly; SameSite=Strict`;
}

function setCookies(ctx: Context, value: string, maxAgeMs: number): void {
  ctx.append(
    'Set-Cookie',
    [SECURE_COOKIE, PLAIN_COOKIE].map((name) => cookie(name, value, maxAgeMs / 1000)),
  );
}

/** The cookies of a request that may be a session's, the Secure one first. */
function cookiesOf({ req }: Context): string[] {
  const all = new Map<string, string>();
  for (const part of (req.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0) all.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  return [SECURE_COOKIE, PLAIN_COOKIE].flatMap((name) => all.get(name) ?? []);
}

export class SignIn {
  readonly #options: SignInOptions;
  /** When wrong keys came, ms of a clock that never steps. */
  #wrong: number[] = [];

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  me({ by, role, until }: Session): Me {
    const { sandbox, version } = this.#options;
    return { by, role, until: new Date(until).toISOString(), sandbox, version };
  }

  /** The session of a request. @throws ConsoleError where it has none */
  async session(ctx: Context, marks: PassMarks, now: number): Promise<Session> {
    const half = ctx.get(SESSION_HEADER);
    for (const given of half === '' ? [] : cookiesOf(ctx)) {
      const session = await findSession(marks, given, half, now);
      if (session === null) continue;
      await touchSession(marks, session, now);
      return session;
    }
    throw new ConsoleError('INVALID_CREDENTIALS', 'Sign in with a link: npx pixstate console prints one.');
  }

  /** Signs in with a link's key. @throws ConsoleError, ApiError */
  async enter(ctx: Context, marks: PassMarks, now: number): Promise<SignedIn> {
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
    setCookies(ctx, cookie, SESSION_MS);
    return { ...this.me(session), half };
  }

  #expectFewWrong(): void {
    const since = performance.now() - WRONG_KEYS_MS;
    this.#wrong = this.#wrong.filter((at) => at > since);
    if (this.#wrong.length >= MOST_WRONG_KEYS)
      throw new ConsoleError('RATE_LIMITED', 'Too many wrong keys.', { 'Retry-After': '60' });
  }

  async leave(ctx: Context, marks: PassMarks, session: Session): Promise<void> {
    await endSession(marks, session);
    setCookies(ctx, '', 0);
  }
}
