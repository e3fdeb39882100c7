/**
 * Who may use the console: links that sign in once, and sessions. Both lie in the store's marks, by the hashes of what
 * opens them, so that they outlive a restart and hold on all servers.
 *
 * 1. There are so many places for them and no more: who comes when all are taken gets the place of the longest unused.
 * 2. A place changes hands by one who swaps what lies there: a link signs in once, whoever else tries it.
 * 3. A session needs both of its halves, the cookie and the header; neither is stored.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256 } from '../engine/store/content.ts';
import type { Marks } from '../engine/store/marks.ts';
import type { Role } from './shapes.ts';

/** Where passes lie. */
export type PassMarks = Pick<Marks, 'mark' | 'swapMark'>;

/** Who somebody is to the console. */
export interface Visitor {
  by: string;
  role: Role;
}

/** A link, as it lies in the store; times in ms since 1970. */
interface StoredLink extends Visitor {
  hash: string;
  since: number;
  until: number;
}

/** A session, as it lies in the store: `hash` is of the cookie's half, `half` of the header's. */
interface StoredSession extends StoredLink {
  half: string;
  usedAt: number;
}

/** A session that somebody has opened with both halves. */
export interface Session extends Visitor {
  /** When it ends at the latest, ms since 1970. */
  until: number;
  /** The place's mark, and what lay there. */
  name: string;
  text: string;
}

/** A session as others see it; times in ms since 1970. */
export interface SeenSession extends Session {
  id: string;
  since: number;
  /** When its use was written down last. */
  usedAt: number;
}

/** What its owner gets of a new session. */
export interface OpenedSession {
  cookie: string;
  half: string;
  session: Session;
}

const SECRET_BYTES = 32;
const LINK_MS = 5 * 60_000;
/** The longest that a session lasts, in ms. */
export const SESSION_MS = 12 * 3_600_000;
const IDLE_MS = 3_600_000;
/** Clocks of several servers are no further apart. */
const APART_MS = 60_000;
/** Use is written down so often: the log keeps each writing. */
const WRITTEN_EVERY_MS = 5 * 60_000;
const LINKS = 16;
const ID_LETTERS = 16;
const SESSIONS = 64;
/** So often another one may have been first at a place. */
const MOST_TRIES = 100;

/** A key as whoever has it shows it: two digits for the place, and the secret. */
const KEY = /^([0-9]{2})([A-Za-z0-9_-]{43})$/;

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function placeName(kind: 'link' | 'session', place: number | string): string {
  return `console:${kind}:${String(place).padStart(2, '0')}`;
}

function isEqual(hash: string, text: string): boolean {
  return timingSafeEqual(Buffer.from(hash), Buffer.from(sha256(text)));
}

function parsed<Stored>(text: string | null): Stored | null {
  return text === null || text === '' ? null : JSON.parse(text);
}

/** When a pass was used last, or is nobody's any more; ms. */
function usedAt(stored: StoredLink | StoredSession | null, now: number): number {
  return stored === null || isOver(stored, now) ? Number.NEGATIVE_INFINITY : lastUseOf(stored);
}

function lastUseOf(stored: StoredLink | StoredSession): number {
  return 'usedAt' in stored ? stored.usedAt : stored.since;
}

function isOver(stored: StoredLink | StoredSession, now: number): boolean {
  // One of a clock that was ahead, and was set back since, would last until that time comes.
  const isOfLater = lastUseOf(stored) > now + APART_MS;
  return isOfLater || now >= stored.until || ('usedAt' in stored && now - stored.usedAt >= IDLE_MS);
}

/** All places of a kind, and what lies there. */
function placesOf(
  marks: Pick<PassMarks, 'mark'>,
  kind: 'link' | 'session',
): Promise<{ name: string; text: string | null }[]> {
  const names = Array.from({ length: kind === 'link' ? LINKS : SESSIONS }, (_, place) =>
    placeName(kind, place),
  );
  return Promise.all(names.map(async (name) => ({ name, text: await marks.mark(name) })));
}

