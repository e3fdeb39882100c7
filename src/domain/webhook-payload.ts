/** The webhook's JSON, to the letter (contract, "Envelope", "`data` for PIX IN events", "... cashout events"). */

import { type EventSubject, statusOf } from './events.ts';
import type { Customer } from './people/customer.ts';
import { refundOf } from './reversals/sums.ts';
import type { Charge, Fee, Transfer } from './transactions.ts';

function feeData(fee: Fee): { total_fee: number; net_amount: number } {
  return { total_fee: fee.totalFee, net_amount: fee.netAmount };
}

/** Members in a fixed order, whoever made the object: a retry sends the same bytes. */
function customerData(customer: Customer | null): Customer | null {
  if (customer === null) return null;
  const { name, document, email, phone } = customer;
  return { name, document: document && { type: document.type, number: document.number }, email, phone };
}

function chargeData(id: string, status: string, charge: Charge): object {
  return {
    id,
    status,
    amount: charge.amount,
    currency: 'BRL',
    fee: status === 'expired' ? null : feeData(charge.fee),
    paid_at: charge.paidAt,
    created_at: charge.createdAt,
    customer: customerData(charge.customer),
    pix: {
      end_to_end_id: charge.endToEndId,
      qrcode: status === 'refunded' ? null : charge.qrcode,
    },
    external_ref: charge.externalRef,
    metadata: charge.metadata,
  };
}

function transferData(id: string, status: string, transfer: Transfer): object {
  return {
    id,
    status,
    amount: transfer.amount,
    currency: 'BRL',
    fee: feeData(transfer.fee),
    // An implied start goes out with the result's data, so the status decides, not the context.
    paid_at: status === 'completed' ? transfer.paidAt : null,
    created_at: transfer.createdAt,
    pix: {
      key_type: transfer.pixKeyType,
      key: transfer.pixKey,
      end_to_end_id: transfer.reference,
    },
    external_ref: transfer.externalRef,
    metadata: transfer.metadata,
  };
}

function refundData(transaction: string, id: string, charge: Charge): object {
  const refund = refundOf(charge, id);
  if (refund === undefined) throw new Error(`the charge has no refund ${id}`);
  return {
    id,
    transaction_id: transaction,
    status: refund.status,
    amount: refund.amount,
    currency: 'BRL',
    fee: { returned: refund.returned },
    reason: refund.reason,
    return_id: refund.returnId,
    created_at: refund.createdAt,
    completed_at: refund.completedAt,
    external_ref: charge.externalRef,
    metadata: charge.metadata,
  };
}

/** A transaction as of an event. */
export type TransactionThen =
  | { id: string; type: 'pix-in'; snapshot: { context: Charge } }
  | { id: string; type: 'cashout'; snapshot: { context: Transfer } };

/** An event of the journal's. */
interface NamedEvent {
  id: string;
  name: string;
  about?: EventSubject;
}

/** A part of the transaction: a refund, or an amount that was booked at that time. */
function partData(about: EventSubject, at: string, transaction: TransactionThen): object {
  const { id } = transaction;
  if ('refundId' in about) {
    if (transaction.type !== 'pix-in') throw new Error(`transaction ${id} has no refunds`);
    return refundData(id, about.refundId, transaction.snapshot.context);
  }
  const { externalRef, metadata } = transaction.snapshot.context;
  return {
    transaction_id: id,
    amount: about.amount,
    total: about.total,
    currency: 'BRL',
    reason: about.reason,
    return_id: about.returnId,
    created_at: at,
    external_ref: externalRef,
    metadata,
  };
}

function transactionData(event: string, transaction: TransactionThen): object {
  const status = statusOf(event);
  return transaction.type === 'pix-in'
    ? chargeData(transaction.id, status, transaction.snapshot.context)
    : transferData(transaction.id, status, transaction.snapshot.context);
}

/** An event as merchants get it; `at` is its time. */
export function webhookPayload(
  event: NamedEvent,
  at: string,
  transaction: TransactionThen,
): { id: string; event: string; type: string; created_at: string; data: object } {
  const { id, name, about } = event;
  const data = about === undefined ? transactionData(name, transaction) : partData(about, at, transaction);
  const type = about === undefined ? transaction.type : name.slice(0, name.indexOf('.'));
  return { id, event: name, type, created_at: at, data };
}
