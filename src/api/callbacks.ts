/** POST /bank/callbacks: a real bank's messages, signed as Standard Webhooks. */
import { codePoints, isPrintable } from '../domain/text.ts';
import { verifyWebhook } from '../domain/webhook-signature.ts';
import { Abandoned, Overloaded } from '../engine/actors/host.ts';
import type { MessageAnswer } from '../engine/payments.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { textOf } from '../errors.ts';
import { Semaphore, within } from '../waiting.ts';
import { bytesOf, checkContentType, parseJson } from './body.ts';
import { type ApiServices, type CommandOptions, type Context, sendOptions } from './context.ts';
import { ApiError, invalidRequest, validationError } from './errors.ts';

export const MAX_CALLBACK_BYTES = 1024 * 1024;
const MAX_MESSAGES = 500;
/** So many messages of a request are under way at once: who comes in between waits for no more of them. */
const AT_ONCE = 32;
const TOLERANCE_S = 300;
/** Messages are taken until so long before the request's 504, which would tell the bank nothing of those before. */
const MARGIN_MS = 2_000;
/** How much longer the ones under way by then are waited for. */
const PATIENCE_MS = 1_000;

interface CallbackMessage {
  id: string;
  transactionId: string;
  type: string;
  data: unknown;
}

interface CallbackServices extends ApiServices {
  /** A failure with its cause, for the log. */
  onFailure(error: unknown, requestId: string, path: string): void;
}

type Result = 'applied' | 'duplicate' | 'refused' | 'unknown' | 'invalid' | 'later';

interface ResultEntry {
  id: string;
  result: Result;
  message?: string;
}

function isSigned(ctx: Context, secret: string, body: Buffer, nowMs: number): boolean {
  const id = ctx.get('webhook-id');
  const timestamp = ctx.get('webhook-timestamp');
  const signatureHeader = ctx.get('webhook-signature');
  if (id === '' || timestamp === '' || signatureHeader === '') return false;
  const now = Math.floor(nowMs / 1000);
  return verifyWebhook({
    secrets: [secret],
    id,
    timestamp,
    signatureHeader,
    body,
    now,
    toleranceSeconds: TOLERANCE_S,
  });
}

function toMessage(element: unknown): CallbackMessage {
  const { id, transactionId, type, data = null } = (element ?? {}) as Record<string, unknown>;
  const isOne = typeof element === 'object' && element !== null && !Array.isArray(element);
  if (!isOne || typeof id !== 'string' || typeof transactionId !== 'string' || typeof type !== 'string') {
    throw invalidRequest('Every element must be an object with the texts id, transactionId and type.');
  }
  return { id, transactionId, type, data };
}

function parseMessages(body: Buffer): CallbackMessage[] {
  const value = parseJson(body);
  if (!Array.isArray(value)) throw invalidRequest('The request body must be a JSON array of messages.');
  if (value.length > MAX_MESSAGES) {
    throw validationError([{ field: '', message: `at most ${MAX_MESSAGES} messages fit in a request` }]);
  }
  return value.map(toMessage);
}

/** The fault of a message before its data is looked at; null: none. */
function shapeProblem({ id, data }: CallbackMessage): string | null {
  if (!isPrintable(id) || codePoints(id) < 1 || codePoints(id) > 255)
    return 'id must be text of 1 to 255 printable characters';
  if (data !== null && (typeof data !== 'object' || Array.isArray(data))) return 'data must be an object';
  return null;
}

function resultOf(id: string, answer: MessageAnswer): ResultEntry {
  switch (answer.kind) {
    case 'applied':
      return { id, result: 'applied' };
    case 'repeated':
      return { id, result: 'duplicate' };
    case 'refused':
      return { id, result: 'refused', message: answer.reason };
    case 'invalid':
      return { id, result: 'invalid', message: answer.reason };
    case 'quarantined':
      return { id, result: 'later', message: 'the transaction can not be changed at the moment' };
    default:
      throw new Error(`a callback was answered ${answer.kind}`);
  }
}

