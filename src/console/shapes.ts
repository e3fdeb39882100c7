/** What the console's endpoints answer, as both of its sides know it. Amounts are whole cents, times ISO in UTC. */
import type { About } from '../domain/sentences/item-codes.ts';
import type { DataParts } from './shapes/acts.ts';

export type Role = 'viewer' | 'operator';
export type Language = 'pt' | 'en';
/** The transactions' types as the contract has them. */
export type Kind = 'pix-in' | 'cashout';

/**
 * The header that bears the session's second half; the first one is the cookie. Every call below `/console/api` but
 * `POST session` needs both: without, it is answered 401 `INVALID_CREDENTIALS`. Where a proxy signs people in there are
 * no sessions, and who isn't signed in there is answered 401 `SIGN_IN_BY_PROXY`.
 */
export const SESSION_HEADER = 'x-pixstate-session';

/** `POST /console/api/session`: the key stands in the link, behind `#k=`. */
export interface SignIn {
  key: string;
}

/** Its answer. `half` is what the header bears from now on: nobody tells it again. */
export interface SignedIn extends Me {
  half: string;
}

/** `GET /console/api/me` */
export interface Me {
  /** Who signed in. */
  by: string;
  role: Role;
  /** What signed them in: a link of ours, or the proxy before the console. */
  via: 'link' | 'proxy';
  /** When the session ends at the latest; null where the proxy says so. */
  until: string | null;
  sandbox: boolean;
  /** The package's. */
  version: string;
}

/** A session that lasts. */
export interface SessionRow {
  /** Names it, and opens nothing. */
  id: string;
  by: string;
  role: Role;
  /** When it began, when its use was written down last (once in five minutes), and when it ends at the latest. */
  since: string;
  usedAt: string;
  until: string;
  /** It is the one that asks. */
  isOwn: boolean;
}

/**
 * `GET /console/api/sessions`: all of them, the last used first; none where a proxy signs people in. `DELETE
 * /console/api/sessions/:id` ends one: operators anybody's, viewers their own.
 */
export interface SessionList {
  rows: SessionRow[];
}

/** What a text was found as. */
export interface Hit {
  kind: 'transaction' | 'account';
  /** The transaction's, or the account's. */
  id: string;
  account: string;
  accountName: string;
  /** `id`, or what the text is to the transaction: `externalRef`, `reference`, `event`, `delivery`, `clientId` and so on. */
  matched: string;
  /** Null where the hit is an account. */
  transaction: { type: Kind; status: string; amount: number; createdAt: string } | null;
}

/** `GET /console/api/find?q=`: at most 20 hits, and whether there can be no more. */
export interface Found {
  hits: Hit[];
  complete: boolean;
}

/** A row of `GET /console/api/transactions`, the newest first. */
export interface TransactionRow {
  id: string;
  account: string;
  accountName: string;
  type: Kind;
  status: string;
  amount: number;
  externalRef: string | null;
  createdAt: string;
  updatedAt: string;
}

/**
 * `GET /console/api/transactions?account&type&status&family&from&to&after&limit`: `from` and `to` are times of creation,
 * both included.
 */
export interface TransactionPage {
  rows: TransactionRow[];
  /** How far back was looked; null where it was as far as was asked. */
  lookedBackTo: string | null;
  /** How many batches on the way can't be read. */
  unreadable: number;
  /** What the next page comes after, as this answer gives it; null after the last one. */
  after: string | null;
}

export interface Posting {
  leg: string;
  amount: number;
}

/** Who of ops did something; `reason` is null where none was given. */
export interface By {
  name: string;
  role: string;
  reason: string | null;
}

/** What a message did to a transaction, or why it did nothing. */
export interface Entry {
  seq: number;
  at: string;
  /** By which door the message came: `api`, `bank`, `ops`, `engine` and so on. */
  door: string;
  /** Who of ops sent it, and why; null through other doors, and where former builds kept nobody. */
  by: By | null;
  message: { id: string; type: string; data: unknown };
  from: string | null;
  to: string;
  /** Why it did nothing: `data` is what the code's sentence needs, `text` is English. */
  refusal: { code: string | null; data: object | null; text: string } | null;
  postings: Posting[];
  events: { id: string; name: string }[];
  /** The account's available balance after it; null where that was not worked out. */
  balance: number | null;
}

export interface Attempt {
  at: string;
  /** The receiver's, where it answered. */
  statusCode: number | null;
  error: string | null;
  durationMs: number | null;
}

export interface Delivery {
  id: string;
  event: string;
  eventId: string;
  url: string;
  status: string;
  nextAttemptAt: string | null;
  attempts: readonly Attempt[];
}

/** A running `after` of the chart, and when it raises its message. */
export interface Timer {
  name: string;
  at: string;
}

/** `GET /console/api/transactions/:id` */
export interface TransactionDocument {
  id: string;
  account: string;
  accountName: string;
  type: Kind;
  status: string;
  amount: number;
  createdAt: string;
  updatedAt: string;
  /** The transaction as its merchant reads it, documents and Pix keys masked unless they were asked for. */
  transaction: Record<string, unknown>;
  /** The statechart that it is at. */
  machine: { id: string; version: number; state: string };
  /** The whole snapshot, masked as above. */
  snapshot: unknown;
  /**
   * The messages that it takes of an operator now; `REFUND_ORDER` stands for a refund, which is asked for by an endpoint
   * of its own.
   */
  allowed: string[];
  /** What the data of each of them may have. */
  needs: Record<string, DataParts>;
  /** Cents that a refund may take; 0 where there can be none. */
  refundable: number;
  timers: readonly Timer[];
  /** Where its money is now: each leg's sum over its entries. */
  legs: Posting[];
  /** The newest first; pages by `before` where there are more. */
  entries: Entry[];
  /** The `before` of the next, older entries; null where these are all. */
  before: number | null;
  /** What needs a person about it, the oldest of it first. */
  items: Item[];
  deliveries: Delivery[];
}

/** `GET /console/api/transactions/:id/payload/:event`: what was sent, masked as the transaction. */
export interface SentPayload {
  eventId: string;
  payload: Record<string, unknown>;
}

export interface AccountRow {
  id: string;
  name: string;
  clientId: string;
  status: string;
  createdAt: string;
  /** What is available. */
  balance: number;
}

/** `GET /console/api/accounts?q&after`: in the order of their ids; `q` is a part of a name, or an id's beginning. */
export interface AccountPage {
  rows: AccountRow[];
  /** What the next page comes after; null after the last one. */
  after: string | null;
}

/** An item that needs a person, as `attention --json` gives it. The sentences of its code say it in both languages. */
export interface Item {
  kind: string;
  id: string;
  /** Null in items of former builds: they have the sentence that they were stored with. */
  code: string | null;
  account: string | null;
  amount: number | null;
  since: string;
  /** English. */
  what: string;
  next: string;
  about: About;
  /** What the code's sentences need besides. */
  data: object | null;
}

/** An error's body, as the merchants' API has it. */
export interface Problem {
  error: string;
  message: string;
}
