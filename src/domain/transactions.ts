/** The data of a transaction: the contexts of the two statecharts. Plain JSON, readable by a person. */

import type { PaymentData } from './messages.ts';
import type { Customer } from './people/customer.ts';
import type { PixKeyType } from './people/pix-key-types.ts';

export type TransactionType = 'pix-in' | 'cashout';

/** Cents; `netAmount` is `amount - totalFee`. */
export interface Fee {
  readonly totalFee: number;
  readonly netAmount: number;
}

/** Flat key-value data given at creation. */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

export type RefundStatus = 'pending' | 'completed' | 'failed';

/** A refund as it lies in its charge's context. Times are ISO 8601 in UTC with milliseconds. */
export interface Refund {
  readonly amount: number;
  /** The bank's time, else the entry's; null until the refund is completed. */
  readonly completedAt: string | null;
  readonly createdAt: string;
  readonly idempotencyKey: string | null;
  /** Counts the refunds of the charge from 1 on: the order of those of one moment. */
  readonly number: number;
  /** The bank's own: nobody ordered it here. */
  readonly ofBank: boolean;
  readonly reason: string | null;
  /** The bank's id of the return; null until it is known. */
  readonly returnId: string | null;
  /** The fee that the merchant gets back with it. */
  readonly returned: number;
  readonly status: RefundStatus;
  readonly updatedAt: string;
}

/** The sums of what was taken back. */
export interface Reversals {
  /** Booked by chargebacks. */
  readonly chargedback: number;
  /** Refunds so far, failed ones and the bank's own too. */
  readonly count: number;
  /** Refunds that the API ordered, failed ones too. */
  readonly ordered: number;
  /** Refunds that wait for their outcome. */
  readonly pending: number;
  /** Completed refunds, the bank's own too. */
  readonly refunded: number;
  /** The fee that was given back with what stands here. */
  readonly returned: number;
}

/** What the bank took back under an id of its own. */
export interface TakenBack {
  readonly amount: number;
  /** Whether the bank has told of it once more since, under another message id than the one that booked it. */
  readonly toldAgain: boolean;
}

/** A PIX IN: amounts in cents, times ISO 8601 in UTC. */
export interface Charge {
  readonly amount: number;
  readonly fee: Fee;
  readonly externalRef: string | null;
  readonly description: string | null;
  readonly additionalInfo: string | null;
  readonly customer: Customer | null;
  readonly metadata: Metadata;
  readonly qrcode: string;
  /** The Pix key that it was registered with at the bank; absent in the sandbox. */
  readonly pixKey?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly endToEndId: string | null;
  readonly paidAt: string | null;
  /** A payment in analysis: not shown until it is approved. */
  readonly held: PaymentData | null;
  /** Absent where none was given. */
  readonly idempotencyKey?: string;
  /** Sums of what was taken back of the payment; absent where nothing was. */
  readonly reversals?: Reversals;
  /** Each refund is a member of its own, so that an entry stores the one that changed. */
  readonly [refund: `refund:${string}`]: Refund;
  /** What a refund of the bank's own or a chargeback took back, by the bank's id of it; former builds kept none. */
  readonly [takenBack: `return:${string}`]: TakenBack;
}

/** A cashout: amounts in cents, times ISO 8601 in UTC. */
export interface Transfer {
  readonly amount: number;
  readonly fee: Fee;
  readonly idempotencyKey: string | null;
  readonly externalRef: string | null;
  readonly description: string | null;
  readonly metadata: Metadata;
  readonly pixKeyType: PixKeyType;
  readonly pixKey: string;
  readonly createdAt: string;
  /** The end-to-end id, once the bank starts sending. */
  readonly reference: string | null;
  readonly paidAt: string | null;
  /** A result came before the bank's START: a late START is then answered as applied already. */
  readonly startImplied: boolean;
  /** What came back after it was completed, in all; absent where nothing did. */
  readonly returned?: number;
}
