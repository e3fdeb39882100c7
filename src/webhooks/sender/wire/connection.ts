/** One connection to a receiver, whoever speaks HTTP over it, and what an exchange over it tells. */
import type { Way } from './way.ts';

/** How long a connection idles at most. */
export const IDLE_MS = 4_000;
/** So much sooner than a receiver says that it will close one, we do. */
export const CLOSES_SOONER_MS = 2_000;
/** What is read of a response: its headers, each time, and its body. */
export const HEAD_BYTES_MAX = 16 * 1024;
export const BODY_BYTES_MAX = 64 * 1024;
/** Responses of 1xx before the one that counts. */
export const INFORMATIONAL_MAX = 16;

export interface WireRequest {
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** What is told of an exchange: at most one status, then one end. */
export interface WireEvents {
  onStatus(statusCode: number, retryAfter: string | string[] | undefined): void;
  /** The response was read to its last byte. */
  onComplete(): void;
  /** Without a status it has failed; behind one it was cut off. The error's `code` is for merchants and ops to see. */
  onFailure(error: Error): void;
}

/** It carries one exchange at a time; whoever took it gives it back or destroys it. */
export interface Connection {
  readonly way: Way;
  /** Exchanges that were completed over it. */
  served: number;
  /** Whether the receiver has sent anything in this exchange. */
  readonly heard: boolean;
  /** Whether it may serve another exchange now. */
  readonly canServe: boolean;
  /** May tell before it returns. */
  begin(request: WireRequest, events: WireEvents): void;
  /** Nothing is told any more. */
  destroy(): void;
}
