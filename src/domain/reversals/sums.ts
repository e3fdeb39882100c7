/**
 * What is taken back from a payment (additions, "POST /pix-in/{id}/refunds"): refunds, the bank's own refunds and
 * booked parts of a chargeback, and the share of the fee that goes back with each. All amounts are cents.
 */
import { hash } from 'node:crypto';
import type { Charge, Refund, Reversals, TakenBack } from '../transactions.ts';

const NOTHING: Reversals = { chargedback: 0, count: 0, ordered: 0, pending: 0, refunded: 0, returned: 0 };

/** Refunds that the API may order of one charge, failed ones too. */
export const MOST_REFUNDS = 100;

/** For so long after its payment a charge may be refunded, ms: 90 days. */
export const REFUNDABLE_MS = 90 * 24 * 3_600_000;

/** The name of a refund's member in its charge's context: each has one of its own. */
export function refundName(id: string): `refund:${string}` {
  return `refund:${id}`;
}

/** A charge's refund; undefined where it has none of that id. */
export function refundOf(charge: Charge, id: string): Refund | undefined {
  const name = refundName(id);
  return Object.hasOwn(charge, name) ? charge[name] : undefined;
}

/** The name of the member that tells what the bank took back under an id of its own. */
export function takenBackName(returnId: string): `return:${string}` {
  return `return:${returnId}`;
}

export function isTakenBackName(name: string): name is `return:${string}` {
  return name.startsWith('return:');
}

/** What the bank took back under that id; undefined where nothing was booked under it. */
export function takenBackOf(charge: Charge, returnId: string): TakenBack | undefined {
  const name = takenBackName(returnId);
  return Object.hasOwn(charge, name) ? charge[name] : undefined;
}

/**
 * What counts under the bank's id of a return: what it took back, else a refund that is completed by it. Undefined:
 * nothing does yet.
 */
export function countedUnder(charge: Charge, returnId: string): TakenBack | undefined {
  const isIt = ({ refund }: { refund: Refund }): boolean =>
    refund.status === 'completed' && refund.returnId === returnId;
  const takenBack = takenBackOf(charge, returnId);
  if (takenBack !== undefined) return takenBack;
  const done = refundsOf(charge).find(isIt);
  return done === undefined ? undefined : { amount: done.refund.amount, toldAgain: false };
}

/** The end-to-end id of the payment that a charge was credited with, or that is in analysis; null: none. */
export function creditedWith({ endToEndId, held }: Charge): string | null {
  return endToEndId ?? held?.endToEndId ?? null;
}

export function reversalsOf(charge: Charge): Reversals {
  return charge.reversals ?? NOTHING;
}

/** What stands for the bank: a pending refund still does. */
export function standingOf(charge: Charge): number {
  const { refunded, chargedback } = reversalsOf(charge);
  return Math.max(0, charge.amount - refunded - chargedback);
}

/** What a further refund may take of a paid charge: pending ones are held against it. */
export function remainingOf(charge: Charge): number {
  return Math.max(0, standingOf(charge) - reversalsOf(charge).pending);
}

/** The fee that goes back with a part: its share of the sum of all parts, rounded half up, less what went back so far. */
export function returnedWith(charge: Charge, part: number): number {
  const { refunded, chargedback, pending, returned } = reversalsOf(charge);
  const { amount, fee } = charge;
  const sum = Math.min(refunded + chargedback + pending + part, amount);
  // A fee times a sum leaves the safe integers.
  const share = (2n * BigInt(fee.totalFee) * BigInt(sum) + BigInt(amount)) / (2n * BigInt(amount));
  return Math.max(0, Number(share) - returned);
}

/** The fee that is missing where nothing stands or is pending any more: the last entry brings it. */
export function missingFee(charge: Charge): number {
  const { pending, returned } = reversalsOf(charge);
  return standingOf(charge) === 0 && pending === 0 ? charge.fee.totalFee - returned : 0;
}

/** The refunds of a charge with their ids, newest first. */
export function refundsOf(charge: Charge): { id: string; refund: Refund }[] {
  const found: { id: string; refund: Refund }[] = [];
  for (const name in charge) {
    if (!isRefundName(name)) continue;
    const refund = charge[name];
    if (refund !== undefined) found.push({ id: name.slice('refund:'.length), refund });
  }
  return found.sort((a, b) => b.refund.number - a.refund.number);
}

function isRefundName(name: string): name is `refund:${string}` {
  return name.startsWith('refund:');
}

/** The id of a refund that the bank made by itself, as a UUID v4: made of the message's, so that it stays the same. */
export function bankRefundId(transaction: string, message: string): string {
  const hex = hash('sha256', `refund:${transaction}:${message}`, 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
  return [...parts, `${variant}${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
