/** The console's endpoints, as a page calls them: with both halves of the session, and errors by their codes. */

import type { ApiReference, Tried, TryWish } from '../api-shapes.ts';
import type { AccountDocument, Curve, StatementCsv, StatementPage } from '../shapes/account.ts';
import type { RetryRun } from '../shapes/acts.ts';
import type { DeliveryPage, UrlList } from '../shapes/deliveries.ts';
import type { NewestEntries, NowDocument, Protests } from '../shapes/now.ts';
import {
  type AccountPage,
  type Found,
  type Me,
  type Problem,
  SESSION_HEADER,
  type SentPayload,
  type SessionList,
  type SignedIn,
  type TransactionDocument,
  type TransactionPage,
} from '../shapes.ts';
import { followServer } from './state/clock.ts';
import { store, stored } from './state/preferences.ts';

const BASE = '/console/api';
/** A server that says nothing for so long is away. */
const PATIENCE_MS = 15_000;

/** An answer that is no success; status 0: there was none. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Further members of the error object. */
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(status: number, { error, message, ...extra }: Problem) {
    super(message);
    this.status = status;
    this.code = error;
    this.extra = extra;
  }
}

const UNREACHABLE: Problem = { error: 'UNREACHABLE', message: '' };

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { error, message, ...extra } = (await response.json()) as Partial<Problem>;
    return { ...extra, error: error ?? 'UNKNOWN', message: message ?? response.statusText };
  } catch {
    return { error: 'UNKNOWN', message: `${response.status} ${response.statusText}` };
  }
}

async function answered(path: string, options: RequestInit, signal?: AbortSignal): Promise<Response> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    const both = signal === undefined ? patience : AbortSignal.any([signal, patience]);
    return await fetch(BASE + path, { ...options, signal: both, credentials: 'same-origin' });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, UNREACHABLE);
  }
}

function ownHeaders(accept: string): Record<string, string> {
  const half = stored('session');
  return half === null ? { accept } : { accept, [SESSION_HEADER]: half };
}