/** Puts a pass into the place that was unused the longest; the place's number in two digits. */
async function place(
  marks: PassMarks,
  kind: 'link' | 'session',
  now: number,
  made: StoredLink | StoredSession,
): Promise<string> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const places = await placesOf(marks, kind);
    const used = places.map(({ text }) => usedAt(parsed(text), now));
    const index = used.indexOf(Math.min(...used));
    const before = places[index]?.text ?? null;
    const number = String(index).padStart(2, '0');
    if (await marks.swapMark(placeName(kind, number), before, JSON.stringify(made))) return number;
  }
  throw new Error(`no place for a ${kind} came free`);
}

/** Makes a link's key: it signs in once, within five minutes. */
export async function makeLink(marks: PassMarks, { by, role }: Visitor, now: number): Promise<string> {
  const secret = newSecret();
  const link: StoredLink = { hash: sha256(secret), by, role, since: now, until: now + LINK_MS };
  return `${await place(marks, 'link', now, link)}${secret}`;
}

/** Takes a link's key; null where it is none, was used, or came too late. */
export async function takeLink(marks: PassMarks, key: string, now: number): Promise<Visitor | null> {
  const [, number = '', secret = ''] = KEY.exec(key) ?? [];
  if (secret === '') return null;
  const name = placeName('link', number);
  const text = await marks.mark(name);
  const link = parsed<StoredLink>(text);
  if (link === null || !isEqual(link.hash, secret) || isOver(link, now)) return null;
  return (await marks.swapMark(name, text, '')) ? { by: link.by, role: link.role } : null;
}

/** Begins a session. */
export async function openSession(
  marks: PassMarks,
  { by, role }: Visitor,
  now: number,
): Promise<OpenedSession> {
  const secret = newSecret();
  const half = newSecret();
  const until = now + SESSION_MS;
  const stored: StoredSession = {
    ...{ hash: sha256(secret), half: sha256(half), by, role, since: now, until, usedAt: now },
  };
  const number = await place(marks, 'session', now, stored);
  const session = { by, role, until, name: placeName('session', number), text: JSON.stringify(stored) };
  return { cookie: `${number}${secret}`, half, session };
}

/** The session of two halves; null where there is none, or it is over. */
export async function findSession(
  marks: Pick<PassMarks, 'mark'>,
  cookie: string,
  half: string,
  now: number,
): Promise<Session | null> {
  const [, number = '', secret = ''] = KEY.exec(cookie) ?? [];
  if (secret === '') return null;
  const name = placeName('session', number);
  const text = await marks.mark(name);
  const stored = parsed<StoredSession>(text);
  if (text === null || stored === null || isOver(stored, now)) return null;
  if (!isEqual(stored.hash, secret) || !isEqual(stored.half, half)) return null;
  const { by, role, until } = stored;
  return { by, role, until, name, text };
}

/** Writes down that a session is in use, where that was written long ago. */
export async function touchSession(marks: PassMarks, { name, text }: Session, now: number): Promise<void> {
  const stored = JSON.parse(text) as StoredSession;
  if (now - stored.usedAt < WRITTEN_EVERY_MS) return;
  // Where another one was first, the session was used or has ended.
  await marks.swapMark(name, text, JSON.stringify({ ...stored, usedAt: now }));
}

/** Names a session to those who may see that there is one: it opens nothing. */
function idOf({ hash }: StoredSession): string {
  return hash.slice(0, ID_LETTERS);
}

/** The sessions that last, the last used first. */
export async function sessionsIn(marks: Pick<PassMarks, 'mark'>, now: number): Promise<SeenSession[]> {
  const seen = (await placesOf(marks, 'session')).flatMap(({ name, text }): SeenSession[] => {
    const stored = parsed<StoredSession>(text);
    if (text === null || stored === null || isOver(stored, now)) return [];
    const { by, role, since, usedAt, until } = stored;
    return [{ id: idOf(stored), by, role, since, usedAt, until, name, text }];
  });
  return seen.sort((one, other) => other.usedAt - one.usedAt);
}

/** Ends a session. */
export async function endSession(
  marks: PassMarks,
  { name, text }: Pick<Session, 'name' | 'text'>,
): Promise<void> {
  // Its use may have been written down meanwhile.
  for (let present: string | null = text; ; ) {
    if (await marks.swapMark(name, present, '')) return;
    present = await marks.mark(name);
    const { hash } = JSON.parse(text) as StoredSession;
    if (parsed<StoredSession>(present)?.hash !== hash) return;
  }
}
