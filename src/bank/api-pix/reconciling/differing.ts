/** What was booked of a payment or transfer, beside what the bank lists of it: what differs, where anything does. */
import { refundsOf, takenBackOf } from '../../../domain/reversals/sums.ts';
import type { ItemData } from '../../../domain/sentences/item-codes.ts';
import type { Charge, TransactionType } from '../../../domain/transactions.ts';
import type { ChargeRecord, TransactionRecord, TransferRecord } from '../../../engine/journal.ts';
import { sha256 } from '../../../engine/store/content.ts';
import { bookingOf, DONE } from '../messages.ts';
import { reaisText } from '../money-text.ts';
import type { Notes } from '../notes.ts';
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

function notBooked(type: TransactionType, endToEndId: string, unbooked: PaymentReturn): Differing {
  const { id: returnId, nature, amount } = unbooked;
  const booking = bookingOf(endToEndId, unbooked);
  const what = `a return (${returnId}, ${nature}) of ${reaisText(amount)} is listed that the journal hasn't booked`;
  return { code: 'RETURN_UNBOOKED', data: { type, returnId, nature, amount, booking }, what };
}

/** The booked returns that the bank doesn't list. */
function unlisted(
  type: TransactionType,
  booked: readonly string[],
  listed: ReadonlySet<string>,
): Differing[] {
  const missing = new Set(booked.filter((id) => !listed.has(id)));
  return [...missing].map((id) => notListed(type, id));
}

/** What differs in the refunds of ours that are done. One that the bank made is among the booked returns. */
function refundsDiffer(
  type: TransactionType,
  context: Charge,
  done: ReadonlyMap<string, number>,
): Differing[] {
  const refunds = refundsOf(context).filter(({ refund }) => refund.status === 'completed' && !refund.ofBank);
  return refunds.flatMap(({ id, refund: { amount } }) => {
    const listed = done.get(bare(id));
    if (listed === undefined) return notListed(type, bare(id));
    return listed === amount ? [] : otherReturn(type, bare(id), listed, amount);
  });
}

/** The ended returns that nobody has booked: neither by their messages, nor as refunds, nor by hand with their ids. */
function unbooked(
  context: Charge,
  ended: readonly PaymentReturn[],
  booked: readonly string[],
): PaymentReturn[] {
  const refunds = refundsOf(context);
  const known = new Set([
    ...booked,
    ...refunds.map(({ id }) => bare(id)),
    ...refunds.map(({ refund }) => refund.returnId),
  ]);
  const isKnown = (returnId: string): boolean =>
    known.has(returnId) || takenBackOf(context, returnId) !== undefined;
  return ended.filter(({ id, returnId }) => !known.has(id) && (returnId === null || !isKnown(returnId)));
}

/** What differs in a payment that was credited; empty where it wasn't credited. */
export function paymentDiffers({ type, snapshot, messages }: ChargeRecord, payment: Payment): Differing[] {
  const { endToEndId, amount, returns } = payment;
  const { context } = snapshot;
  if (context.endToEndId !== endToEndId) return [];
  const ended = returns.filter(({ status }) => status === DONE);
  const done = new Map(ended.map((each) => [each.id, each.amount]));
  const booked = bookedReturns(messages, TAKEN_BACK, endToEndId);
  // Former builds booked a return twice where its nature was told in two ways.
  const twice = booked.filter((id, index) => booked.indexOf(id) < index);
  return [
    ...(amount === context.amount ? [] : [otherAmount(type, amount, context.amount)]),
    ...refundsDiffer(type, context, done),
    ...twice.flatMap((id) => {
      const once = done.get(id);
      return once === undefined ? [] : otherReturn(type, id, once, 2 * once);
    }),
    ...unlisted(type, booked, new Set(done.keys())),
    ...unbooked(context, ended, booked).map((each) => notBooked(type, endToEndId, each)),
  ];
}

/** What the bank gave back of refunds of ours, where that is another amount than was ordered. */
function refundedOtherwise({ type, snapshot }: ChargeRecord, returns: readonly PaymentReturn[]): Differing[] {
  const done = new Map(returns.filter(({ status }) => status === DONE).map(({ id, amount }) => [id, amount]));
  return refundsOf(snapshot.context).flatMap(({ id, refund: { amount, ofBank } }) => {
    const back = done.get(bare(id)) ?? amount;
    return ofBank || back === amount ? [] : otherReturn(type, bare(id), back, amount);
  });
}

/** Another amount was settled than was ordered; empty where it wasn't, or the bank doesn't say. */
export function settledOtherwise({ type, snapshot }: TransferRecord, sending: Sending): Differing[] {
  const { amount, state } = sending;
  const ordered = snapshot.context.amount;
  const differs = state === 'settled' && amount !== null && amount !== ordered;
  return differs ? [otherAmount(type, amount, ordered)] : [];
}

/** What differs in a transfer that was settled; empty where it wasn't. */
export function sendingDiffers(record: TransferRecord, sending: Sending): Differing[] {
  const { type, snapshot, messages } = record;
  const { endToEndId, returns, state } = sending;
  if (state !== 'settled' || endToEndId === null || snapshot.value !== 'completed') return [];
  const listed = new Set(returns.map(({ id }) => id));
  return [
    ...settledOtherwise(record, sending),
    ...unlisted(type, bookedReturns(messages, SENT_BACK, endToEndId), listed),
  ];
}

/**
 * Notes what differs in a payment or transfer, which bears this id at the bank: each difference is an item of its own,
 * so that one that ops are done with hides no other.
 */
export async function noteDiffering(
  notes: Pick<Notes, 'difference' | 'agreed'>,
  { id: transaction, account }: Pick<TransactionRecord, 'id' | 'account'>,
  { listed, amount }: { listed: string; amount: number | null },
  differing: readonly Differing[],
): Promise<void> {
  for (const { code, data } of differing) {
    const mark = sha256(`${code} ${'returnId' in data ? data.returnId : ''}`).slice(0, 12);
    await notes.difference(code, `differs_${listed}_${mark}`, data, { account, transaction }, amount);
  }
  // Former builds had one item for all of it.
  if (differing.length > 0) await notes.agreed(`differs_${listed}`);
}

/** Notes what the bank gave back of a charge's refunds, where that is another amount than was ordered. */
export function noteRefunded(
  notes: Pick<Notes, 'difference' | 'agreed'>,
  record: ChargeRecord,
  payments: readonly Pick<Payment, 'endToEndId' | 'returns'>[],
): Promise<void> {
  const { endToEndId, amount } = record.snapshot.context;
  const credited = payments.filter((payment) => payment.endToEndId === endToEndId);
  const differing = refundedOtherwise(
    record,
    credited.flatMap(({ returns }) => returns),
  );
  return noteDiffering(notes, record, { listed: `${endToEndId}`, amount }, differing);
}
