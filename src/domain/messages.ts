/**
 * Messages to transactions: what the bank, the clock, ops and the sandbox send. Names are binding (design,
 * "Messages"): connectors, tests and the CLI use them.
 */
import type { Customer } from './customer.ts';

/** `data` of PAY and HOLD, cleaned: malformed parts of the payer are gone, unknown parts are kept elsewhere. */
export interface PaymentData {
  endToEndId?: string;
  /** Cents. */
  amount?: number;
  /** ISO 8601, UTC, milliseconds. */
  paidAt?: string;
  /** The payer, already merged with the customer given at creation; null: nobody knows. */
  payer?: Customer | null;
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
  /** Cents; REFUND and CHARGEBACK only, and then the charge's whole amount. */
  amount?: number;
}

/** The known parts of any message; `message-data.ts` says which of them a type has. */
export type MessageData = PaymentData & TransferData & ReasonData;

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
  'PROTEST',
  'DISMISS',
] as const;

/** Types that a cashout knows. */
export const CASHOUT_TYPES = ['START', 'SETTLE', 'FAIL', 'REJECT', 'CANCEL'] as const;

export const MESSAGE_TYPES: Record<'pix-in' | 'cashout', readonly string[]> = {
  'pix-in': PIX_IN_TYPES,
  cashout: CASHOUT_TYPES,
};
