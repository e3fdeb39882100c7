/** Why a message wasn't taken, in English: these sentences stand in journals. */
import type { RefusalWords } from '../refusal-codes.ts';

const GIVEN_BACK = 'the payment is given back';

export const refusals: RefusalWords = {
  ID_REUSED: () => 'this message id was applied with another type or data',
  MESSAGE_NOT_ACCEPTED: (data) =>
    'refundId' in data
      ? `the charge has no refund ${data.refundId}`
      : `a ${data.type} that is ${data.state} does not take ${data.message}`,
  PAID_TWICE: ({ state }) =>
    `ALARM: the bank has paid a cashout that is ${state}: amount and fee were given back, so the money went out twice`,
  BANK_ALONE: ({ message }) => `the payout was submitted: ${message} is the bank's alone`,
  PARTIAL_UNSUPPORTED: ({ amount, whole }) =>
    `the amount is ${amount}, the charge's is ${whole}: partial ones are not supported`,
  MORE_THAN_STANDS: ({ type, amount, left }) =>
    type === 'cashout'
      ? `the amount is ${amount}, and at most ${left} cents can come back`
      : `the amount is ${amount}, and ${left} cents stand`,
  REFUND_ENDED: ({ refundId, status }) => `refund ${refundId} is ${status} already`,
  REFUNDED_TWICE: ({ refundId }) =>
    `ALARM: the bank has paid refund ${refundId}, which failed: its money was given back to the merchant, so it went out twice`,
  RETURN_DIFFERS: ({ returnId }) => `return ${returnId} was booked with another amount`,
  RETURN_COUNTED: ({ refundId, returnId, status }) =>
    `ALARM: return ${returnId} is booked already, and not as refund ${refundId}, which is ${status}: it counts once`,
  PAYMENT_ELSEWHERE: ({ transaction }) => `the payment belongs to ${transaction}`,
  PAYMENT_IN_ANALYSIS: () => 'the payment is in analysis',
  ALREADY_RETURNED: () => 'the payment was given back already',
  AMOUNT_DIFFERS: ({ amount, whole }) => `the amount is ${amount}, the charge's is ${whole}; ${GIVEN_BACK}`,
  NOT_WAITING: ({ state }) => `the charge is ${state}; ${GIVEN_BACK}`,
  INVALID_DATA: ({ problem }) => problem,
};
