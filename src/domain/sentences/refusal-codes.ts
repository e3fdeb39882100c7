/** Why a message wasn't taken, for programs: each code, and what its sentence needs to know. */
import type { TransactionType } from '../transactions.ts';

/** By code. Amounts are cents. */
export interface RefusalData {
  /** Its id was applied with another type or data. */
  ID_REUSED: object;
  /** The chart's state doesn't take it, or it is about a refund that isn't there. */
  MESSAGE_NOT_ACCEPTED: { type: TransactionType; state: string; message: string } | { refundId: string };
  /** The bank has paid a cashout whose amount was given back: the money went out twice. */
  PAID_TWICE: { state: string };
  /** The payout was submitted, and the message came through another door than the bank's. */
  BANK_ALONE: { message: string };
  /** Version 1 of the charts took money back whole. */
  PARTIAL_UNSUPPORTED: { amount: number; whole: number };
  /** The bank took back more than what stands, or more came back than went out. */
  MORE_THAN_STANDS: { type: TransactionType; amount: number; left: number };
  /** The refund has ended otherwise. */
  REFUND_ENDED: { refundId: string; status: string };
  /** The refund was given up, and its money with it: the bank has paid it all the same. */
  REFUNDED_TWICE: { refundId: string };
  /** The return was booked with another amount. */
  RETURN_DIFFERS: { returnId: string };
  /** The return counts already, as what the bank took back or by another refund: this one isn't done by it besides. */
  RETURN_COUNTED: { refundId: string; returnId: string; status: string };
  /** The payment is another charge's. */
  PAYMENT_ELSEWHERE: { transaction: string };
  PAYMENT_IN_ANALYSIS: object;
  /** The payment was given back before. */
  ALREADY_RETURNED: object;
  /** The payment is of another amount than the charge. */
  AMOUNT_DIFFERS: { amount: number; whole: number };
  /** The charge waits for no payment. */
  NOT_WAITING: { state: string };
  /** The bank's message lacks a part, or has a malformed one. */
  INVALID_DATA: { problem: string };
}

export type RefusalCode = keyof RefusalData;

/** A language's sentence for each code. */
export type RefusalWords = { readonly [Code in RefusalCode]: (data: RefusalData[Code]) => string };
