/** The API's answers as schemas: only the OpenAPI document is made from these. */
import { z } from 'zod';
import { PIX_KEY_TYPES } from '../domain/pix-key.ts';
// The requests' schemas bring zod its `openapi` method.
import './schemas.ts';

export const cents = z.int().openapi({ description: 'Cents.' });
const time = z.iso.datetime().openapi({ example: '2026-11-21T12:00:00.000Z' });
export const uuid = z.uuidv4();
const metadata = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const fee = z.strictObject({ totalFee: cents, netAmount: cents });

const PIX_IN_STATES = [
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
];
const CASHOUT_STATES = ['pending', 'processing', 'completed', 'failed', 'rejected', 'cancelled'];

const Customer = z
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
    status: z.enum(PIX_IN_STATES),
    amount: cents,
    currency: z.literal('BRL'),
    paymentMethod: z.literal('PIX'),
    externalRef: z.string().nullable(),
    description: z.string().nullable(),
    additionalInfo: z.string().nullable(),
    customer: Customer.nullable(),
    metadata,
    fee,
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
    status: z.enum(CASHOUT_STATES),
    amount: cents,
    currency: z.literal('BRL'),
    reference: z.string().nullable(),
    idempotencyKey: z.string().nullable(),
    externalRef: z.string().nullable(),
    description: z.string().nullable(),
    metadata,
    pix: z.strictObject({ pixKeyType: z.enum(PIX_KEY_TYPES), pixKey: z.string() }),
    fee,
    createdAt: time,
    updatedAt: time,
    paidAt: time.nullable(),
  })
  .openapi('Cashout');

export const ErrorObject = z
  .object({
    error: z.string().openapi({ example: 'VALIDATION_ERROR' }),
    message: z.string(),
    details: z.array(z.strictObject({ field: z.string(), message: z.string() })).optional(),
    transactionId: uuid.optional().openapi({ description: 'DUPLICATE_REQUEST: the existing transfer.' }),
    status: z.string().optional().openapi({ description: 'MESSAGE_NOT_ACCEPTED: the present state.' }),
    allowed: z
      .array(z.string())
      .optional()
      .openapi({ description: 'MESSAGE_NOT_ACCEPTED: message types that the state takes.' }),
  })
  .openapi('Error');

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

export const Applied = z.union([Charge, Transfer]).and(z.object({ applied: z.boolean() }));

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
