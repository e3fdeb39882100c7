/** The API's answers as schemas: only the OpenAPI document is made from these. */
import * as z from 'zod';
import { PIX_KEY_TYPES } from '../../domain/people/pix-key-types.ts';
import { ERROR_CODES } from '../errors.ts';
// The requests' schemas bring zod its `openapi` method.
import '../schemas.ts';
import { MOST_ROWS } from '../statement/query.ts';

export const cents = z.int().openapi({ description: 'Cents.' });
export const time = z.iso.datetime().openapi({ example: '2026-11-21T12:00:00.000Z' });
export const uuid = z.uuidv4();
export const Metadata = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .openapi('Metadata', { description: 'As given at creation.' });
const Fee = z.strictObject({ totalFee: cents, netAmount: cents }).openapi('Fee');

export const PixInStatus = z
  .enum([
    'waiting_payment',
    'paid',
    'in_analysis',
    'refused',
    'canceled',
    'expired',
    'failed',
    'refunded',
    'chargedback',
    'in_protest',
  ])
  .openapi('PixInStatus');

export const CashoutStatus = z
  .enum(['pending', 'processing', 'completed', 'failed', 'rejected', 'cancelled'])
  .openapi('CashoutStatus');

export const RefundStatus = z.enum(['pending', 'completed', 'failed']).openapi('RefundStatus');

export const PixKeyType = z.enum(PIX_KEY_TYPES).openapi('PixKeyType');

