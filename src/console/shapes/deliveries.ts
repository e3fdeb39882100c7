/** What the console's endpoints answer about deliveries and where they go. Times are ISO in UTC. */
import type { Delivery, Kind } from '../shapes.ts';

/** What the last attempts at one of an account's URLs came to, as one process saw them. */
export interface UrlHealth {
  account: string;
  url: string;
  /** Whether each of the last attempts was taken, at most 36, the oldest first. */
  recent: boolean[];
  /** Ms. */
  p50: number;
  p95: number;
  /** How many attempts have failed in a row, up to the newest. */
  failing: number;
  /** Deliveries that wait for a further attempt, as far as this process has attempted them; 36 at the most. */
  retrying: number;
  /** Whether there were more than that, so that more may wait. */
  moreRetrying: boolean;
  lastAt: string;
}

/** `GET /console/api/urls?account`: the worst first, at most 100. */
export interface UrlList {
  urls: (UrlHealth & { accountName: string })[];
  /** How many more have been attempted. */
  others: number;
  /** Since when this process looks. */
  since: string;
  /** Other processes on the same database attempt deliveries, too: what they see is not here. */
  shared: boolean;
}

/** A row of `GET /console/api/deliveries`. */
export interface DeliveryRow extends Delivery {
  account: string;
  accountName: string;
  transaction: string;
  type: Kind;
  /** The event's time. */
  createdAt: string;
}

/**
 * `GET /console/api/deliveries?status&account&url&after&limit`, those of the newest events first; dead and rejected ones
 * are all found, the newest failure first, or on MongoDB by account.
 */
export interface DeliveryPage {
  rows: DeliveryRow[];
  /** How far back was looked; null where it was to the beginning. */
  lookedBackTo: string | null;
  /** What lay on the way and can't be read: batches, or deliveries of which the journal can't be read. */
  unreadable: number;
  /** What the next page comes after; null after the last one. */
  after: string | null;
}
