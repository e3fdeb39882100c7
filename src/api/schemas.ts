/**
 * The requests' schemas: types, checks and the OpenAPI document come from these. A null counts as left out; a
 * field that isn't listed is refused, since a name that is typed wrong must not be lost in silence.
 */
import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi';
import * as z from 'zod';
import type { FieldError } from '../domain/message-data.ts';
import { MAX_AMOUNT, MIN_CASHOUT, MIN_PIX_IN } from '../domain/money.ts';
import { isE164, isEmail } from '../domain/people/contact.ts';
import type { Customer } from '../domain/people/customer.ts';
import { isDocument, isName } from '../domain/people/payer.ts';
import { normalizePixKey } from '../domain/people/pix-key.ts';
import { PIX_KEY_TYPES } from '../domain/people/pix-key-types.ts';
import { codePoints, isPrintable } from '../domain/text.ts';
import type { Metadata } from '../domain/transactions.ts';

// This is all that it takes of zod. Given the whole, a build would have zod's messages in fifty languages.
extendZodWithOpenApi({ ZodType: z.ZodType } as typeof z);

/** Text of so many printable Unicode characters, counted after NFC, kept as given. */
function text(min: number, max: number, description: string) {
  const message = `must be text of ${min} to ${max} printable characters`;
  return z
    .string({ error: message })
    .refine((value) => isPrintable(value) && codePoints(value) >= min && codePoints(value) <= max, message)
    .openapi({ minLength: min, maxLength: max, description });
}

function cents(min: number) {
  const message = `must be whole cents from ${min} to ${MAX_AMOUNT}`;
  const required = (issue: { input?: unknown }): string =>
    issue.input === undefined || issue.input === null ? 'is required' : message;
  return z
    .number({ error: required })
    .refine((value) => Number.isSafeInteger(value) && value >= min && value <= MAX_AMOUNT, message)
    .openapi({ type: 'integer', minimum: min, maximum: MAX_AMOUNT, example: 1000, description: 'Cents.' });
}

const MAX_METADATA = 50;
const MAX_METADATA_KEY = 40;
const MAX_METADATA_VALUE = 500;

function metadataProblem(key: string, value: unknown): string | null {
  // As an own name it would be lost, or worse, wherever objects are copied.
  const isKey =
    isPrintable(key) && codePoints(key) >= 1 && codePoints(key) <= MAX_METADATA_KEY && key !== '__proto__';
  if (!isKey) return `the key must be text of 1 to ${MAX_METADATA_KEY} printable characters`;
  if (typeof value === 'boolean') return null;
  if (typeof value === 'number' && Number.isFinite(value)) return null;
  if (typeof value === 'string' && isPrintable(value) && codePoints(value) <= MAX_METADATA_VALUE) return null;
  return `must be text of at most ${MAX_METADATA_VALUE} printable characters, a finite number or a boolean`;
}

// zod's own record passes over `__proto__` in silence, so the object is checked by hand.
const metadata = z
  .custom<Metadata>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a flat object',
  )
  .superRefine((value, context) => {
    const entries = Object.entries(value);
    if (entries.length > MAX_METADATA) context.addIssue(`must have at most ${MAX_METADATA} keys`);
    for (const [key, member] of entries) {
      const message = metadataProblem(key, member);
      if (message !== null) context.addIssue({ code: 'custom', path: [key], message });
    }
  })
  .nullish()
  // Whoever gives a type by hand says there whether it may be null.
  .openapi({
    type: ['object', 'null'],
    maxProperties: MAX_METADATA,
    additionalProperties: {
      oneOf: [{ type: 'string', maxLength: MAX_METADATA_VALUE }, { type: 'number' }, { type: 'boolean' }],
    },
    description: 'Flat key-value data, returned in queries and webhooks.',
  });

const DOCUMENT_TYPE = 'must be CPF or CNPJ';

const documentSchema = z
  .strictObject(
    {
      type: z.enum(['CPF', 'CNPJ'], { error: DOCUMENT_TYPE }),
      number: z.string({ error: 'must be the digits of the document' }).openapi({ example: '12345678909' }),
    },
    { error: 'must be an object with type and number' },
  )
  .superRefine(({ type, number }, context) => {
    if (!isDocument(type, number)) {
      context.addIssue({
        code: 'custom',
        path: ['number'],
        message: `must be a ${type} with right check digits, without punctuation`,
      });
    }
  });

const customer = z.strictObject(
  {
    name: z
      .string({ error: 'must be text' })
      .refine(isName, 'must be text of 1 to 140 printable characters')
      .nullish(),
    document: documentSchema.nullish(),
    email: z.string({ error: 'must be text' }).refine(isEmail, 'must be an e-mail address').nullish(),
    phone: z
      .string({ error: 'must be text' })
      .refine(isE164, 'must be a phone number in E.164: + and country code')
      .nullish()
      .openapi({ example: '+5511999999999' }),
  },
  { error: 'must be an object' },
);