/** @throws ApiError; what the signal throws, where it was aborted */
async function call<Answer>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
): Promise<Answer> {
  const headers = ownHeaders('application/json');
  if (body !== undefined) headers['content-type'] = 'application/json';
  const options: RequestInit = { method, headers };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await answered(path, options, signal);
  followServer(response.headers.get('date'));
  if (!response.ok) throw new ApiError(response.status, await problemOf(response));
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** What a query says; what is null or empty is left out. */
export type Values = Record<string, string | number | null | undefined>;

function queryOf(values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export interface TransactionQuery {
  account?: string | null;
  type?: string | null;
  status?: string | null;
  family?: string | null;
  from?: string | null;
  to?: string | null;
  after?: string | null;
}

export function me(signal?: AbortSignal): Promise<Me> {
  return call('GET', '/me', undefined, signal);
}

/** Exchanges a link's key for a session, whose second half stays in this browser. */
export async function signIn(key: string): Promise<Me> {
  const { half, ...signedIn } = await call<SignedIn>('POST', '/session', { key });
  store('session', half);
  return signedIn;
}

export async function signOut(): Promise<void> {
  try {
    await call<void>('DELETE', '/session');
  } finally {
    store('session', null);
  }
}

export function sessions(signal?: AbortSignal): Promise<SessionList> {
  return call('GET', '/sessions', undefined, signal);
}

export function endSession(id: string): Promise<void> {
  return call('DELETE', `/sessions/${encodeURIComponent(id)}`);
}

export function find(text: string, signal?: AbortSignal): Promise<Found> {
  return call('GET', `/find${queryOf({ q: text })}`, undefined, signal);
}

export function transactions(query: TransactionQuery, signal?: AbortSignal): Promise<TransactionPage> {
  return call('GET', `/transactions${queryOf({ ...query })}`, undefined, signal);
}

export interface DocumentQuery {
  /** Documents and Pix keys as they are; operators only. */
  reveal: boolean;
  before?: number;
}

export function transaction(
  id: string,
  { reveal, before }: DocumentQuery,
  signal?: AbortSignal,
): Promise<TransactionDocument> {
  const query = queryOf({ reveal: reveal ? 1 : null, before });
  return call('GET', `/transactions/${encodeURIComponent(id)}${query}`, undefined, signal);
}

export function payload(
  id: string,
  event: string,
  reveal: boolean,
  signal?: AbortSignal,
): Promise<SentPayload> {
  const path = `/transactions/${encodeURIComponent(id)}/payload/${encodeURIComponent(event)}`;
  return call('GET', path + queryOf({ reveal: reveal ? 1 : null }), undefined, signal);
}

export function now(signal?: AbortSignal): Promise<NowDocument> {
  return call('GET', '/now', undefined, signal);
}

export function protests(query: Values, signal?: AbortSignal): Promise<Protests> {
  return call('GET', `/protests${queryOf(query)}`, undefined, signal);
}

export function newestEntries(limit: number, signal?: AbortSignal): Promise<NewestEntries> {
  return call('GET', `/journal${queryOf({ limit })}`, undefined, signal);
}

/** The merchants' API. */
export function reference(signal?: AbortSignal): Promise<ApiReference> {
  return call('GET', '/reference', undefined, signal);
}

/** Asks something of the merchants' API in an account's name. */
export function tryApi(wish: TryWish): Promise<Tried> {
  return call('POST', '/try', wish);
}

export function accounts(query: Values, signal?: AbortSignal): Promise<AccountPage> {
  return call('GET', `/accounts${queryOf(query)}`, undefined, signal);
}

export function account(id: string, signal?: AbortSignal): Promise<AccountDocument> {
  return call('GET', `/accounts/${encodeURIComponent(id)}`, undefined, signal);
}

export function statement(id: string, query: Values, signal?: AbortSignal): Promise<StatementPage> {
  return call('GET', `/accounts/${encodeURIComponent(id)}/statement${queryOf(query)}`, undefined, signal);
}

/** A part of the statement as CSV. */
export function statementCsv(id: string, query: Values, signal?: AbortSignal): Promise<StatementCsv> {
  return call('GET', `/accounts/${encodeURIComponent(id)}/statement/csv${queryOf(query)}`, undefined, signal);
}

export function curve(id: string, query: Values, signal?: AbortSignal): Promise<Curve> {
  return call('GET', `/accounts/${encodeURIComponent(id)}/curve${queryOf(query)}`, undefined, signal);
}

export function deliveries(query: Values, signal?: AbortSignal): Promise<DeliveryPage> {
  return call('GET', `/deliveries${queryOf(query)}`, undefined, signal);
}

export function urls(account: string | null, signal?: AbortSignal): Promise<UrlList> {
  return call('GET', `/urls${queryOf({ account })}`, undefined, signal);
}

/** Does something; the same `id` in the body does it once. */
export function act(method: 'POST' | 'PATCH', path: string, body: object): Promise<unknown> {
  return call(method, path, body);
}

/** How a run over a URL's deliveries goes. */
export function retryRun(id: string, signal?: AbortSignal): Promise<RetryRun> {
  return call('GET', `/deliveries/retries/${encodeURIComponent(id)}`, undefined, signal);
}

/** Opens the stream of what comes. @throws ApiError, and what a broken connection throws */
export async function openStream(query: Values, signal: AbortSignal): Promise<ReadableStream<BufferSource>> {
  const options = {
    headers: ownHeaders('application/x-ndjson'),
    signal,
    credentials: 'same-origin',
  } as const;
  const response = await fetch(`${BASE}/live${queryOf(query)}`, options);
  if (!response.ok || response.body === null) throw new ApiError(response.status, await problemOf(response));
  return response.body as ReadableStream<BufferSource>;
}
