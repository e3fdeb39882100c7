/** Transactions as merchants see them (decisions, "PIX IN representation", "cashout representation"). */
import { mayBeRefunded } from '../domain/reversals/steps.ts';
import { refundOf, remainingOf, reversalsOf } from '../domain/reversals/sums.ts';
import { textOfTime } from '../domain/time.ts';
import type { ChargeRecord, TransactionRecord, TransferRecord } from '../engine/journal.ts';

/** What was taken back, and what may be; version 1 took it whole, and its snapshots don't count it. */
function amountsOf({ snapshot: { value, version, context } }: ChargeRecord, now: number): object {
  const { amount } = context;
  if (version === '1' && value !== 'paid') {
    return {
      refundedAmount: value === 'refunded' ? amount : 0,
      chargedbackAmount: value === 'chargedback' ? amount : 0,
      refundableAmount: 0,
    };
  }
  const { refunded, chargedback } = reversalsOf(context);
  const mayBe = value === 'paid' && mayBeRefunded(context, textOfTime(now));
  return {
    refundedAmount: refunded,
    chargedbackAmount: chargedback,
    refundableAmount: mayBe ? remainingOf(context) : 0,
  };
}

function charge(record: ChargeRecord, now: number): object {
  const { context } = record.snapshot;
  return {
    id: record.id,
    type: 'pix-in',
    status: record.snapshot.value,
    amount: context.amount,
    currency: 'BRL',
    paymentMethod: 'PIX',
    idempotencyKey: context.idempotencyKey ?? null,
    externalRef: context.externalRef,
    description: context.description,
    additionalInfo: context.additionalInfo,
    customer: context.customer,
    metadata: context.metadata,
    fee: context.fee,
    ...amountsOf(record, now),
    pix: { qrcode: context.qrcode, endToEndId: context.endToEndId },
    createdAt: context.createdAt,
    updatedAt: record.updatedAt,
    expiresAt: context.expiresAt,
    paidAt: context.paidAt,
  };
}

function transfer(record: TransferRecord): object {
  const { context } = record.snapshot;
  return {
    id: record.id,
    type: 'cashout',
    status: record.snapshot.value,
    amount: context.amount,
    currency: 'BRL',
    reference: context.reference,
    idempotencyKey: context.idempotencyKey,
    externalRef: context.externalRef,
    description: context.description,
    metadata: context.metadata,
    pix: { pixKeyType: context.pixKeyType, pixKey: context.pixKey },
    fee: context.fee,
    returnedAmount: context.returned ?? 0,
    createdAt: context.createdAt,
    updatedAt: record.updatedAt,
    paidAt: context.paidAt,
  };
}

/**
 * The same for POST, GET and the sandbox; it needs no statechart, so a quarantined one is shown as it was. `now` is in
 * ms: a charge can be refunded for so long.
 */
export function represent(record: TransactionRecord, now: number): object {
  return record.type === 'pix-in' ? charge(record, now) : transfer(record);
}

/** A refund of a charge. */
export function representRefund({ id: transactionId, snapshot }: ChargeRecord, id: string): object {
  const refund = refundOf(snapshot.context, id);
  if (refund === undefined) throw new Error(`charge ${transactionId} has no refund ${id}`);
  return {
    id,
    type: 'refund',
    transactionId,
    status: refund.status,
    amount: refund.amount,
    currency: 'BRL',
    fee: { returned: refund.returned },
    reason: refund.reason,
    idempotencyKey: refund.idempotencyKey,
    returnId: refund.returnId,
    createdAt: refund.createdAt,
    updatedAt: refund.updatedAt,
    completedAt: refund.completedAt,
  };
}
