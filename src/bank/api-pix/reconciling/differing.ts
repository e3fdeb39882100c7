/** What was booked of a payment or transfer, beside what the bank lists of it: in words where they differ. */
import { refundsOf } from '../../../domain/reversals/sums.ts';
import type { ChargeRecord, TransferRecord } from '../../../engine/journal.ts';
import { reaisText } from '../money-text.ts';
import type { Payment } from '../payments.ts';
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

function otherAmount(listed: number, booked: number): string {
  return `the bank lists ${reaisText(listed)}, and ${reaisText(booked)} were booked`;
}

function notListed(id: string): string {
  return `a return (${id}) was booked that the bank doesn't list`;
}

/** A payment that was credited; null: nothing differs, or it wasn't credited. */
export function paymentDiffers({ snapshot, messages }: ChargeRecord, payment: Payment): string | null {
  const { endToEndId, amount, returns } = payment;
  const { context } = snapshot;
  if (context.endToEndId !== endToEndId) return null;
  if (amount !== context.amount) return otherAmount(amount, context.amount);
  const done = new Map(
    returns.filter(({ status }) => status === 'DEVOLVIDO').map((each) => [each.id, each.amount]),
  );
  for (const { id, refund } of refundsOf(context)) {
    const listed = done.get(bare(id));
    // One that the bank made bears another id here: it is among the booked returns.
    if (refund.status !== 'completed' || refund.ofBank) continue;
    if (listed === undefined) return notListed(bare(id));
    if (listed !== refund.amount) return `return ${bare(id)}: ${otherAmount(listed, refund.amount)}`;
  }
  const missing = bookedReturns(messages, TAKEN_BACK, endToEndId).find((id) => !done.has(id));
  return missing === undefined ? null : notListed(missing);
}

/** A transfer that was settled; null: nothing differs, or it wasn't settled. */
export function sendingDiffers({ snapshot, messages }: TransferRecord, sending: Sending): string | null {
  const { endToEndId, amount, returns, state } = sending;
  if (state !== 'settled' || endToEndId === null || snapshot.value !== 'completed') return null;
  const { context } = snapshot;
  if (amount !== null && amount !== context.amount) return otherAmount(amount, context.amount);
  const listed = new Set(returns.map(({ id }) => id));
  const missing = bookedReturns(messages, SENT_BACK, endToEndId).find((id) => !listed.has(id));
  return missing === undefined ? null : notListed(missing);
}
