/**
 * What refunds and chargebacks do to a charge: the postings of each step, and the parts of the context that it
 * changes (additions, "Money, in cents"). Pure; amounts are cents.
 */
import type { OutcomeData, RefundOrderData, ReversalData } from '../messages.ts';
import type { Leg, Posting } from '../money.ts';
import { timeOfText } from '../time.ts';
import type { Charge, Refund, Reversals } from '../transactions.ts';
import {
  MOST_REFUNDS,
  missingFee,
  REFUNDABLE_MS,
  refundName,
  refundOf,
  remainingOf,
  returnedWith,
  reversalsOf,
  standingOf,
  takenBackName,
} from './sums.ts';

/** What a step posts, and the parts of the context after it. */
export interface Reversal {
  postings: Posting[];
  changes: Partial<Charge>;
}

/** A step of so much: on one leg, from the merchant's money and the fee that goes back. */
function taken(leg: Leg, amount: number, returned: number): Posting[] {
  return [
    { leg, amount },
    { leg: 'available', amount: returned - amount },
    { leg: 'fees', amount: -returned },
  ];
}

function changed(charge: Charge, sums: Partial<Reversals>): Reversals {
  return { ...reversalsOf(charge), ...sums };
}

/** The fee that the step brings because it is the last one. */
function missingAfter(charge: Charge, reversals: Reversals): number {
  return missingFee({ ...charge, reversals });
}

/** Whether a refund may be ordered within what remains. Its charge's age is by the clock, which no entry tells. */
export function isOrderable(charge: Charge, amount: number): boolean {
  return hasRefundsLeft(charge) && amount >= 1 && amount <= remainingOf(charge);
}

function hasRefundsLeft(charge: Charge): boolean {
  return reversalsOf(charge).ordered < MOST_REFUNDS;
}

/** Whether a paid charge may be refunded once more, as far as its age and its refunds go. */
export function mayBeRefunded(charge: Charge, at: string): boolean {
  return !isTooOld(charge, at) && hasRefundsLeft(charge);
}

/** Whether a charge was paid too long ago to be refunded. */
export function isTooOld({ paidAt }: Charge, at: string): boolean {
  return paidAt !== null && timeOfText(at) - timeOfText(paidAt) > REFUNDABLE_MS;
}

/** Parts of a charge, while they are gathered. */
type Changes = { -readonly [Name in keyof Charge]?: Charge[Name] };

function changesOf(id: string, refund: Refund, reversals: Reversals): Partial<Charge> {
  const changes: Changes = { reversals };
  changes[refundName(id)] = refund;
  return changes;
}

/** A refund is ordered: its money leaves the merchant and waits for the bank. */
export function order(charge: Charge, data: RefundOrderData, at: string): Reversal {
  const { refundId, amount, idempotencyKey, reason } = data;
  const { pending, returned, ordered, count } = reversalsOf(charge);
  const share = returnedWith(charge, amount);
  const sums = { pending: pending + amount, returned: returned + share };
  const refund: Refund = {
    amount,
    completedAt: null,
    createdAt: at,
    idempotencyKey,
    number: count + 1,
    ofBank: false,
    reason,
    returnId: null,
    returned: share,
    status: 'pending',
    updatedAt: at,
  };
  const reversals = changed(charge, { ...sums, ordered: ordered + 1, count: count + 1 });
  return {
    postings: taken('clearing', amount, share),
    changes: changesOf(refundId, refund, reversals),
  };
}

/** Whether the charge has that refund, and it waits for its outcome. */
export function isPending(charge: Charge, refundId: string | undefined): boolean {
  return refundOf(charge, refundId ?? '')?.status === 'pending';
}

function pendingRefund(charge: Charge, refundId: string | undefined): Refund {
  const refund = refundOf(charge, refundId ?? '');
  if (refund === undefined) throw new Error(`the charge has no refund ${refundId}`);
  return refund;
}

/** What stands less that refund: below zero more went out than came in. */
export function standingWithout(charge: Charge, refundId: string | undefined): number {
  return standingOf(charge) - pendingRefund(charge, refundId).amount;
}

