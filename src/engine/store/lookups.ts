/** What transactions are found by: the part of the store's port that tells of lookups. */

/**
 * What transactions are found by, within an account:
 * `idempotencyKey` (cashout), `externalRef` (the newest charge), `reference` (cashout, end-to-end id),
 * `chargeKey` (charge, idempotency key), `refund` and `refundKey` (the charge of a refund, by its id and by its
 * idempotency key), `return` (the cashout that a return's id, and a return's id with its amount, belong to),
 * `payment` (the charge that an end-to-end id pays or is held for), `returned` (end-to-end ids given back),
 * `adjustment` (message ids of adjustments and of ops' actions; its value is a digest, not a transaction), `refusal` (messages that
 * were refused and recorded, so that each is recorded once).
 */
export type LookupName =
  | 'idempotencyKey'
  | 'externalRef'
  | 'reference'
  | 'chargeKey'
  | 'refund'
  | 'refundKey'
  | 'return'
  | 'payment'
  | 'returned'
  | 'adjustment'
  | 'refusal';

export interface Lookup {
  name: LookupName;
  /** Of at most 512 bytes: `lookupKey` sees to that. */
  key: string;
}

/** What an account knows a transaction by. */
export interface QuotedRow {
  name: LookupName;
  transaction: string;
}

export interface QuotedPage {
  rows: QuotedRow[];
  /** The account that the next page comes behind; null after the last one. */
  next: string | null;
}

/** Points at a transaction's id, or holds a value of its own. */
export interface LookupRow extends Lookup {
  value: string;
}

/**
 * About as many rows as were asked for. Rows that another transaction's took the place of may be among them: a charge's
 * external reference comes before that of a newer one.
 */
export interface LookupPage {
  rows: LookupRow[];
  /** What the next page comes after, in the adapter's own words; null after the last one. */
  next: string | null;
}
