/** What the console's endpoints answer about one account. Amounts are whole cents, times ISO in UTC. */
import type { By, Kind } from '../shapes.ts';
import type { UrlHealth } from './deliveries.ts';
import type { Following } from './now.ts';

/** By which door a message came. */
export type DoorName = 'api' | 'bank' | 'sandbox' | 'ops' | 'clock';

/** What is in each leg, in cents. */
export interface LegSums {
  available: number;
  clearing: number;
  fees: number;
  bank: number;
}

/** One of an account's URLs. */
export interface AccountUrl {
  url: string;
  /** Null: all events. */
  events: string[] | null;
  /** Those that sign now, the newest first; null: made by a former build, which kept no time. */
  secrets: { since: string | null; until: string | null }[];
  /** Null: not attempted by this process. */
  health: UrlHealth | null;
}

/** `GET /console/api/accounts/:id`: no secret, neither sealed nor hashed; the Pix key masked. */
export interface AccountDocument {
  id: string;
  /** Counts changes of its settings and secrets. */
  version: number;
  name: string;
  clientId: string;
  /** What ops say, and what the merchant says. */
  status: string;
  userStatus: string;
  createdAt: string;
  balances: LegSums;
  /** The journal's last batch; null where there is none. */
  head: { seq: number; at: string; hash: string } | null;
  /** Whether its journal adds up, and up to when that was looked at; null: nobody reads it again. */
  verified: Following | null;
  /** The client secret; null: made by a former build. */
  secret: { since: string | null };
  urls: AccountUrl[];
  /** IPv4 addresses or `*`. */
  allowedIps: string[];
  settings: {
    fees: Record<'pixIn' | 'cashout', { fixed: number; percent: number; min: number; max: number | null }>;
    expiresIn: number | null;
    maxAmount: number | null;
    pixKey: string;
    merchantName: string;
    merchantCity: string;
  };
}

/** What operators do that is no message. */
export interface Did {
  action: string;
  /** How many deliveries or items; null where it isn't about such. */
  count: number | null;
  /** The transaction or URL, or the settings by their names; null where there is none of these. */
  about: string | null;
}

/** An entry that changed the balance, or came by the door that was asked for. */
export interface StatementRow {
  seq: number;
  at: string;
  door: string;
  /** The message's type. */
  message: string;
  /** Null: of the account itself. */
  type: Kind | null;
  transaction: string | null;
  externalRef: string | null;
  /** The transaction's state after it; null for none, and for what was refused. */
  status: string | null;
  isRefused: boolean;
  /** Who of ops did it, and why; null: nobody did by hand. */
  by: By | null;
  /** What was done that is no message; null for messages. */
  did: Did | null;
  amount: number;
  /** What was available after it. */
  balance: number;
}

/**
 * `GET /console/api/accounts/:id/statement?before&door&limit`, the newest first. `before` is a time, or what the page
 * before gave; `door` asks for all that came by it, whether it changed the balance or not.
 */
export interface StatementPage {
  /** Each leg before the first row: at the time that was asked for, or now. */
  balances: LegSums;
  rows: StatementRow[];
  /** How far back was looked; null where it was to the beginning. */
  lookedBackTo: string | null;
  /** How many batches on the way can't be read. */
  unreadable: number;
  /** The next, older page's; null after the last one. */
  before: string | null;
}

/**
 * `GET /console/api/accounts/:id/statement/csv?from&to&cursor`: a part of the statement as merchants have it, oldest
 * first, the last 24 hours where nothing is said. Parts are put together as they are.
 */
export interface StatementCsv {
  csv: string;
  /** How many rows of the statement it has: none, too, where a long part of the journal changed no balance. */
  rows: number;
  /** The next part's `cursor`; null after the last one. */
  next: string | null;
}

/** `GET /console/api/accounts/:id/curve?from&to&points`: at most 100 points; the last 7 days where nothing is said. */
export interface Curve {
  /** The time, and what was available then, evenly from `from` to `to`. */
  points: [at: string, available: number][];
  /** False: some points are left out, since time was up. */
  complete: boolean;
}
