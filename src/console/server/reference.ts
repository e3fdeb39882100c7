/**
 * The merchants' API as the console shows it: its own document, and tries of it with an account's credentials. Both go
 * over loopback to the API of this process, as anybody's request does: with its checks, limits and log.
 *
 * 1. A try goes to an endpoint that the document has, and nowhere else.
 * 2. The credentials are in the request that brings them and in the one that is made of it, and are kept nowhere.
 */
import { textOf } from '../../errors.ts';
import type { ApiDocument, ApiReference, Tried, TryWish } from '../api-shapes.ts';
import { ConsoleError } from './errors.ts';

/** Less than a page waits for an answer. */
const PATIENCE_MS = 14_000;
const MOST_VALUE = 1_024;
const METHODS = ['get', 'post'];
const SHOWN_HEADERS = ['content-type', 'x-request-id', 'ratelimit', 'retry-after'];

export interface ReferenceOptions {
  /** The API's address on this machine, without a slash at its end. */
  api: string;
  /** Whether a try moves no money. */
  sandbox: boolean;
}

function wrong(message: string): ConsoleError {
  return new ConsoleError('INVALID_REQUEST', message);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MOST_VALUE;
}

/** Parameters by their names. @throws ConsoleError */
function textsOf(given: unknown, name: string): Record<string, string> {
  const texts = given ?? {};
  const isFit = typeof texts === 'object' && !Array.isArray(texts) && Object.values(texts).every(isText);
  if (!isFit) throw wrong(`${name} must be an object of texts of at most ${MOST_VALUE} characters.`);
  return texts as Record<string, string>;
}

/** The wish in a body. @throws ConsoleError */
function wishOf(given: Record<string, unknown>): TryWish {
  const { method, path, body = null, clientId, clientSecret } = given;
  if (!isText(method) || !METHODS.includes(method)) throw wrong(`method must be ${METHODS.join(' or ')}.`);
  if (!isText(path)) throw wrong('path must be one of the document.');
  if (!isText(clientId) || !isText(clientSecret)) throw wrong('clientId and clientSecret must be texts.');
  if (body !== null && typeof body !== 'string') throw wrong('body must be a text.');
  const [params, query] = [textsOf(given.params, 'params'), textsOf(given.query, 'query')];
  return { method, path, params, query, body, clientId, clientSecret };
}

/** Half of a letter: no address can hold it. */
const LONE = /\p{Surrogate}/u;

/** A path with its parameters in their places. @throws ConsoleError where one is missing, or would be another path */
function filled(path: string, params: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    if (/^\.{0,2}$/.test(value)) throw wrong(`${name} must have a value.`);
    if (LONE.test(value)) throw wrong(`${name} must not hold half a letter (a lone surrogate).`);
    return encodeURIComponent(value);
  });
}

function requestOf({ method, body, clientId, clientSecret }: TryWish): RequestInit {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const headers: Record<string, string> = { authorization: `Basic ${basic}` };
  const request: RequestInit = { method: method.toUpperCase(), headers, redirect: 'error' };
  if (method === 'get') return request;
  headers['content-type'] = 'application/json';
  return body === null ? request : { ...request, body };
}

export class Reference {
  readonly #options: ReferenceOptions;
  #document: ApiDocument | null = null;

  constructor(options: ReferenceOptions) {
    this.#options = options;
  }

  /** The API's document, which stays the same as long as this process. @throws ConsoleError */
  async read(): Promise<ApiReference> {
    const { api, sandbox } = this.#options;
    if (this.#document === null) {
      const { body } = await this.#fetch(`${api}/openapi.json`, {});
      this.#document = JSON.parse(body) as ApiDocument;
    }
    const document = this.#document;
    return { document, base: api + (document.servers[0]?.url ?? ''), canTry: sandbox };
  }

  /** Sends a request for an operator. @throws ConsoleError */
  async try(given: Record<string, unknown>): Promise<Tried> {
    if (!this.#options.sandbox)
      throw new ConsoleError('SANDBOX_ONLY', 'The API is tried with the sandbox bank alone.');
    const wish = wishOf(given);
    const { document, base } = await this.read();
    const endpoint = Object.hasOwn(document.paths, wish.path)
      ? document.paths[wish.path]?.[wish.method]
      : undefined;
    if (endpoint === undefined || endpoint.security?.length === 0)
      throw new ConsoleError('NOT_FOUND', 'There is no such endpoint to be tried.');
    const query = new URLSearchParams(wish.query).toString();
    const url = base + filled(wish.path, wish.params) + (query === '' ? '' : `?${query}`);
    return this.#fetch(url, requestOf(wish));
  }

  async #fetch(url: string, request: RequestInit): Promise<Tried> {
    const began = performance.now();
    try {
      const response = await fetch(url, { ...request, signal: AbortSignal.timeout(PATIENCE_MS) });
      const body = await response.text();
      const headers = SHOWN_HEADERS.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value] as [string, string]];
      });
      return { status: response.status, headers, body, ms: Math.round(performance.now() - began) };
    } catch (error) {
      throw new ConsoleError(
        'SERVICE_UNAVAILABLE',
        `The API didn't answer (${textOf(error)}): what was asked of it may be done or not.`,
      );
    }
  }
}
