/** The sandbox's endpoints (design, "Sandbox scenarios"): the merchant plays the bank. */
import { checkMessage, type FieldError } from '../domain/message-data.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { IncomingMessage, MessageAnswer } from '../engine/payments.ts';
import { objectOf, optionalObjectOf } from './body.ts';
import { type ApiServices, type Context, sendOptions } from './context.ts';
import { ApiError, notFound, validationError } from './errors.ts';
import { represent } from './representation.ts';
import { check, MessageSchema, PaySchema } from './schemas.ts';
import { ownTransaction, quarantined } from './transactions.ts';

/** The body that any door answers a message with. @throws ApiError */
function answered(answer: MessageAnswer, now: number): object {
  switch (answer.kind) {
    case 'applied':
      return { ...represent(answer.record, now), applied: true };
    case 'repeated':
      return { ...represent(answer.record, now), applied: false };
    case 'refused': {
      const { value: status } = answer.record.snapshot;
      throw new ApiError('MESSAGE_NOT_ACCEPTED', `The message is not accepted: ${answer.reason}.`, {
        status,
        allowed: answer.allowed,
      });
    }
    case 'malformed':
      throw validationError(answer.details);
    case 'quarantined':
      throw quarantined();
    case 'unknown':
      throw notFound();
    default:
      throw new Error(`a message was answered ${answer.kind}`);
  }
}

const DATA = /^data\./;

/** Here the parts of the payment are the body's own fields. */
function withoutPrefix(details: readonly FieldError[]): FieldError[] {
  return details.map(({ field, message }) => ({ field: field.replace(DATA, ''), message }));
}

async function send(
  services: ApiServices,
  ctx: Context,
  record: TransactionRecord,
  incoming: IncomingMessage,
): Promise<void> {
  ctx.status = 200;
  const answer = await services.payments.tell(record, incoming, 'sandbox', sendOptions(ctx));
  ctx.body = answered(answer, services.now());
}

/** What is wrong with what is looked at when the message is sent, as far as it is given: all mistakes are told at once. */
function wrongContent(record: TransactionRecord, type: unknown, data: unknown): FieldError[] {
  if (typeof type !== 'string') return [];
  const given = Object.fromEntries(Object.entries(data ?? {}).filter(([, value]) => value !== null));
  const isOfGiven = (field: string): boolean => Object.hasOwn(given, field.replace(DATA, ''));
  return checkMessage(record.type, type, given).filter(({ field }) => field === 'type' || isOfGiven(field));
}

/** POST /sandbox/transactions/:id/messages */
export function sendMessage(services: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const body = objectOf(ctx);
    const record = await ownTransaction(services, ctx, ctx.params.id ?? '', null);
    const result = check(MessageSchema, body);
    if (!result.ok) throw validationError([...result.details, ...wrongContent(record, body.type, body.data)]);
    const { type, id = null, data = null } = result.value;
    await send(services, ctx, record, { id, type, data });
  };
}

/** POST /sandbox/pix-in/:id/pay */
export function pay(services: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const body = optionalObjectOf(ctx);
    const record = await ownTransaction(services, ctx, ctx.params.id ?? '', 'pix-in');
    const result = check(PaySchema, body);
    if (!result.ok) {
      const { endToEndId = null } = body;
      const wrongId = withoutPrefix(wrongContent(record, 'PAY', { endToEndId }));
      throw validationError([...result.details, ...wrongId]);
    }
    try {
      await send(services, ctx, record, { id: null, type: 'PAY', data: result.value });
    } catch (error) {
      const details =
        error instanceof ApiError ? (error.extra.details as FieldError[] | undefined) : undefined;
      throw details === undefined ? error : validationError(withoutPrefix(details));
    }
  };
}
