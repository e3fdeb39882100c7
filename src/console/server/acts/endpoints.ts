/**
 * What operators do, each by one endpoint: the body is checked here, and what it asks for is done in the engine's thread.
 * Nobody but an operator gets as far as the body.
 */
import type { Context } from 'koa';
import type { z } from 'zod';
import { objectOf } from '../../../api/body.ts';
import { validationError } from '../../../api/errors.ts';
import { check } from '../../../api/schemas.ts';
import type { Acted, ActWish, Deed } from '../../acts/wishes.ts';
import type { RetryRun } from '../../shapes/acts.ts';
import { ConsoleError } from '../errors.ts';
import { partOf } from '../query.ts';
import type { Entrant } from '../sign-in.ts';
import {
  adjustBody,
  cancelBody,
  doneBody,
  messageBody,
  refundBody,
  retryIdsBody,
  retryUrlBody,
  rotateBody,
  settingsBody,
} from './bodies.ts';

/** Does it in the engine's thread. */
export interface ActLine {
  act(wish: ActWish): Promise<Acted>;
  run(id: string): Promise<RetryRun | null>;
}

/** What a body asks for. @throws ApiError */
type Reading = (given: Record<string, unknown>, id: string) => { id: string; reason: string; deed: Deed };

export interface ActEndpoint {
  method: 'post' | 'patch';
  path: string;
  read: Reading;
}

function reading<Body extends { id: string; reason: string }>(
  schema: z.ZodType<Body>,
  deedOf: (body: Omit<Body, 'id' | 'reason'>, id: string) => Deed,
): Reading {
  return (given, of) => {
    const result = check(schema, given);
    if (!result.ok) throw validationError(result.details);
    const { id, reason, ...body } = result.value;
    return { id, reason, deed: deedOf(body, of) };
  };
}

const readRetry: Reading = (given, of) =>
  'ids' in given
    ? reading(retryIdsBody, ({ ids }) => ({ kind: 'retry', ids }))(given, of)
    : reading(retryUrlBody, (body) => ({ kind: 'retryUrl', ...body }))(given, of);

export const ACT_ENDPOINTS: readonly ActEndpoint[] = [
  {
    ...{ method: 'post', path: '/transactions/:id/messages' },
    read: reading(messageBody, (body, transaction) => ({ kind: 'message', transaction, ...body })),
  },
  {
    ...{ method: 'post', path: '/transactions/:id/refunds' },
    read: reading(refundBody, (body, transaction) => ({ kind: 'refund', transaction, ...body })),
  },
  {
    ...{ method: 'post', path: '/transactions/:id/cancel' },
    read: reading(cancelBody, (_, transaction) => ({ kind: 'cancel', transaction })),
  },
  { method: 'post', path: '/deliveries/retry', read: readRetry },
  {
    ...{ method: 'post', path: '/attention/done' },
    read: reading(doneBody, ({ kind: of, ids }) => ({ kind: 'done', of, ids })),
  },
  {
    ...{ method: 'post', path: '/accounts/:id/adjust' },
    read: reading(adjustBody, (body, account) => ({ kind: 'adjust', account, ...body })),
  },
  {
    ...{ method: 'patch', path: '/accounts/:id' },
    read: reading(settingsBody, ({ version, ...changes }, account) => ({
      ...{ kind: 'settings', account, changes, version: version as number | null },
    })),
  },
  {
    ...{ method: 'post', path: '/accounts/:id/rotate' },
    read: reading(rotateBody, (body, account) => ({ kind: 'rotate', account, ...body })),
  },
];

/** Does what a request asks for, in the name of whose it is. @throws ConsoleError, ApiError */
export async function answerAct(
  ctx: Context,
  { by: name, role }: Entrant,
  { read }: ActEndpoint,
  line: Pick<ActLine, 'act'>,
): Promise<void> {
  if (role !== 'operator') throw new ConsoleError('OPERATORS_ONLY', 'Only operators change anything.');
  const { id, reason, deed } = read(objectOf(ctx), partOf(ctx, 'id'));
  const { status, headers, body } = await line.act({ id, by: { name, reason, role }, deed });
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
}

/** How a run goes. @throws ConsoleError */
export async function answerRun(ctx: Context, line: Pick<ActLine, 'run'>): Promise<void> {
  const run = await line.run(partOf(ctx, 'id'));
  if (run === null) throw new ConsoleError('RUN_NOT_FOUND', 'This server has no such run.');
  ctx.body = run;
}
