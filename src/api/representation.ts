/** Transactions as merchants see them (decisions, "PIX IN representation", "cashout representation"). */
import type { ChargeRecord, TransactionRecord, TransferRecord } from '../engine/journal.ts';

function charge(record: ChargeRecord): object {
  const { context } = record.snapshot;
  return {
    id: record.id,
    type: 'pix-in',
    status: record.snapshot.value,
    amount: context.amount,
    currency: 'BRL',
    paymentMethod: 'PIX',
    externalRef: context.externalRef,
    description: context.description,
    additionalInfo: context.additionalInfo,
    customer: context.customer,
    metadata: context.metadata,
    fee: context.fee,
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
    createdAt: context.createdAt,
    updatedAt: record.updatedAt,
    paidAt: context.paidAt,
  };
}

/** The same for POST, GET and the sandbox; it needs no statechart, so a quarantined one is shown as it was. */
export function represent(record: TransactionRecord): object {
  return record.type === 'pix-in' ? charge(record) : transfer(record);
}
