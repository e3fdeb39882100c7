/** A charge of ours, as the bank's words are held against it. */
import { countedUnder, creditedWith, refundsOf } from '../../domain/reversals/sums.ts';
import type { Charge, Refund } from '../../domain/transactions.ts';
import type { ChargeRecord } from '../../engine/journal.ts';
import { DONE, FAILED, type KnownCharge } from './messages.ts';
import type { PaymentReturn } from './payments.ts';
import { bare } from './profile.ts';

/** Our ids of returns that no refund ordered: of a payment's end-to-end id, and the how-manieth it is. */
const GIVEN_BACK = /^gb[0-9a-f]{30}\d{1,3}$/;

/** Whether a return's id at the bank is ours, of a payment that was given back. */
function isGivenBack(returnId: string): boolean {
  return GIVEN_BACK.test(returnId);
}

/** The state of a charge that nobody has paid yet. */
export const WAITING = 'waiting_payment';

/**
 * Whether a refund has ended as the bank tells of its return; or it failed here since ops had booked that return as
 * something else, which counts once.
 */
function isEndedSo(
  charge: Charge,
  { amount, returnId: known, status }: Refund,
  told: PaymentReturn,
): boolean {
  const isSame = told.returnId === null || told.returnId === known;
  if (told.status === FAILED) return status === 'failed' && isSame;
  if (told.status !== DONE) return false;
  if (status === 'completed') return isSame;
  return (
    status === 'failed' && told.returnId !== null && countedUnder(charge, told.returnId)?.amount === amount
  );
}

export function knownCharge({ id, messages, snapshot: { value, context } }: ChargeRecord): KnownCharge {
  const byReturn = new Map(refundsOf(context).map((each) => [bare(each.id), each]));
  return {
    txid: bare(id),
    pixKey: context.pixKey ?? '',
    amount: context.amount,
    waits: value === WAITING,
    credited: creditedWith(context),
    // Ops may have said under an id of their own what was paid.
    isApplied: (message) => Object.hasOwn(messages, message) || message === `pix:${context.endToEndId}`,
    isBooked: (told) => {
      const known = byReturn.get(told.id);
      return known !== undefined && isEndedSo(context, known.refund, told);
    },
    ownerOf: (returnId) => {
      const refundId = byReturn.get(returnId)?.id;
      if (refundId !== undefined) return { kind: 'refund', refundId };
      return isGivenBack(returnId) ? { kind: 'given-back' } : { kind: 'bank' };
    },
  };
}
