/** Made from the OpenAPI document by `npm run client:types`: don't change it by hand. */

/** The body of a webhook. */
export type WebhookEvent = PixInEvent | CashoutEvent | RefundEvent | ChargebackEvent | ReturnEvent;
export type PixInStatus =
  | 'waiting_payment'
  | 'paid'
  | 'in_analysis'
  | 'refused'
  | 'canceled'
  | 'expired'
  | 'failed'
  | 'refunded'
  | 'chargedback'
  | 'in_protest';
export type CashoutStatus = 'pending' | 'processing' | 'completed' | 'failed' | 'rejected' | 'cancelled';
export type PixKeyType = 'CPF' | 'CNPJ' | 'EMAIL' | 'PHONE' | 'EVP';
export type RefundStatus = 'pending' | 'completed' | 'failed';
export type Error = PlainError | ValidationError | DuplicateRequest | MessageNotAccepted | RefundNotPossible;
export type Applied = AppliedPixIn | AppliedCashout;

export interface PixInEvent {
  /** The same at every retry: do the work once for each. */
  id: string;
  event:
    | 'pix-in.waiting_payment'
    | 'pix-in.paid'
    | 'pix-in.refused'
    | 'pix-in.canceled'
    | 'pix-in.refunded'
    | 'pix-in.failed'
    | 'pix-in.expired'
    | 'pix-in.in_analysis'
    | 'pix-in.chargedback'
    | 'pix-in.in_protest';
  type: 'pix-in';
  created_at: string;
  data: {
    id: string;
    status: PixInStatus;
    /** Cents. */
    amount: number;
    currency: 'BRL';
    /** Null in `pix-in.expired`. */
    fee: EventFee | null;
    paid_at: string | null;
    created_at: string;
    customer: Customer | null;
    pix: {
      end_to_end_id: string | null;
      /** Null in `pix-in.refunded`. */
      qrcode: string | null;
    };
    external_ref: string | null;
    metadata: Metadata;
  };
}
export interface EventFee {
  /** Cents. */
  total_fee: number;
  /** Cents. */
  net_amount: number;
}
export interface Customer {
  name: string | null;
  document: {
    type: 'CPF' | 'CNPJ';
    number: string;
  } | null;
  email: string | null;
  phone: string | null;
}
/** As given at creation. */
export interface Metadata {
  [k: string]: string | number | boolean;
}
export interface CashoutEvent {
  /** The same at every retry: do the work once for each. */
  id: string;
  event:
    | 'cashout.pending'
    | 'cashout.processing'
    | 'cashout.completed'
    | 'cashout.failed'
    | 'cashout.rejected'
    | 'cashout.cancelled';
  type: 'cashout';
  created_at: string;
  data: {
    id: string;
    status: CashoutStatus;
    /** Cents. */
    amount: number;
    currency: 'BRL';
    fee: EventFee | null;
    paid_at: string | null;
    created_at: string;
    pix: {
      key_type: PixKeyType | null;
      key: string | null;
      end_to_end_id: string | null;
    };
    external_ref: string | null;
    metadata: Metadata;
  };
}
export interface RefundEvent {
  /** The same at every retry: do the work once for each. */
  id: string;
  event: 'refund.pending' | 'refund.completed' | 'refund.failed';
  type: 'refund';
  created_at: string;
  data: {
    id: string;
    /** The charge. */
    transaction_id: string;
    status: RefundStatus;
    /** Cents. */
    amount: number;
    currency: 'BRL';
    fee: {
      /** Cents. */
      returned: number;
    };
    reason: string | null;
    return_id: string | null;
    created_at: string;
    completed_at: string | null;
    external_ref: string | null;
    metadata: Metadata;
  };
}
export interface ChargebackEvent {
  /** The same at every retry: do the work once for each. */
  id: string;
  event: 'chargeback.booked';
  type: 'chargeback';
  created_at: string;
  data: {
    transaction_id: string;
    /** Cents. */
    amount: number;
    /** Booked so far, cents. */
    total: number;
    currency: 'BRL';
    reason: string | null;
    return_id: string | null;
    created_at: string;
    external_ref: string | null;
    metadata: Metadata;
  };
}
export interface ReturnEvent {
  /** The same at every retry: do the work once for each. */
  id: string;
  event: 'return.booked';
  type: 'return';
  created_at: string;
  data: {
    transaction_id: string;
    /** Cents. */
    amount: number;
    /** Booked so far, cents. */
    total: number;
    currency: 'BRL';
    reason: string | null;
    return_id: string | null;
    created_at: string;
    external_ref: string | null;
    metadata: Metadata;
  };
}
export interface PixIn {
  id: string;
  type: 'pix-in';
  status: PixInStatus;
  /** Cents. */
  amount: number;
  currency: 'BRL';
  paymentMethod: 'PIX';
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
  metadata: Metadata;
  fee: Fee;
  /** Completed refunds, cents. */
  refundedAmount: number;
  /** Booked by chargebacks, cents. */
  chargedbackAmount: number;
  /** What a further refund may take now, cents. */
  refundableAmount: number;
  pix: {
    qrcode: string;
    endToEndId: string | null;
  };
  createdAt: string;
  updatedAt: string;
  expiresAt: string;
  paidAt: string | null;
}
export interface Fee {
  /** Cents. */
  totalFee: number;
  /** Cents. */
  netAmount: number;
}
export interface PlainError {
  error:
    | 'INVALID_REQUEST'
    | 'INSUFFICIENT_BALANCE'
    | 'INVALID_CREDENTIALS'
    | 'IP_NOT_ALLOWED'
    | 'USER_INACTIVE'
    | 'ACCOUNT_INACTIVE'
    | 'TRANSACTION_NOT_FOUND'
    | 'NOT_FOUND'
    | 'METHOD_NOT_ALLOWED'
    | 'PAYLOAD_TOO_LARGE'
    | 'RATE_LIMITED'
    | 'INTERNAL_ERROR'
    | 'PROCESSING_ERROR'
    | 'SERVICE_UNAVAILABLE'
    | 'TIMEOUT';
  message: string;
}
export interface ValidationError {
  error: 'VALIDATION_ERROR';
  message: string;
  /** Every field that breaks its rule. */
  details: {
    field: string;
    message: string;
  }[];
}
export interface DuplicateRequest {
  error: 'DUPLICATE_REQUEST';
  message: string;
  /** The transaction that the key belongs to, or its refund does. */
  transactionId: string;
  /** The refund that the key belongs to. */
  refundId?: string;
}
export interface MessageNotAccepted {
  error: 'MESSAGE_NOT_ACCEPTED';
  message: string;
  /** The present state. */
  status: string;
  /** Message types that the state takes. */
  allowed: string[];
}
export interface RefundNotPossible {
  error: 'REFUND_NOT_POSSIBLE';
  message: string;
  status: PixInStatus;
}
export interface PixInRequest {
  /** Cents. */
  amount: number;
  /** Prevents duplicate charges: a key belongs to one charge of the account for ever. */
  idempotencyKey?: string | null;
  paymentMethod?: 'PIX' | null;
  /** The caller's reference. */
  externalRef?: string | null;
  /** Payment description. */
  description?: string | null;
  /** Additional PIX information. */
  additionalInfo?: string | null;
  customer?: {
    name?: string | null;
    document?: {
      type: 'CPF' | 'CNPJ';
      number: string;
    } | null;
    email?: string | null;
    phone?: string | null;
  } | null;
  /** Flat key-value data, returned in queries and webhooks. */
  metadata?: {
    [k: string]: string | number | boolean;
  } | null;
  /** Seconds until the charge expires. */
  expiresIn?: number | null;
}
export interface Refund {
  id: string;
  type: 'refund';
  transactionId: string;
  status: RefundStatus;
  /** Cents. */
  amount: number;
  currency: 'BRL';
  fee: {
    /** Cents. */
    returned: number;
  };
  reason: string | null;
  idempotencyKey: string | null;
  returnId: string | null;
  createdAt: string;
  updatedAt: string;
  completedAt: string | null;
}
export interface RefundRequest {
  /** Cents. */
  amount?: number | null;
  /** Why the money goes back. */
  reason?: string | null;
  /** Prevents duplicate refunds: a key belongs to one refund of the account for ever. */
  idempotencyKey?: string | null;
}
/** The refunds of a charge, newest first. */
export interface RefundList {
  transactionId: string;
  data: Refund[];
}
export interface CancelRequest {
  /** Why the charge is canceled. */
  reason?: string | null;
}
export interface Cashout {
  id: string;
  type: 'cashout';
  status: CashoutStatus;
  /** Cents. */
  amount: number;
  currency: 'BRL';
  reference: string | null;
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  metadata: Metadata;
  pix: {
    pixKeyType: PixKeyType;
    pixKey: string;
  };
  fee: Fee;
  /** What came back after it was completed, cents. */
  returnedAmount: number;
  createdAt: string;
  updatedAt: string;
  paidAt: string | null;
}
export interface CashoutRequest {
  /** Cents. */
  amount: number;
  pix: {
    pixKeyType: 'CPF' | 'CNPJ' | 'EMAIL' | 'PHONE' | 'EVP';
    pixKey: string;
  };
  /** Prevents duplicate transfers: a key belongs to one transfer of the account for ever. */
  idempotencyKey?: string | null;
  /** The caller's reference. */
  externalRef?: string | null;
  /** Transfer description. */
  description?: string | null;
  /** Flat key-value data, returned in queries and webhooks. */
  metadata?: {
    [k: string]: string | number | boolean;
  } | null;
}
export interface Balance {
  /** Cents. */
  balance: number;
  currency: 'BRL';
}
export interface Statement {
  from: string;
  to: string;
  /** Cents. */
  openingBalance: number;
  /** Cents. */
  closingBalance: number;
  data: StatementRow[];
  nextCursor: string | null;
}
export interface StatementRow {
  at: string;
  type: 'pix-in' | 'cashout' | 'refund' | 'adjustment';
  transactionId: string | null;
  refundId: string | null;
  /** The event's name, else the message's type. */
  what: string;
  externalRef: string | null;
  /** What it adds to the balance, cents. */
  amount: number;
  /** The balance after it, cents. */
  balance: number;
}
/** The newest 100 deliveries of a transaction, newest first. */
export interface DeliveryList {
  transactionId: string;
  data: Delivery[];
}
export interface Delivery {
  id: string;
  eventId: string;
  event: string;
  url: string;
  status: 'pending' | 'delivered' | 'retrying' | 'dead' | 'rejected';
  attempts: {
    at: string;
    statusCode: number | null;
    error: string | null;
    durationMs: number;
  }[];
  nextAttemptAt: string | null;
  createdAt: string;
  deliveredAt: string | null;
  payload: {
    [k: string]: unknown;
  };
}
export interface AppliedPixIn {
  id: string;
  type: 'pix-in';
  status: PixInStatus;
  /** Cents. */
  amount: number;
  currency: 'BRL';
  paymentMethod: 'PIX';
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
  metadata: Metadata;
  fee: Fee;
  /** Completed refunds, cents. */
  refundedAmount: number;
  /** Booked by chargebacks, cents. */
  chargedbackAmount: number;
  /** What a further refund may take now, cents. */
  refundableAmount: number;
  pix: {
    qrcode: string;
    endToEndId: string | null;
  };
  createdAt: string;
  updatedAt: string;
  expiresAt: string;
  paidAt: string | null;
  /** Whether this was the first time. */
  applied: boolean;
}
export interface AppliedCashout {
  id: string;
  type: 'cashout';
  status: CashoutStatus;
  /** Cents. */
  amount: number;
  currency: 'BRL';
  reference: string | null;
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  metadata: Metadata;
  pix: {
    pixKeyType: PixKeyType;
    pixKey: string;
  };
  fee: Fee;
  /** What came back after it was completed, cents. */
  returnedAmount: number;
  createdAt: string;
  updatedAt: string;
  paidAt: string | null;
  /** Whether this was the first time. */
  applied: boolean;
}
export interface SandboxPayment {
  /** Who pays, as far as it is known. */
  payer?: {
    [k: string]: unknown;
  } | null;
  endToEndId?: string | null;
}
export interface SandboxMessage {
  type: string;
  /** Applied once within the transaction. */
  id?: string | null;
  /** What the message brings; parts that are not known are kept. */
  data?: {
    [k: string]: unknown;
  } | null;
}
