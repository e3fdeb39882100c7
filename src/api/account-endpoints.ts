/** GET /balance and GET /webhooks. */

import { isUuidV4 } from '../domain/text.ts';
import { turnsOf } from '../engine/actors/turns.ts';
import { deliveryList } from '../engine/history.ts';
import { type ApiServices, type Context, isAbandoned, queryValue } from './context.ts';
import { invalidRequest, validationError } from './errors.ts';
import { ownTransaction } from './transactions.ts';

/** Webhook history: entries a query. */
const MAX_DELIVERIES = 100;

/** Lists that a thread puts together at once: one of a charge with a hundred refunds takes the engine long. */
const MOST_LISTS = 2;

export function readBalance({ journal }: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    const { balances } = await journal.head(ctx.state.account.id);
    ctx.body = { balance: balances.available, currency: 'BRL' };
  };
}

export function readDeliveries(services: ApiServices) {
  const atItsTurn = turnsOf('deliveries', MOST_LISTS);
  return async (ctx: Context): Promise<void> => {
    const id = queryValue(ctx, 'transactionId');
    if (id === null) throw invalidRequest('The query parameter transactionId is missing.');
    if (!isUuidV4(id)) throw validationError([{ field: 'transactionId', message: 'must be a UUID v4' }]);
    const record = await ownTransaction(services, ctx, id, null);
    const options = { abandoned: () => isAbandoned(ctx) };
    const deliveries = await atItsTurn(record.account, options, () => deliveryList(services.journal, record));
    ctx.body = { transactionId: record.id, data: deliveries.slice(0, MAX_DELIVERIES) };
  };
}
