/** What was booked of a payment or transfer, beside what the bank lists of it: what differs, where anything does. */
import { refundsOf } from '../../../domain/reversals/sums.ts';
import type { ItemData } from '../../../domain/sentences/item-codes.ts';
import type { TransactionType } from '../../../domain/transactions.ts';
import type { ChargeRecord, TransferRecord } from '../../../engine/journal.ts';
import { reaisText } from '../money-text.ts';
import type { Payment, PaymentReturn } from '../payments.ts';
import { bare, type Sending } from '../profile.ts';

/** Ids of messages about returns that the bank made, with the payment and the return in them. */
const TAKEN_BACK = /^dev:([^:]+):([^:]+):(?:REFUND|CHARGEBACK)$/;
const SENT_BACK = /^ret:([^:]+):([^:]+)$/;

/** The ids of returns of a payment that were booked. */
function bookedReturns(messages: Record<string, unknown>, form: RegExp, endToEndId: string): string[] {
  return Object.keys(messages).flatMap((message) => {
    const [, payment, id] = form.exec(message) ?? [];
    return payment === endToEndId && id !== undefined ? [id] : [];
  });
}

/** What differs, for the list and in words. */
export type Differing = {
  [Code in DifferingCode]: { code: Code; data: ItemData[Code]; what: string };
}[DifferingCode];

type DifferingCode =
  | 'AMOUNT_BOOKED_DIFFERS'
  | 'RETURN_AMOUNT_DIFFERS'
  | 'RETURN_UNLISTED'
  | 'RETURN_UNBOOKED';

function amounts(listed: number, booked: number): string {
  return `the bank lists ${reaisText(listed)}, and ${reaisText(booked)} were booked`;
}

function otherAmount(type: TransactionType, listed: number, booked: number): Differing {
  const data = { type, listed, booked };
  return { code: 'AMOUNT_BOOKED_DIFFERS', data, what: amounts(listed, booked) };
}

function otherReturn(type: TransactionType, returnId: string, listed: number, booked: number): Differing {
  const data = { type, returnId, listed, booked };
  return { code: 'RETURN_AMOUNT_DIFFERS', data, what: `return ${returnId}: ${amounts(listed, booked)}` };
}

function notListed(type: TransactionType, returnId: string): Differing {
  const what = `a return (${returnId}) was booked that the bank doesn't list`;
  return { code: 'RETURN_UNLISTED', data: { type, returnId }, what };
}

function notBooked(type: TransactionType, { id: returnId, nature, amount }: PaymentReturn): Differing {
  const what = `a return (${returnId}, ${nature}) of ${reaisText(amount)} is listed that the journal hasn't booked`;
  return { code: 'RETURN_UNBOOKED', data: { type, returnId, nature, amount }, what };
}

/** A payment that was credited; null: nothing differs, or it wasn't credited. */
export function paymentDiffers(
  { type, snapshot, messages }: ChargeRecord,
  payment: Payment,
): Differing | null {
  const { endToEndId, amount, returns } = payment;
  const { context } = snapshot;
  if (context.endToEndId !== endToEndId) return null;
  if (amount !== context.amount) return otherAmount(type, amount, context.amount);
  const ended = returns.filter(({ status }) => status === 'DEVOLVIDO');
  const done = new Map(ended.map((each) => [each.id, each.amount]));
  const ofRefunds = new Set(refundsOf(context).map(({ id }) => bare(id)));
  for (const { id, refund } of refundsOf(context)) {
    const listed = done.get(bare(id));
    // One that the bank made bears another id here: it is among the booked returns.
    if (refund.status !== 'completed' || refund.ofBank) continue;
    if (listed === undefined) return notListed(type, bare(id));
    if (listed !== refund.amount) return otherReturn(type, bare(id), listed, refund.amount);
  }
  const booked = bookedReturns(messages, TAKEN_BACK, endToEndId);
  const missing = booked.find((id) => !done.has(id));
  // Former builds booked a return twice where its nature was told in two ways.
  const twice = booked.find((id, index) => booked.indexOf(id) < index);
  const once = twice === undefined ? undefined : done.get(twice);
  if (twice !== undefined && once !== undefined) return otherReturn(type, twice, once, 2 * once);
  if (missing !== undefined) return notListed(type, missing);
  const unknown = ended.find(({ id }) => !booked.includes(id) && !ofRefunds.has(id));
  return unknown === undefined ? null : notBooked(type, unknown);
}

/** Another amount was settled than was ordered; null: it wasn't, or the bank doesn't say. */
export function settledOtherwise({ type, snapshot }: TransferRecord, sending: Sending): Differing | null {
  const { amount, state } = sending;
  const ordered = snapshot.context.amount;
  return state === 'settled' && amount !== null && amount !== ordered
    ? otherAmount(type, amount, ordered)
    : null;
}

/** A transfer that was settled; null: nothing differs, or it wasn't settled. */
export function sendingDiffers(record: TransferRecord, sending: Sending): Differing | null {
  const { type, snapshot, messages } = record;
  const { endToEndId, returns, state } = sending;
  if (state !== 'settled' || endToEndId === null || snapshot.value !== 'completed') return null;
  const other = settledOtherwise(record, sending);
  if (other !== null) return other;
  const listed = new Set(returns.map(({ id }) => id));
  const missing = bookedReturns(messages, SENT_BACK, endToEndId).find((id) => !listed.has(id));
  return missing === undefined ? null : notListed(type, missing);
}
