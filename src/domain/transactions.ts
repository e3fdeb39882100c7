/** The data of a transaction: the contexts of the two statecharts. Plain JSON, readable by a person. */

import type { PaymentData } from './messages.ts';
import type { Customer } from './people/customer.ts';
import type { PixKeyType } from './people/pix-key-types.ts';

export type TransactionType = 'pix-in' | 'cashout';

/** Cents; `netAmount` is `amount - totalFee`. */
export interface Fee {
  totalFee: number;
  netAmount: number;
}

/** Flat key-value data given at creation. */
export type Metadata = Record<string, string | number | boolean>;

export type RefundStatus = 'pending' | 'completed' | 'failed';

/** A refund as it lies in its charge's context. Times are ISO 8601 in UTC with milliseconds. */
export interface Refund {
  amount: number;
  /** The bank's time, else the entry's; null until the refund is completed. */
  completedAt: string | null;
  createdAt: string;
  idempotencyKey: string | null;
  /** Counts the refunds of the charge from 1 on: the order of those of one moment. */
  number: number;
  /** The bank's own: nobody ordered it here. */
  ofBank: boolean;
  reason: string | null;
  /** The bank's id of the return; null until it is known. */
  returnId: string | null;
  /** The fee that the merchant gets back with it. */
  returned: number;
  status: RefundStatus;
  updatedAt: string;
}

/** The sums of what was taken back. */
export interface Reversals {
  /** Booked by chargebacks. */
  chargedback: number;
  /** Refunds so far, failed ones and the bank's own too. */
  count: number;
  /** Refunds that the API ordered, failed ones too. */
  ordered: number;
  /** Refunds that wait for their outcome. */
  pending: number;
  /** Completed refunds, the bank's own too. */
  refunded: number;
  /** The fee that was given back with what stands here. */
  returned: number;
}

/** A PIX IN: amounts in cents, times ISO 8601 in UTC. */
export interface Charge {
  amount: number;
  fee: Fee;
  externalRef: string | null;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
  metadata: Metadata;
  qrcode: string;
  /** The Pix key that it was registered with at the bank; absent in the sandbox. */
  pixKey?: string;
  createdAt: string;
  expiresAt: string;
  endToEndId: string | null;
  paidAt: string | null;
  /** A payment in analysis: not shown until it is approved. */
  held: PaymentData | null;
  /** Absent where none was given. */
  idempotencyKey?: string;
  /** Sums of what was taken back of the payment; absent where nothing was. */
  reversals?: Reversals;
  /** Each refund is a member of its own, so that an entry stores the one that changed. */
  [refund: `refund:${string}`]: Refund;
}

/** A cashout: amounts in cents, times ISO 8601 in UTC. */
export interface Transfer {
  amount: number;
  fee: Fee;
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  metadata: Metadata;
  pixKeyType: PixKeyType;
  pixKey: string;
  createdAt: string;
  /** The end-to-end id, once the bank starts sending. */
  reference: string | null;
  paidAt: string | null;
  /** A result came before the bank's START: a late START is then answered as applied already. */
  startImplied: boolean;
  /** What came back after it was completed, in all; absent where nothing did. */
  returned?: number;
}