export const Customer = z
  .strictObject({
    name: z.string().nullable(),
    document: z.strictObject({ type: z.enum(['CPF', 'CNPJ']), number: z.string() }).nullable(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
  })
  .openapi('Customer');

export const Charge = z
  .strictObject({
    id: uuid,
    type: z.literal('pix-in'),
    status: PixInStatus,
    amount: cents,
    currency: z.literal('BRL'),
    paymentMethod: z.literal('PIX'),
    idempotencyKey: z.string().nullable(),
    externalRef: z.string().nullable(),
    description: z.string().nullable(),
    additionalInfo: z.string().nullable(),
    customer: z.union([Customer, z.null()]),
    metadata: Metadata,
    fee: Fee,
    refundedAmount: cents.openapi({ description: 'Completed refunds, cents.' }),
    chargedbackAmount: cents.openapi({ description: 'Booked by chargebacks, cents.' }),
    refundableAmount: cents.openapi({ description: 'What a further refund may take now, cents.' }),
    pix: z.strictObject({ qrcode: z.string(), endToEndId: z.string().nullable() }),
    createdAt: time,
    updatedAt: time,
    expiresAt: time,
    paidAt: time.nullable(),
  })
  .openapi('PixIn');

export const Transfer = z
  .strictObject({
    id: uuid,
    type: z.literal('cashout'),
    status: CashoutStatus,
    amount: cents,
    currency: z.literal('BRL'),
    reference: z.string().nullable(),
    idempotencyKey: z.string().nullable(),
    externalRef: z.string().nullable(),
    description: z.string().nullable(),
    metadata: Metadata,
    pix: z.strictObject({ pixKeyType: PixKeyType, pixKey: z.string() }),
    fee: Fee,
    returnedAmount: cents.openapi({ description: 'What came back after it was completed, cents.' }),
    createdAt: time,
    updatedAt: time,
    paidAt: time.nullable(),
  })
  .openapi('Cashout');

export const Refund = z
  .strictObject({
    id: uuid,
    type: z.literal('refund'),
    transactionId: uuid,
    status: RefundStatus,
    amount: cents,
    currency: z.literal('BRL'),
    fee: z.strictObject({ returned: cents }),
    reason: z.string().nullable(),
    idempotencyKey: z.string().nullable(),
    returnId: z.string().nullable(),
    createdAt: time,
    updatedAt: time,
    completedAt: time.nullable(),
  })
  .openapi('Refund');

const statementRow = z
  .strictObject({
    at: time,
    type: z.enum(['pix-in', 'cashout', 'refund', 'adjustment']),
    transactionId: uuid.nullable(),
    refundId: uuid.nullable(),
    what: z.string().openapi({ description: "The event's name, else the message's type." }),
    externalRef: z.string().nullable(),
    amount: z.int().openapi({ description: 'What it adds to the balance, cents.' }),
    balance: z.int().openapi({ description: 'The balance after it, cents.' }),
  })
  .openapi('StatementRow');

export const Statement = z
  .strictObject({
    from: time,
    to: time,
    openingBalance: cents,
    closingBalance: cents,
    data: z.array(statementRow).max(MOST_ROWS),
    nextCursor: z.string().nullable(),
  })
  .openapi('Statement');

const ValidationError = z
  .object({
    error: z.literal('VALIDATION_ERROR'),
    message: z.string(),
    details: z
      .array(z.strictObject({ field: z.string(), message: z.string() }))
      .openapi({ description: 'Every field that breaks its rule.' }),
  })
  .openapi('ValidationError');

const DuplicateRequest = z
  .object({
    error: z.literal('DUPLICATE_REQUEST'),
    message: z.string(),
    transactionId: uuid.openapi({
      description: 'The transaction that the key belongs to, or its refund does.',
    }),
    refundId: uuid.optional().openapi({ description: 'The refund that the key belongs to.' }),
  })
  .openapi('DuplicateRequest');

const MessageNotAccepted = z
  .object({
    error: z.literal('MESSAGE_NOT_ACCEPTED'),
    message: z.string(),
    status: z.string().openapi({ description: 'The present state.' }),
    allowed: z.array(z.string()).openapi({ description: 'Message types that the state takes.' }),
  })
  .openapi('MessageNotAccepted');

const RefundNotPossible = z
  .object({
    error: z.literal('REFUND_NOT_POSSIBLE'),
    message: z.string(),
    status: PixInStatus,
  })
  .openapi('RefundNotPossible');

/** Errors that tell more than code and message. */
const TELLING = [ValidationError, DuplicateRequest, MessageNotAccepted, RefundNotPossible] as const;

const tellingCodes: readonly string[] = TELLING.map(({ shape }) => shape.error.value);

const PlainError = z
  .object({
    error: z.enum(ERROR_CODES.filter((code) => !tellingCodes.includes(code))),
    message: z.string(),
  })
  .openapi('PlainError');

export const ErrorObject = z.discriminatedUnion('error', [PlainError, ...TELLING]).openapi('Error');

export const Balance = z.strictObject({ balance: cents, currency: z.literal('BRL') }).openapi('Balance');

export const RefundList = z
  .strictObject({ transactionId: uuid, data: z.array(Refund) })
  .openapi('RefundList', { description: 'The refunds of a charge, newest first.' });

export const Delivery = z
  .strictObject({
    id: z.string(),
    eventId: z.string(),
    event: z.string(),
    url: z.string(),
    status: z.enum(['pending', 'delivered', 'retrying', 'dead', 'rejected']),
    attempts: z.array(
      z.strictObject({
        at: time,
        statusCode: z.int().nullable(),
        error: z.string().nullable(),
        durationMs: z.int(),
      }),
    ),
    nextAttemptAt: time.nullable(),
    createdAt: time,
    deliveredAt: time.nullable(),
    payload: z.record(z.string(), z.unknown()),
  })
  .openapi('Delivery');

export const DeliveryList = z
  .strictObject({ transactionId: uuid, data: z.array(Delivery).max(100) })
  .openapi('DeliveryList', { description: 'The newest 100 deliveries of a transaction, newest first.' });

const applied = z.boolean().openapi({ description: 'Whether this was the first time.' });
// Each is an object of its own: PixIn and Cashout have no further members, so nothing can be one of them and more.
const AppliedCharge = z.strictObject({ ...Charge.shape, applied }).openapi('AppliedPixIn');
const AppliedTransfer = z.strictObject({ ...Transfer.shape, applied }).openapi('AppliedCashout');
export const Applied = z.discriminatedUnion('type', [AppliedCharge, AppliedTransfer]).openapi('Applied');

export const CallbackMessage = z.object({
  id: z.string(),
  transactionId: z.string(),
  type: z.string(),
  data: z.object({}).nullish(),
});
export const CallbackResult = z.strictObject({
  id: z.string(),
  result: z.enum(['applied', 'duplicate', 'refused', 'unknown', 'invalid', 'later']),
  message: z.string().optional(),
});
