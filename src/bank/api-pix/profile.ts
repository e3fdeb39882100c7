/**
 * What differs from bank to bank: data and a few small functions. Nothing else in this room knows a bank by name.
 */

import type { Answer } from './reading.ts';
import type { Request } from './wire/exchange.ts';

export interface Credentials {
  clientId: string;
  clientSecret: string;
}

/** A transfer to order. */
export interface Order {
  /** Ours at the bank for ever: a UUID. */
  id: string;
  /** Cents. */
  amount: number;
  /** The payer's key. */
  from: string;
  /** The payee's key. */
  to: string;
  description: string | null;
}

/** How a transfer is asked about: by our id, and by the bank's own where its first answer came. */
export interface SendingRef {
  id: string;
  bankId: string | null;
}

/**
 * Where a transfer stands: `waiting` (for the bank or a person there), `started`, `settled`; `failed` after the bank
 * took it up, `rejected` and `canceled` by the words that the bank uses before that; `unknown` is a state that we
 * don't know.
 */
export type SendingState = 'waiting' | 'started' | 'settled' | 'failed' | 'rejected' | 'canceled' | 'unknown';

/** A transfer as the bank tells of it. */
export interface Sending {
  /** Ours; null where the bank doesn't repeat it. */
  id: string | null;
  /** The bank's own id, by which it is asked about. */
  bankId: string | null;
  endToEndId: string | null;
  /** Cents; null where the answer says none. */
  amount: number | null;
  state: SendingState;
  /** The bank's word for the state, for people. */
  told: string;
  /** When it was settled: ISO 8601, UTC. */
  paidAt: string | null;
  reason: string | null;
  /** Money that came back. */
  returns: readonly SentReturn[];
}

export interface SentReturn {
  id: string;
  returnId: string | null;
  /** Cents. */
  amount: number;
  reason: string | null;
}

/** How a bank sends. */
export interface SendingProfile {
  scopes: readonly string[];
  /**
   * What the same order under the same id does: nothing that pays twice (`safe`), or who knows (`never`): then a
   * person decides.
   */
  repeat: 'safe' | 'never';
  order(order: Order): Request;
  /** The answer to an order, and to the question; null where it can't be read. */
  readOrder(answer: Answer): Sending | null;
  /** Null where the bank can't be asked without an id of its own: then the order again is the question. */
  question(ref: SendingRef): Request | null;
  readAnswer(answer: Answer): Sending | null;
  /** Whether a 404 of this name is about the payee's key. */
  namesPayee(name: string): boolean;
  /** The path of the list of transfers, which takes the standard's window and pages; null where there is none. */
  listPath: string | null;
}

/** Which transaction of ours an element of a callback is about: a hint, never a fact. */
export type Hint =
  | { kind: 'charge'; txid: string }
  | { kind: 'payment'; endToEndId: string }
  | { kind: 'return'; id: string }
  | { kind: 'sending'; id: string };

export type ProfileName = 'standard' | 'efi' | 'inter';

export interface Profile {
  name: ProfileName;
  /** Behind the bank's base; empty where the base is the API's. */
  apiPath: string;
  /** Behind the bank's base; null where the configuration gives the whole URL. */
  tokenPath: string | null;
  /** What is asked for, or what the contract must have given where the bank isn't asked. */
  scopes: readonly string[];
  tokenRequest(credentials: Credentials): { headers: Record<string, string>; body: string };
  /** A Pix key as the bank takes it in a path. */
  keyInPath(key: string): string;
  /** How many calls at once. */
  callsAtOnce: number;
  sending: SendingProfile | null;
  /** Hints of a callback's element beyond the standard's. */
  hints(element: Answer): Hint[];
}

/** Scopes of the standard's calls that are made here. */
export const API_PIX_SCOPES = [
  'cob.write',
  'cob.read',
  'pix.write',
  'pix.read',
  'webhook.write',
  'webhook.read',
] as const;

/** Everything a token must be good for. */
export function scopesOf({ scopes, sending }: Pick<Profile, 'scopes' | 'sending'>): string[] {
  return [...scopes, ...(sending?.scopes ?? [])];
}

/** Client id and secret as they are: RFC 6749 would have them form-encoded first, and banks refuse that. */
export function basic({ clientId, clientSecret }: Credentials): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
}

export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

/** Our ids at banks: a UUID without its dashes. */
export function bare(id: string): string {
  return id.replaceAll('-', '');
}
