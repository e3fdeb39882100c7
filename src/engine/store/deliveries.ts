/** Deliveries, as the store keeps their progress, and those that have failed: the part of its port that all its users share. */

export interface DeliveryAttempt {
  readonly at: string;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export type DeliveryStatus = 'pending' | 'delivered' | 'retrying' | 'dead' | 'rejected';

/** Whether a delivery is at an end without having been delivered: ops may have it tried again. */
export function hasFailed({ status }: DeliveryRecord): boolean {
  return status === 'dead' || status === 'rejected';
}

/** The progress of a delivery, outside the journal: a rebuild never resends. */
export interface DeliveryRecord {
  readonly id: string;
  readonly account: string;
  readonly transaction: string;
  readonly status: DeliveryStatus;
  /** Failed attempts of the present round. */
  readonly failures: number;
  readonly attempts: readonly DeliveryAttempt[];
  readonly nextAttemptAt: string | null;
  readonly deliveredAt: string | null;
}

/** Which failed deliveries are meant; an option that is left out fits all. */
export interface FailedFilter {
  account?: string;
  status?: 'dead' | 'rejected';
  url?: string;
  /** The last attempt was at this time (ISO) or later. */
  since?: string;
}

/** `url` is null where the store doesn't know it: the journal has to be asked for it. */
export interface FailedDelivery {
  record: DeliveryRecord;
  url: string | null;
}

export interface FailedPage {
  /**
   * In an order of the store's, each once, whatever fails meanwhile. Those of which the store knows no URL fit any. None
   * doesn't mean that there are no more.
   */
  found: FailedDelivery[];
  /** The place to go on from, in the adapter's own words; null where there are no more. */
  next: string | null;
}

/** Rows that a page looks at, at most: those that fit none of the filter are passed over. */
export const MOST_LOOKED_AT = 500;

/** When a delivery's last attempt was (ISO); empty where it had none. */
export function failedAt({ attempts }: Pick<DeliveryRecord, 'attempts'>): string {
  return attempts.at(-1)?.at ?? '';
}

/** Whether a failed delivery is meant. */
export function fitsFailed({ record, url }: FailedDelivery, filter: FailedFilter): boolean {
  const { account, status, url: wanted, since } = filter;
  return (
    (account === undefined || record.account === account) &&
    (status === undefined || record.status === status) &&
    (wanted === undefined || url === null || url === wanted) &&
    (since === undefined || failedAt(record) >= since)
  );
}
