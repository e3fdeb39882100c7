/** A charge of ours, as the bank's words are held against it. */
import { creditedWith, refundsOf } from '../../domain/reversals/sums.ts';
import type { ChargeRecord } from '../../engine/journal.ts';
import type { KnownCharge } from './messages.ts';
import { bare } from './profile.ts';
import { isGivenBack } from './returns.ts';

/** The state of a charge that nobody has paid yet. */
export const WAITING = 'waiting_payment';

export function knownCharge({ id, messages, snapshot: { value, context } }: ChargeRecord): KnownCharge {
  const byReturn = new Map(refundsOf(context).map((refund) => [bare(refund.id), refund.id]));
  return {
    txid: bare(id),
    pixKey: context.pixKey ?? '',
    amount: context.amount,
    waits: value === WAITING,
    credited: creditedWith(context),
    // Ops may have said under an id of their own what was paid.
    isApplied: (message) => Object.hasOwn(messages, message) || message === `pix:${context.endToEndId}`,
    ownerOf: (returnId) => {
      const refundId = byReturn.get(returnId);
      if (refundId !== undefined) return { kind: 'refund', refundId };
      return isGivenBack(returnId) ? { kind: 'given-back' } : { kind: 'bank' };
    },
  };
}
