/** POST and GET of a charge's refunds, GET /refunds, and POST /pix-in/{id}/cancel (additions). */
import { refundsOf } from '../domain/reversals/sums.ts';
import { isUuidV4 } from '../domain/text.ts';
import type { ChargeRecord } from '../engine/journal.ts';
import { findTransaction } from '../engine/lookups.ts';
import type { RefundAnswer } from '../engine/refunds/orders.ts';
import { optionalObjectOf } from './body.ts';
import { type ApiServices, type Context, queryValue, sendOptions } from './context.ts';
import { ApiError, invalidRequest, notFound, validationError } from './errors.ts';
import { refundRefusal } from './refund-refusal.ts';
import { represent, representRefund } from './representation.ts';
import { CancelSchema, check, RefundSchema } from './schemas.ts';
import { ownTransaction, quarantined } from './transactions.ts';

/** A charge of the account's; 404 for anything else. */
async function ownCharge(services: ApiServices, ctx: Context): Promise<ChargeRecord> {
  const record = await ownTransaction(services, ctx, ctx.params.id ?? '', 'pix-in');
  if (record.type !== 'pix-in') throw notFound();
  return record;
}

/** The refund that was made. @throws ApiError */
function made({ answer, refundId }: RefundAnswer): object {
  switch (answer.kind) {
    case 'applied': {
      const { record } = answer;
      if (record.type === 'pix-in') return representRefund(record, refundId);
      throw new Error('a cashout was refunded');
    }
    case 'duplicateKey':
      throw new ApiError('DUPLICATE_REQUEST', 'A refund with this idempotencyKey exists already.', {
        transactionId: answer.transaction,
        refundId,
      });
    case 'quarantined':
      throw quarantined();
    case 'unknown':
      throw notFound();
    default:
      throw refundRefusal(answer) ?? new Error(`a refund was answered ${answer.kind}`);
  }
}

/** POST /pix-in/:id/refunds */
export function createRefund(services: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const result = check(RefundSchema, optionalObjectOf(ctx));
    if (!result.ok) throw validationError(result.details);
    const { id: transaction } = await ownCharge(services, ctx);
    const { amount = null, reason = null, idempotencyKey = null } = result.value;
    const request = { transaction, amount, reason, idempotencyKey };
    ctx.body = made(await services.payments.refund(ctx.state.account, request, sendOptions(ctx)));
    ctx.status = 201;
  };
}

/** GET /pix-in/:id/refunds */
export function listRefunds(services: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const record = await ownCharge(services, ctx);
    const data = refundsOf(record.snapshot.context).map(({ id }) => representRefund(record, id));
    ctx.body = { transactionId: record.id, data };
  };
}

/** GET /refunds, by `id` or `idempotencyKey`. */
export function readRefund({ journal }: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const id = queryValue(ctx, 'id');
    const key = queryValue(ctx, 'idempotencyKey');
    if ((id === null) === (key === null))
      throw invalidRequest('Give either the query parameter id or idempotencyKey.');
    if (id !== null && !isUuidV4(id)) throw validationError([{ field: 'id', message: 'must be a UUID v4' }]);
    const wanted = id?.toLowerCase() ?? null;
    const { id: account } = ctx.state.account;
    const record =
      wanted === null
        ? await findTransaction(journal, account, 'refundKey', key ?? '')
        : await findTransaction(journal, account, 'refund', wanted);
    if (record?.type !== 'pix-in') throw notFound();
    const found = refundsOf(record.snapshot.context).find(({ id: own, refund }) =>
      wanted === null ? refund.idempotencyKey === key : own === wanted,
    );
    if (found === undefined) throw notFound();
    ctx.body = representRefund(record, found.id);
  };
}

/** POST /pix-in/:id/cancel */
export function cancelCharge(services: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const result = check(CancelSchema, optionalObjectOf(ctx));
    if (!result.ok) throw validationError(result.details);
    const { id: transaction } = await ownCharge(services, ctx);
    const request = { transaction, reason: result.value.reason ?? null };
    const answer = await services.payments.cancel(ctx.state.account, request, sendOptions(ctx));
    switch (answer.kind) {
      case 'applied':
      case 'repeated':
        ctx.status = 200;
        ctx.body = represent(answer.record, services.now());
        return;
      case 'refused': {
        const { value: status } = answer.record.snapshot;
        throw new ApiError('MESSAGE_NOT_ACCEPTED', `The charge is not canceled: ${answer.reason}.`, {
          status,
          allowed: answer.allowed,
        });
      }
      case 'quarantined':
        throw quarantined();
      case 'unknown':
        throw notFound();
      default:
        throw new Error(`a cancelling was answered ${answer.kind}`);
    }
  };
}