const externalRef = text(1, 255, "The caller's reference.").nullish();

export const ChargeSchema = z
  .strictObject({
    amount: cents(MIN_PIX_IN),
    idempotencyKey: text(
      1,
      255,
      'Prevents duplicate charges: a key belongs to one charge of the account for ever.',
    ).nullish(),
    paymentMethod: z
      .literal('PIX', { error: 'must be PIX' })
      .nullish()
      .openapi({ enum: ['PIX', null] }),
    externalRef,
    description: text(1, 500, 'Payment description.').nullish(),
    additionalInfo: text(1, 140, 'Additional PIX information.').nullish(),
    customer: customer.nullish(),
    metadata,
    expiresIn: z
      .number({ error: 'must be whole seconds from 60 to 2592000' })
      .refine(
        (value) => Number.isInteger(value) && value >= 60 && value <= 2_592_000,
        'must be whole seconds from 60 to 2592000',
      )
      .nullish()
      .openapi({
        type: ['integer', 'null'],
        minimum: 60,
        maximum: 2_592_000,
        description: 'Seconds until the charge expires.',
      }),
  })
  .openapi('PixInRequest');

const KEY_TYPES = `must be one of ${PIX_KEY_TYPES.join(', ')}`;

const destination = z
  .strictObject(
    {
      pixKeyType: z.enum(PIX_KEY_TYPES, { error: KEY_TYPES }).openapi({ example: 'EMAIL' }),
      pixKey: z.string({ error: 'must be a Pix key' }).openapi({ example: 'maria@example.com' }),
    },
    { error: 'must be an object with pixKeyType and pixKey' },
  )
  .superRefine(({ pixKeyType, pixKey }, context) => {
    const normalized = normalizePixKey(pixKeyType, pixKey);
    if (!normalized.ok) context.addIssue({ code: 'custom', path: ['pixKey'], message: normalized.message });
  })
  .transform(({ pixKeyType, pixKey }) => {
    const normalized = normalizePixKey(pixKeyType, pixKey);
    return { pixKeyType, pixKey: normalized.ok ? normalized.key : pixKey };
  });

export const TransferSchema = z
  .strictObject({
    amount: cents(MIN_CASHOUT),
    pix: destination,
    idempotencyKey: text(
      1,
      255,
      'Prevents duplicate transfers: a key belongs to one transfer of the account for ever.',
    ).nullish(),
    externalRef,
    description: text(1, 140, 'Transfer description.').nullish(),
    metadata,
  })
  .openapi('CashoutRequest');

export const RefundSchema = z
  .strictObject({
    amount: cents(1)
      .nullish()
      .openapi({ type: ['integer', 'null'] }),
    reason: text(1, 140, 'Why the money goes back.').nullish(),
    idempotencyKey: text(
      1,
      255,
      'Prevents duplicate refunds: a key belongs to one refund of the account for ever.',
    ).nullish(),
  })
  .openapi('RefundRequest');

export const CancelSchema = z
  .strictObject({ reason: text(1, 140, 'Why the charge is canceled.').nullish() })
  .openapi('CancelRequest');

const data = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .nullish()
  .openapi({
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'What the message brings; parts that are not known are kept.',
  });

const messageId = text(1, 255, 'Applied once within the transaction.').nullish();

export const MessageSchema = z
  .strictObject({
    type: z.string({ error: 'must be a message type' }).openapi({ example: 'PAY' }),
    id: messageId,
    data,
  })
  .openapi('SandboxMessage');

/** What is wrong with the payment itself is told of its message; a malformed payer blocks none. */
export const PaySchema = z
  .strictObject({
    payer: z
      .unknown()
      .nullish()
      .openapi({
        type: ['object', 'null'],
        additionalProperties: true,
        description: 'Who pays, as far as it is known.',
      }),
    endToEndId: z
      .unknown()
      .nullish()
      .openapi({ type: ['string', 'null'] }),
  })
  .openapi('SandboxPayment');

function fieldsOf(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: path === '' ? key : `${path}.${key}`,
      message: 'is not a known field',
    }));
  }
  return [{ field: path, message: issue.message }];
}

/** The value, or every field that breaks its rule. */
export function check<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
): { ok: true; value: Output } | { ok: false; details: FieldError[] } {
  const result = schema.safeParse(value);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, details: result.error.issues.flatMap(fieldsOf) };
}

/** A request's customer with all its parts; null where nothing was given. */
export function toCustomer(given: z.infer<typeof customer> | null | undefined): Customer | null {
  const { name = null, document: paper = null, email = null, phone = null } = given ?? {};
  if (name === null && paper === null && email === null && phone === null) return null;
  const document = paper === null ? null : { number: paper.number, type: paper.type };
  return { document, email, name, phone };
}
