/** The webhooks' bodies as schemas: only the OpenAPI document is made from these (contract, "Events"; additions). */
import * as z from 'zod';
import { EVENT_NAMES, PART_EVENT_NAMES } from '../../domain/events.ts';
import {
  CashoutStatus,
  Customer,
  cents,
  Metadata,
  PixInStatus,
  PixKeyType,
  RefundStatus,
  time,
  uuid,
} from './results.ts';

const eventId = z.string().openapi({
  description: 'The same at every retry: do the work once for each.',
  example: 'evt_5ce1cb844136479781da9b5c1f06493c01',
});
const EventFee = z.strictObject({ total_fee: cents, net_amount: cents }).openapi('EventFee');
const text = z.string().nullable();

/** The names that begin with a type. */
function namesOf(type: string): string[] {
  return [...EVENT_NAMES, ...PART_EVENT_NAMES].filter((name) => name.startsWith(`${type}.`));
}

function event<Data extends z.ZodType>(type: string, name: string, data: Data) {
  return z
    .strictObject({
      id: eventId,
      event: z.enum(namesOf(type)),
      type: z.literal(type),
      created_at: time,
      data,
    })
    .openapi(name);
}

const PixInEvent = event(
  'pix-in',
  'PixInEvent',
  z.strictObject({
    id: uuid,
    status: PixInStatus,
    amount: cents,
    currency: z.literal('BRL'),
    fee: z.union([EventFee, z.null()]).openapi({ description: 'Null in `pix-in.expired`.' }),
    paid_at: time.nullable(),
    created_at: time,
    customer: z.union([Customer, z.null()]),
    pix: z.strictObject({
      end_to_end_id: text,
      qrcode: text.openapi({ description: 'Null in `pix-in.refunded`.' }),
    }),
    external_ref: text,
    metadata: Metadata,
  }),
);

const CashoutEvent = event(
  'cashout',
  'CashoutEvent',
  z.strictObject({
    id: uuid,
    status: CashoutStatus,
    amount: cents,
    currency: z.literal('BRL'),
    fee: z.union([EventFee, z.null()]),
    paid_at: time.nullable(),
    created_at: time,
    pix: z.strictObject({ key_type: z.union([PixKeyType, z.null()]), key: text, end_to_end_id: text }),
    external_ref: text,
    metadata: Metadata,
  }),
);

const RefundEvent = event(
  'refund',
  'RefundEvent',
  z.strictObject({
    id: uuid,
    transaction_id: uuid.openapi({ description: 'The charge.' }),
    status: RefundStatus,
    amount: cents,
    currency: z.literal('BRL'),
    fee: z.strictObject({ returned: cents }),
    reason: text,
    return_id: text,
    created_at: time,
    completed_at: time.nullable(),
    external_ref: text,
    metadata: Metadata,
  }),
);

/** What the bank took back of a charge, or gave back of a transfer. */
const booked = z.strictObject({
  transaction_id: uuid,
  amount: cents,
  total: cents.openapi({ description: 'Booked so far, cents.' }),
  currency: z.literal('BRL'),
  reason: text,
  return_id: text,
  created_at: time,
  external_ref: text,
  metadata: Metadata,
});

const ChargebackEvent = event('chargeback', 'ChargebackEvent', booked);
const ReturnEvent = event('return', 'ReturnEvent', booked);

/** Any webhook's body. */
export const WebhookEvent = z
  .discriminatedUnion('type', [PixInEvent, CashoutEvent, RefundEvent, ChargebackEvent, ReturnEvent])
  .openapi('WebhookEvent', { description: 'The body of a webhook.' });
