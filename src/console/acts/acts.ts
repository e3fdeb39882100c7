/** Does in the engine's thread what operators wish for: each by its door of ops, and answers for the console's thread. */
import { AccountMoved, ChangeForgotten, DoneBefore } from '../../accounts/last-changes.ts';
import { AccountBusy } from '../../accounts/manage.ts';
import { ApiError } from '../../api/errors.ts';
import { Overloaded } from '../../engine/actors/host.ts';
import { BankRefused } from '../../engine/bank.ts';
import type { Acting } from '../../ops/acting.ts';
import { ActionRefused } from '../../ops/acting.ts';
import { RetryRuns, TooManyRuns } from '../../ops/retry-runs.ts';
import { ConsoleError, failed } from '../server/errors.ts';
import type { RetryRun } from '../shapes/acts.ts';
import { adjust, change, presentOf, rotate } from './accounts.ts';
import { finishItems, retryIds, retryUrl } from './lists.ts';
import type { ActsParts } from './parts.ts';
import { cancel, refund, sendMessage } from './transactions.ts';
import type { Acted, ActWish, Deed } from './wishes.ts';

function done(parts: ActsParts, deed: Deed, acting: Acting): Promise<object> {
  switch (deed.kind) {
    case 'message':
      return sendMessage(parts, deed, acting);
    case 'refund':
      return refund(parts, deed, acting);
    case 'cancel':
      return cancel(parts, deed, acting);
    case 'retry':
      return retryIds(parts, deed, acting);
    case 'retryUrl':
      return retryUrl(parts, deed, acting);
    case 'done':
      return finishItems(parts, deed, acting);
    case 'adjust':
      return adjust(parts, deed, acting);
    case 'settings':
      return change(parts, deed, acting);
    case 'rotate':
      return rotate(parts, deed, acting);
  }
}

/** What the doors of ops throw, as the console answers it; null: nobody expects it. */
function refusalOf(error: unknown): ConsoleError | ApiError | null {
  if (error instanceof ConsoleError || error instanceof ApiError) return error;
  if (error instanceof ActionRefused)
    return new ConsoleError('ID_REUSED', 'This id was used for something else: nothing was changed.');
  if (error instanceof DoneBefore)
    return new ConsoleError('DONE_BEFORE', 'It was done before, under this id: nothing was changed.');
  if (error instanceof AccountMoved) {
    const message =
      error instanceof ChangeForgotten
        ? 'The account was changed too often since to know if it was done before: nothing was changed now.'
        : 'Somebody has changed the account meanwhile: nothing was changed.';
    return new ConsoleError('ACCOUNT_CHANGED', message, {}, { present: presentOf(error.account) });
  }
  if (error instanceof AccountBusy)
    return new ConsoleError('ACCOUNT_BUSY', 'Others change the account: nothing was changed.');
  if (error instanceof TooManyRuns)
    return new ConsoleError('RATE_LIMITED', 'Too many runs go on already.', { 'Retry-After': '10' });
  if (error instanceof BankRefused)
    return new ApiError('PROCESSING_ERROR', 'The bank did not accept the operation.');
  if (error instanceof Overloaded)
    return new ConsoleError('SERVICE_UNAVAILABLE', 'The engine takes nothing at the moment.', {
      'Retry-After': '1',
    });
  return null;
}

export interface ActsOptions extends Omit<ActsParts, 'runs'> {
  /** A run over a URL's deliveries could not go on. */
  onTrouble(error: unknown): void;
}

export class Acts {
  readonly #parts: ActsParts;

  constructor(options: ActsOptions) {
    this.#parts = { ...options, runs: new RetryRuns(options) };
  }

  /** Does it, or says why not. @throws what nobody expects, and StoreUnavailable: whether it was done is not known then */
  async act({ id, by, deed }: ActWish): Promise<Acted> {
    try {
      return { status: 200, headers: {}, body: await done(this.#parts, deed, { id, by }) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) throw error;
      return failed(refusal);
    }
  }

  /** How a run over a URL's deliveries goes; null where there is none of that id. */
  run(id: string): RetryRun | null {
    return this.#parts.runs.of(id);
  }

  /** Begins nothing more that goes on by itself; resolves once nothing does. */
  close(): Promise<void> {
    return this.#parts.runs.close();
  }
}
