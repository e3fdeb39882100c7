/** What the endpoints' methods share: paths, keys, and creates whose answer was lost. */
import { type Call, type CallOptions, type Connection, jsonOf, type Patience } from './connection.ts';
import { PixstateError } from './errors.ts';
import type { DuplicateRequest } from './types.ts';

/** An id as a part of a path. @throws TypeError for what would lead to another path */
export function pathPart(id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new TypeError('the id must be one of the API: letters, digits, - and _');
  return id;
}

export function read(path: string, query: Call['query'] = {}): Call {
  return { method: 'GET', path, query, isRepeatable: true };
}

interface Keyed {
  idempotencyKey?: string | null;
}

/**
 * A request that creates something, and what it sends: only its key makes it safe to send it again. The caller's object
 * may be the next request's already when an answer comes.
 *
 * @throws TypeError
 */
export function creation<Request extends Keyed>(
  path: string,
  request: Request,
): { call: Call; sent: Request } {
  const body = jsonOf(request);
  const sent: Request = JSON.parse(body);
  const isRepeatable = (sent.idempotencyKey ?? null) !== null;
  return { call: { method: 'POST', path, body, isRepeatable }, sent };
}

export interface Creation<Made> {
  call: Call;
  /** Where that which has the key is found. */
  existing(duplicate: Pick<DuplicateRequest, 'transactionId' | 'refundId'>): Call;
  /** Whether this request made it. */
  isSame(made: Made): boolean;
}

/**
 * What has the key; null where no answer tells. That it couldn't be read says nothing of what the lost request did, so
 * the reading's own failure isn't the call's.
 */
async function readExisting<Made>(
  connection: Connection,
  call: Call,
  patience: Patience,
): Promise<Made | null> {
  try {
    return await connection.json<Made>(call, patience);
  } catch (error) {
    if (error instanceof PixstateError) return null;
    throw error;
  }
}

/**
 * Creates. Where an answer is lost and the repeat is told that the key exists, the key's owner is what the lost request
 * made, so it is the result; unless it is another than what was asked for, or can't be read.
 *
 * @throws PixstateError, or the signal's reason
 */
export async function create<Made>(
  connection: Connection,
  { call, existing, isSame }: Creation<Made>,
  options: CallOptions,
): Promise<Made> {
  const patience = connection.patience(options);
  try {
    return await connection.json<Made>(call, patience);
  } catch (error) {
    const isOwn =
      error instanceof PixstateError && error.code === 'DUPLICATE_REQUEST' && error.outcomeUnknown;
    if (!isOwn) throw error;
    const made = await readExisting<Made>(connection, existing(error), patience);
    if (made === null || !isSame(made)) throw error;
    return made;
  }
}
