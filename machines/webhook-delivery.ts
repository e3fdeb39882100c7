/**
 * A delivery: one event on its way to one URL (contract, "Delivery and retry"). Five attempts; after the first
 * come about 1 minute, 5 minutes, 15 minutes and 1 hour. A 4xx or 3xx is not retried; 429 is, and may ask for
 * a later time.
 */
import { assign, raise, setup } from 'xstate';

/** Delays before attempts 2 to 5, in milliseconds (contract, "Retry schedule"). */
const RETRY_DELAYS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000];

/** Attempts in one round; `deliveries retry` starts a new round. */
const MAX_ATTEMPTS = 5;

/** What a delivery remembers between attempts. */
export interface DeliveryContext {
  /** Failed attempts of this round. */
  failures: number;
  /** The receiver's `Retry-After` of the last answer, milliseconds, 0 without one. */
  retryAfterMs: number;
  /** `WEBHOOK_RETRY_SCALE`: 1 is the contract's schedule. */
  scale: number;
}

type Message =
  | { type: 'ACCEPTED' | 'DECLINED' | 'ATTEMPT' | 'REVIVE' | 'URL_REMOVED' }
  | { type: 'FAILED'; retryAfterMs: number; scale: number };

const countFailure = {
  type: 'countFailure',
  params: ({ event }: { event: { retryAfterMs: number; scale: number } }) => ({
    retryAfterMs: event.retryAfterMs,
    scale: event.scale,
  }),
} as const;

export const webhookDelivery = setup({
  types: { context: {} as DeliveryContext, events: {} as Message, input: {} as DeliveryContext },
  actions: {
    attempt: (): void => {},
    dueAgain: raise({ type: 'ATTEMPT' }),
    countFailure: assign(({ context }, params: { retryAfterMs: number; scale: number }) => ({
      failures: context.failures + 1,
      ...params,
    })),
    startAnew: assign({ failures: 0, retryAfterMs: 0 }),
  },
  guards: { wasLastAttempt: ({ context }) => context.failures + 1 >= MAX_ATTEMPTS },
  delays: {
    retry: ({ context }) =>
      Math.max((RETRY_DELAYS_MS[context.failures - 1] ?? 0) * context.scale, context.retryAfterMs),
  },
}).createMachine({
  id: 'webhook-delivery',
  version: '1',
  context: ({ input }) => input,
  initial: { target: 'pending', actions: 'attempt' },
  states: {
    // The first attempt of a round is under way or about to be.
    pending: {
      on: {
        ACCEPTED: 'delivered',
        DECLINED: 'rejected',
        FAILED: [
          { guard: 'wasLastAttempt', target: 'dead', actions: countFailure },
          { target: 'retrying', actions: countFailure },
        ],
        URL_REMOVED: 'dead',
      },
    },
    // At least one attempt failed; the next is due after its delay.
    retrying: {
      after: { retry: { actions: 'dueAgain' } },
      on: {
        ATTEMPT: { actions: 'attempt' },
        ACCEPTED: 'delivered',
        DECLINED: 'rejected',
        FAILED: [
          { guard: 'wasLastAttempt', target: 'dead', actions: countFailure },
          { target: 'retrying', reenter: true, actions: countFailure },
        ],
        URL_REMOVED: 'dead',
      },
    },
    delivered: {},
    // Dead letters: they stay readable, and ops may start a new round.
    dead: { on: { REVIVE: { target: 'pending', actions: ['startAnew', 'attempt'] } } },
    rejected: { on: { REVIVE: { target: 'pending', actions: ['startAnew', 'attempt'] } } },
  },
});
