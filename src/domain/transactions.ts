/** The data of a transaction: the contexts of the two statecharts. Plain JSON, readable by a person. */
import type { Customer } from './customer.ts';
import type { PaymentData } from './messages.ts';
import type { PixKeyType } from './pix-key.ts';

export type TransactionType = 'pix-in' | 'cashout';

/** Cents; `netAmount` is `amount - totalFee`. */
export interface Fee {
  totalFee: number;
  netAmount: number;
}

/** Flat key-value data given at creation. */
export type Metadata = Record<string, string | number | boolean>;

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
  createdAt: string;
  expiresAt: string;
  endToEndId: string | null;
  paidAt: string | null;
  /** A payment in analysis: not shown until it is approved. */
  held: PaymentData | null;
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
}
