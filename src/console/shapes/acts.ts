/**
 * What operators do from the console. Each has an `id` that the page makes up: the same one again is answered as before,
 * and nothing is done twice. `reason` is text of 1 to 500 characters, and stands in the journal under the operator's name
 * before anything is done. Amounts are whole cents.
 */

/** What each of them has. */
export interface ActParts {
  id: string;
  reason: string;
}

/** `POST /console/api/transactions/:id/messages`: a message to a transaction. */
export interface MessageWish extends ActParts {
  type: string;
  data?: Record<string, unknown> | null;
}

/** `POST .../refunds` and `.../cancel`: as the merchant's endpoints. A refund's `id` is a UUID; without `amount` it is what remains. */
export interface RefundWish extends ActParts {
  amount?: number | null;
}

/** What came of a message, a refund, a cancelling. `applied`: now, and not before under the same id. */
export interface Sent {
  transaction: string;
  status: string;
  applied: boolean;
}

/** `POST /console/api/deliveries/retry`: by ids (deliveries, events or transactions), at most 100. */
export interface RetryIdsWish extends ActParts {
  ids: string[];
}

/** The same for all that a URL didn't take since a time: a run, of which there is more to hear. */
export interface RetryUrlWish extends ActParts {
  /** Null or absent: whoever has the URL. */
  account?: string | null;
  url: string;
  /** The last attempt was then (ISO 8601) or later; null or absent: whenever it was. */
  since?: string | null;
  /** Deliveries a second, 1 to 50; 10 where nothing is said. */
  perSecond?: number | null;
  /** Only one, to ask the URL whether it answers. */
  first?: boolean | null;
}

/** What deliveries were asked for by ids, and which of them start anew; of a repeat none does. */
export interface RetriedIds {
  asked: number;
  retried: number;
  deliveries: string[];
}

/**
 * A run over a URL's failed deliveries: `GET /console/api/deliveries/retries/:id` tells how it goes, at the server that
 * does it. It is over with `done`, `stopped` (too many failed) or `broken` (the server could not go on).
 */
export interface RetryRun {
  id: string;
  account: string | null;
  url: string;
  since: string | null;
  /** How many there were to try; of a first one: how many there are with it. */
  asked: number;
  /** How many start, or have started, anew. */
  retried: number;
  delivered: number;
  failed: number;
  state: 'running' | 'done' | 'stopped' | 'broken';
  /** What the newest attempt brought; null before the first. */
  last: { at: string; statusCode: number | null; error: string | null; durationMs: number } | null;
}

/** `POST /console/api/attention/done`: items of one kind, by their ids, at most 100. Another kind's may have the same. */
export interface DoneWish extends ActParts {
  kind: string;
  ids: string[];
}

/** The ids that are off the list. */
export interface DoneItems {
  done: string[];
}

/** `POST /console/api/accounts/:id/adjust` */
export interface AdjustWish extends ActParts {
  /** Below zero: it is taken away. */
  amount: number;
  /** The balance may go below zero. */
  allowNegative?: boolean | null;
}

export interface Adjusted {
  account: string;
  balance: number;
  applied: boolean;
}

/**
 * `PATCH /console/api/accounts/:id`: what is absent stays. Lists are replaced whole; null takes an own value away. An
 * account that has another version by then is a 409 `ACCOUNT_CHANGED` with its `present` settings.
 */
export interface SettingsWish extends ActParts {
  /** Of the account that was looked at; absent or null: whichever there is. */
  version?: number | null;
  status?: string;
  userStatus?: string;
  allowedIps?: string[];
  webhooks?: { url: string; events?: string[] | null }[];
  maxAmount?: number | null;
  pixKey?: string | null;
}

/** What an account is now, of what the dialog changes. */
export interface PresentSettings {
  version: number;
  status: string;
  userStatus: string;
  allowedIps: string[];
  urls: { url: string; events: string[] | null }[];
  maxAmount: number | null;
}

/** Secrets of URLs that are new are told once. */
export interface ChangedAccount {
  account: string;
  issued: { url: string; secret: string }[];
}

/** `POST /console/api/accounts/:id/rotate`: the client's pair, or the secret of a URL. `version`: as a `SettingsWish` has it. */
export interface RotateWish extends ActParts {
  version?: number | null;
  url?: string | null;
}

/** Told once: the same `id` again is a 409 `DONE_BEFORE`. */
export type Rotated = { clientId: string; clientSecret: string } | { url: string; secret: string };

/** What a message's data may have: the parts that it needs, and those that it may have. */
export interface DataParts {
  required: string[];
  optional: string[];
}
