/**
 * Messages to transactions: what the bank, the clock, ops and the sandbox send. Names are binding (design,
 * "Messages"): connectors, tests and the CLI use them.
 */
import type { Customer } from './people/customer.ts';

/** Who of ops did something, and why. */
export interface By {
  /** The name that they gave or signed in with, else the user of their system. */
  name: string;
  /** Null where none was given. */
  reason: string | null;
  role: 'operator';
}

/** `data` of PAY and HOLD, cleaned: malformed parts of the payer are gone, unknown parts are kept elsewhere. */
export interface PaymentData {
  readonly endToEndId?: string;
  /** Cents. */
  readonly amount?: number;
  /** ISO 8601, UTC, milliseconds. */
  readonly paidAt?: string;
  /** The payer, already merged with the customer given at creation; null: nobody knows. */
  readonly payer?: Customer | null;
}

/** `data` of START, SETTLE and a cashout's FAIL. */
export interface TransferData {
  endToEndId?: string;
  paidAt?: string;
  reason?: string;
}

/** `data` of all the others. */
export interface ReasonData {
  reason?: string;
}

/** `data` of REFUND and CHARGEBACK. */
export interface ReversalData extends ReasonData {
  /** Cents; without it what stands. */
  amount?: number;
  returnId?: string;
  /** ISO 8601, UTC, milliseconds. */
  completedAt?: string;
}

/** `data` of REFUND_DONE and REFUND_FAILED. */
export interface OutcomeData extends ReasonData {
  /** UUID v4. */
  refundId?: string;
  returnId?: string;
  /** ISO 8601, UTC, milliseconds. */
  completedAt?: string;
}

/** `data` of REFUND_ORDER, the API's own message. */
export interface RefundOrderData {
  refundId: string;
  /** Cents. */
  amount: number;
  /** The fee that goes back with it, cents. */
  returned: number;
  idempotencyKey: string | null;
  reason: string | null;
}

/** `data` of RETURN. */
export interface ReturnData extends ReasonData {
  returnId?: string;
  /** Cents. */
  amount?: number;
}

/** The known parts of any message; `message-data.ts` says which of them a type has. */
export type MessageData = PaymentData & TransferData & ReversalData & OutcomeData & ReturnData;

/** Types that a charge knows. */
export const PIX_IN_TYPES = [
  'PAY',
  'HOLD',
  'APPROVE',
  'REFUSE',
  'FAIL',
  'CANCEL',
  'EXPIRE',
  'REFUND',
  'CHARGEBACK',
  'REFUND_DONE',
  'REFUND_FAILED',
  'PROTEST',
  'DISMISS',
] as const;

/** Types that a cashout knows. */
export const CASHOUT_TYPES = ['START', 'SETTLE', 'FAIL', 'REJECT', 'CANCEL', 'RETURN'] as const;

export const MESSAGE_TYPES: Record<'pix-in' | 'cashout', readonly string[]> = {
  'pix-in': PIX_IN_TYPES,
  cashout: CASHOUT_TYPES,
};
