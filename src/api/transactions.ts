/** POST and GET of /pix-in and /cashout. */

import { isUuidV4 } from '../domain/text.ts';
import type { Metadata, TransactionType } from '../domain/transactions.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { LookupName } from '../engine/store/lookups.ts';
import { objectOf } from './body.ts';
import { type ApiServices, type Context, queryValue, sendOptions } from './context.ts';
import { ApiError, invalidRequest, notFound, unavailable, validationError } from './errors.ts';
import { ChargeSchema, check, TransferSchema, toCustomer } from './schemas.ts';
import type { NotCreated, Shown } from './showing.ts';

/** The account's own maximum is a rule of the field `amount` like any other. */
function aboveMaximum(ctx: Context, body: Record<string, unknown>): { field: string; message: string }[] {
  const { maxAmount } = ctx.state.account;
  if (maxAmount === null || typeof body.amount !== 'number' || body.amount <= maxAmount) return [];
  return [{ field: 'amount', message: `must be at most ${maxAmount} cents for this account` }];
}

/** Keys in the journal's order: what is sent, shown and sent again is the same to the byte. */
function inOrder(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function checked<Output>(
  ctx: Context,
  schema: Parameters<typeof check<Output>>[0],
  body: Record<string, unknown>,
): Output {
  const result = check(schema, body);
  const tooMuch = aboveMaximum(ctx, body);
  if (!result.ok) {
    const amountIsWrong = result.details.some(({ field }) => field === 'amount');
    throw validationError(amountIsWrong ? result.details : [...tooMuch, ...result.details]);
  }
  if (tooMuch.length > 0) throw validationError(tooMuch);
  return result.value;
}

function show(ctx: Context, shown: Shown): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = shown;
}

function created(ctx: Context, answer: Shown | NotCreated, what: 'charge' | 'transfer'): void {
  if (typeof answer === 'string') {
    ctx.status = 201;
    show(ctx, answer);
    return;
  }
  switch (answer.kind) {
    case 'duplicateKey':
      throw new ApiError('DUPLICATE_REQUEST', `A ${what} with this idempotencyKey exists already.`, {
        transactionId: answer.transaction,
      });
    case 'insufficientBalance':
      throw new ApiError('INSUFFICIENT_BALANCE', 'The balance is not enough for the amount and its fee.');
  }
}

export function createCharge({ payments }: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const request = checked(ctx, ChargeSchema, objectOf(ctx));
    const charge = {
      amount: request.amount,
      idempotencyKey: request.idempotencyKey ?? null,
      externalRef: request.externalRef ?? null,
      description: request.description ?? null,
      additionalInfo: request.additionalInfo ?? null,
      customer: toCustomer(request.customer),
      metadata: inOrder(request.metadata ?? {}),
      expiresIn: request.expiresIn ?? null,
    };
    created(ctx, await payments.createCharge(ctx.state.account, charge, sendOptions(ctx)), 'charge');
  };
}

export function createTransfer({ payments }: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const request = checked(ctx, TransferSchema, objectOf(ctx));
    const transfer = {
      amount: request.amount,
      idempotencyKey: request.idempotencyKey ?? null,
      externalRef: request.externalRef ?? null,
      description: request.description ?? null,
      metadata: inOrder(request.metadata ?? {}),
      pixKeyType: request.pix.pixKeyType,
      pixKey: request.pix.pixKey,
    };
    created(ctx, await payments.createTransfer(ctx.state.account, transfer, sendOptions(ctx)), 'transfer');
  };
}

/** The account's own transaction of a type; 404 for anything else. */
export async function ownTransaction(
  { journal }: ApiServices,
  ctx: Context,
  id: string,
  type: TransactionType | null,
): Promise<TransactionRecord> {
  const record = await journal.transaction(id.toLowerCase());
  const isOwn =
    record !== null && record.account === ctx.state.account.id && (type === null || record.type === type);
  if (!isOwn) throw notFound();
  return record;
}

/** One transaction by `id` or by another name of it. */
export function lookUp(
  { showing }: ApiServices,
  type: TransactionType,
  other: LookupName & ('externalRef' | 'reference'),
) {
  return async (ctx: Context): Promise<void> => {
    const id = queryValue(ctx, 'id');
    const key = queryValue(ctx, other);
    if ((id === null) === (key === null))
      throw invalidRequest(`Give either the query parameter id or ${other}.`);
    if (id !== null && !isUuidV4(id)) throw validationError([{ field: 'id', message: 'must be a UUID v4' }]);
    const { id: account } = ctx.state.account;
    const shown =
      id === null ? await showing.byName(account, other, key ?? '') : await showing.byId(account, type, id);
    if (shown === null) throw notFound();
    show(ctx, shown);
  };
}

/** 503 for a transaction whose snapshot can't be read. */
export function quarantined(): ApiError {
  return unavailable('The transaction can not be changed at the moment.');
}