/** When messages are taken no more, ms of `elapsed`. */
function lastMoment(ctx: Context): number {
  return ctx.state.deadline - MARGIN_MS;
}

/** A message that isn't decided at the last moment is dropped, and is one result: it doesn't end the request. */
function messageOptions({ elapsed }: ApiServices, ctx: Context, message: CallbackMessage): CommandOptions {
  const options = sendOptions(ctx);
  const deadline = lastMoment(ctx);
  return {
    weight: 2_048 + 2 * JSON.stringify(message).length,
    deadline,
    abandoned: () => elapsed() >= deadline || options.abandoned(),
    onDropped: () => {},
  };
}

/** Sends one message to its transaction. */
async function told(
  services: CallbackServices,
  ctx: Context,
  message: CallbackMessage,
): Promise<ResultEntry> {
  const { id, transactionId, type, data } = message;
  const record = await services.journal.transaction(transactionId.toLowerCase());
  if (record === null) {
    await services.payments.noteUnknown(message);
    return { id, result: 'unknown' };
  }
  const problem = shapeProblem(message);
  const given = problem === null ? ((data ?? {}) as Record<string, unknown>) : { data };
  const incoming = { id, type, data: given };
  const options = messageOptions(services, ctx, message);
  const answer =
    problem === null
      ? await services.payments.tell(record, incoming, 'bank', options)
      : await services.payments.recordInvalid(record, incoming, problem, options);
  return resultOf(id, answer);
}

function isAway(error: unknown): boolean {
  return error instanceof Overloaded || error instanceof StoreUnavailable || error instanceof Abandoned;
}

/** A message that can't be decided stops none of its neighbours: it is one result, and a person's case. */
async function resultFor(
  services: CallbackServices,
  ctx: Context,
  message: CallbackMessage,
): Promise<ResultEntry> {
  const { id } = message;
  const left = lastMoment(ctx) - services.elapsed();
  if (left <= 0) return { id, result: 'later', message: 'out of time' };
  const result = told(services, ctx, message).catch(async (error: unknown) => {
    if (isAway(error)) throw error;
    services.onFailure(error, ctx.state.requestId, ctx.path);
    await services.payments.noteUndecided(message, textOf(error));
    return { id, result: 'later' as const, message: 'the message can not be decided: it is recorded' };
  });
  try {
    // What is applied all the same after that is told as a duplicate when the bank says it again.
    return await within(left + PATIENCE_MS, result, () => new Abandoned());
  } catch (error) {
    if (!isAway(error)) throw error;
    return { id, result: 'later', message: 'not taken now' };
  }
}

/**
 * Results in the order of the messages. Those of one transaction are taken one after the other, in their
 * order; those of others go beside them, so many at a time.
 */
async function resultsOf(
  services: CallbackServices,
  ctx: Context,
  messages: readonly CallbackMessage[],
): Promise<ResultEntry[]> {
  const results: ResultEntry[] = [];
  const chains = new Map<string, Promise<void>>();
  const places = new Semaphore(AT_ONCE);
  messages.forEach((message, index) => {
    const key = message.transactionId.toLowerCase();
    const before = chains.get(key) ?? Promise.resolve();
    const next = before.then(async () => {
      await places.acquire();
      try {
        results[index] = await resultFor(services, ctx, message);
      } finally {
        places.release();
      }
    });
    chains.set(key, next);
  });
  await Promise.all(chains.values());
  return results;
}

export function receiveCallbacks(services: CallbackServices, secret: string) {
  return async (ctx: Context): Promise<void> => {
    const body = bytesOf(ctx);
    if (!isSigned(ctx, secret, body, services.now())) {
      throw new ApiError('INVALID_CREDENTIALS', 'The signature is missing, wrong or too old.');
    }
    checkContentType(ctx);
    ctx.body = await resultsOf(services, ctx, parseMessages(body));
    ctx.status = 200;
  };
}
