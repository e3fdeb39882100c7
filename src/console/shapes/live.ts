/** What comes by the console's stream. Amounts are whole cents, times ISO in UTC. */
import type { Attempt, Kind } from '../shapes.ts';

/** An entry of the journal, in short. */
export interface LiveRow {
  account: string;
  accountName: string;
  /** The batch's number in its account's journal, and the entry's place in it: both name it. */
  seq: number;
  index: number;
  at: string;
  /** By which door the message came. */
  door: string;
  /** Its type. */
  message: string;
  /** Null: of the account itself. */
  transaction: string | null;
  type: Kind | null;
  /** The transaction's, null where there is none. */
  amount: number | null;
  /** Null: it begins with this entry. */
  from: string | null;
  /** The state after it; null where there is no transaction, or the message was refused. */
  to: string | null;
  isRefused: boolean;
  /** What the account's available balance changed by. */
  change: number;
}

/** How far one delivery has come. */
export interface LiveDelivery {
  id: string;
  status: string;
  nextAttemptAt: string | null;
  attempts: readonly Attempt[];
}

/**
 * Why a stream ends: the session is over; the server stops; the store is away; it has lasted long enough, and the page
 * opens another.
 */
export type Farewell = 'session' | 'server' | 'store' | 'again';

/**
 * `GET /console/api/live?account&transaction`: lines of JSON, each an event. All entries, those of one account, or of one
 * transaction with its deliveries' attempts. The 51st stream is answered 429
 * `RATE_LIMITED`, the ninth of one session (or one person, behind a proxy) 429 `TOO_MANY_STREAMS`.
 */
export type LiveEvent =
  /** What comes from now on is told: what was before is to be read once this is there. */
  | { event: 'hello' }
  /** At most 200, oldest first; `missed`: about so many others came before these, and are not told. */
  | { event: 'entries'; rows: LiveRow[]; missed: number }
  /** Only of the transaction that was asked for. */
  | { event: 'attempts'; deliveries: LiveDelivery[] }
  /** Nothing happened for a while. */
  | { event: 'beat' }
  /** The last one. */
  | { event: 'bye'; why: Farewell };