/** The bank has given the money to the payer. */
export function complete(
  charge: Charge,
  { refundId, returnId, completedAt }: OutcomeData,
  at: string,
): Reversal {
  const refund = pendingRefund(charge, refundId);
  const { pending, refunded, returned } = reversalsOf(charge);
  const reversals = changed(charge, { pending: pending - refund.amount, refunded: refunded + refund.amount });
  const missing = missingAfter(charge, reversals);
  const ended: Refund = {
    ...refund,
    completedAt: completedAt ?? at,
    returnId: returnId ?? refund.returnId,
    status: 'completed',
    updatedAt: at,
  };
  return {
    postings: [
      { leg: 'clearing', amount: -refund.amount },
      { leg: 'bank', amount: refund.amount },
      { leg: 'available', amount: missing },
      { leg: 'fees', amount: -missing },
    ],
    changes: changesOf(refundId ?? '', ended, { ...reversals, returned: returned + missing }),
  };
}

/** The bank could not: what the order did is undone. */
export function undo(charge: Charge, { refundId, returnId }: OutcomeData, at: string): Reversal {
  const refund = pendingRefund(charge, refundId);
  const { pending, returned } = reversalsOf(charge);
  const sums = { pending: pending - refund.amount, returned: returned - refund.returned };
  const reversals = changed(charge, sums);
  const missing = missingAfter(charge, reversals);
  const ended: Refund = {
    ...refund,
    returnId: returnId ?? refund.returnId,
    status: 'failed',
    updatedAt: at,
  };
  const back = refund.amount - refund.returned + missing;
  return {
    postings: [
      { leg: 'clearing', amount: -refund.amount },
      { leg: 'available', amount: back },
      { leg: 'fees', amount: refund.returned - missing },
    ],
    changes: changesOf(refundId ?? '', ended, { ...reversals, returned: sums.returned + missing }),
  };
}

/** How much the bank says that it took: without an amount what stands. */
export function partOf(charge: Charge, { amount }: ReversalData): number {
  return amount ?? standingOf(charge);
}

/** Whether what the bank took is within what stands. */
export function isStanding(charge: Charge, part: number): boolean {
  return part >= 1 && part <= standingOf(charge);
}

/** Whether one message takes the whole amount. */
export function isWhole(charge: Charge, part: number): boolean {
  return part === charge.amount && isStanding(charge, part);
}

interface Booking {
  part: number;
  /** The bank's id of it. */
  returnId: string | undefined;
  /** The member of the bank's own refund; null: none is listed. */
  refund: { refundId: string; at: string; data: ReversalData } | null;
}

function booked(charge: Charge, { part, returnId, refund }: Booking, sums: Partial<Reversals>): Reversal {
  const { returned, count } = reversalsOf(charge);
  const share = returnedWith(charge, part);
  const added = refund === null ? count : count + 1;
  const before = changed(charge, { ...sums, returned: returned + share, count: added });
  const missing = missingAfter(charge, before);
  const reversals = { ...before, returned: before.returned + missing };
  const changes: Changes = { reversals };
  if (returnId !== undefined) changes[takenBackName(returnId)] = { amount: part, toldAgain: false };
  if (refund !== null) {
    const { refundId, at, data } = refund;
    changes[refundName(refundId)] = {
      amount: part,
      completedAt: data.completedAt ?? at,
      createdAt: at,
      idempotencyKey: null,
      number: added,
      ofBank: true,
      reason: data.reason ?? null,
      returnId: data.returnId ?? null,
      returned: share + missing,
      status: 'completed',
      updatedAt: at,
    };
  }
  return { postings: taken('bank', part, share + missing), changes };
}

/** The bank has refunded by itself; a part of the amount is listed as a refund. */
export function bookRefund(
  charge: Charge,
  { refundId, data, at }: { refundId: string; data: ReversalData; at: string },
): Reversal {
  const part = partOf(charge, data);
  const refund = isWhole(charge, part) ? null : { refundId, at, data };
  const { returnId } = data;
  return booked(charge, { part, returnId, refund }, { refunded: reversalsOf(charge).refunded + part });
}

/** The bank has taken money back by a chargeback. */
export function bookChargeback(charge: Charge, data: ReversalData): Reversal {
  const part = partOf(charge, data);
  const { returnId } = data;
  return booked(
    charge,
    { part, returnId, refund: null },
    { chargedback: reversalsOf(charge).chargedback + part },
  );
}
