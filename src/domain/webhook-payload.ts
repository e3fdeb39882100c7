/** The webhook's JSON, to the letter (contract, "Envelope", "`data` for PIX IN events", "... cashout events"). */

import type { Customer } from './customer.ts';
import { statusOf } from './events.ts';
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

/** A transaction as of an event. */
type TransactionThen =
  | { id: string; type: 'pix-in'; snapshot: { context: Charge } }
  | { id: string; type: 'cashout'; snapshot: { context: Transfer } };

/** An event as merchants get it; `at` is its time. */
export function webhookPayload(
  event: { id: string; name: string },
  at: string,
  { id, type, snapshot }: TransactionThen,
): { id: string; event: string; type: string; created_at: string; data: object } {
  const status = statusOf(event.name);
  const data =
    type === 'pix-in' ? chargeData(id, status, snapshot.context) : transferData(id, status, snapshot.context);
  return { id: event.id, event: event.name, type, created_at: at, data };
}
