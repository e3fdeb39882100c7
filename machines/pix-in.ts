/**
 * PIX IN: a charge, from its QR code to its payment and what may follow. The states and events are the
 * contract's ("PIX IN states", "Transitions"), those that `decisions.md` adds ("States"), and those of
 * `additions.md` (refunds, what the bank may say later).
 *
 * Money moves on transitions, never on entering a state: coming back to `paid` from `in_protest` credits nothing.
 * Whatever takes the last standing cent names the state.
 */
import { assign, raise, setup } from 'xstate';
import type { PaymentData, ReasonData } from '../src/domain/messages.ts';
import {
  isOrderable,
  isPending,
  isStanding,
  isWhole,
  standingWithout,
} from '../src/domain/reversals/steps.ts';
import { standingOf } from '../src/domain/reversals/sums.ts';
import { timeOfText } from '../src/domain/time.ts';
import type { Charge } from '../src/domain/transactions.ts';
import { emit, sideEffects } from './effects.ts';
import {
  lateOutcomes,
  type Ordering,
  type Outcome,
  ordering,
  type Reversing,
  reversing,
} from './reversing.ts';

type Message =
  | { type: 'PAY' | 'HOLD'; at: string; data: PaymentData }
  | { type: 'APPROVE'; at: string }
  | { type: 'REFUSE' | 'FAIL' | 'CANCEL' | 'PROTEST' | 'DISMISS'; data: ReasonData }
  | ({ type: 'REFUND' | 'CHARGEBACK' } & Reversing)
  | ({ type: 'REFUND_ORDER' } & Ordering)
  | ({ type: 'REFUND_DONE' | 'REFUND_FAILED' } & Outcome)
  | { type: 'EXPIRE' };

/** The net amount goes to the merchant, the fee to us, the gross amount comes from the outside. */
const credit = {
  type: 'post',
  params: ({ context: { amount, fee } }: { context: Charge }) => ({
    postings: [
      { leg: 'bank' as const, amount: -amount },
      { leg: 'available' as const, amount: fee.netAmount },
      { leg: 'fees' as const, amount: fee.totalFee },
    ],
  }),
} as const;

const recordPayment = {
  type: 'recordPayment',
  params: ({ event }: { event: { at: string; data: PaymentData } }) => ({
    at: event.at,
    payment: event.data,
  }),
} as const;

const holdPayment = { ...recordPayment, type: 'holdPayment' } as const;

const releasePayment = {
  type: 'releasePayment',
  params: ({ event }: { event: { at: string } }) => ({ at: event.at }),
} as const;

export const pixIn = setup({
  types: { context: {} as Charge, events: {} as Message, input: {} as Charge },
  actions: {
    ...sideEffects,
    expire: raise({ type: 'EXPIRE' }),
    /** Shows who paid, when, and the end-to-end id. */
    recordPayment: assign(({ context }, { at, payment }: { at: string; payment: PaymentData }) => ({
      endToEndId: payment.endToEndId ?? null,
      paidAt: payment.paidAt ?? at,
      customer: payment.payer ?? context.customer,
      held: null,
    })),
    /** Keeps what a held payment brought; it is shown from its approval on. */
    holdPayment: assign((_, { payment }: { at: string; payment: PaymentData }) => ({ held: payment })),
    releasePayment: assign(({ context }, { at }: { at: string }) => ({
      endToEndId: context.held?.endToEndId ?? null,
      paidAt: context.held?.paidAt ?? at,
      customer: context.held?.payer ?? context.customer,
      held: null,
    })),
    /** The refund that changes, and the sums. */
    record: assign((_, changes: Partial<Charge>) => changes),
  },
  guards: {
    /** Racing refunds never exceed what remains: each is judged on what those before it left. */
    isOrderable: ({ context }, { amount }: { amount: number }) => isOrderable(context, amount),
    isPending: ({ context }, { refundId }: { refundId: string | undefined }) => isPending(context, refundId),
    takesTheLast: ({ context }, { refundId }: { refundId: string | undefined }) =>
      isPending(context, refundId) && standingWithout(context, refundId) === 0,
    takesTooMuch: ({ context }, { refundId }: { refundId: string | undefined }) =>
      isPending(context, refundId) && standingWithout(context, refundId) < 0,
    isWhole: ({ context }, params: { part: number }) => isWhole(context, params.part),
    isLastPart: ({ context }, params: { part: number }) =>
      isStanding(context, params.part) && params.part === standingOf(context),
    isPart: ({ context }, params: { part: number }) => isStanding(context, params.part),
  },
  delays: { expiry: ({ context }) => timeOfText(context.expiresAt) - timeOfText(context.createdAt) },
}).createMachine({
  id: 'pix-in',
  version: '2',
  context: ({ input }) => input,
  initial: { target: 'waiting_payment', actions: emit('pix-in.waiting_payment') },
  states: {
    // The QR code is out; nobody has paid it yet.
    waiting_payment: {
      after: { expiry: { actions: 'expire' } },
      on: {
        PAY: { target: 'paid', actions: [recordPayment, credit, emit('pix-in.paid')] },
        HOLD: { target: 'in_analysis', actions: [holdPayment, emit('pix-in.in_analysis')] },
        REFUSE: { target: 'refused', actions: emit('pix-in.refused') },
        FAIL: { target: 'failed', actions: emit('pix-in.failed') },
        CANCEL: { target: 'canceled', actions: emit('pix-in.canceled') },
        EXPIRE: { target: 'expired', actions: emit('pix-in.expired') },
      },
    },
    // The payer has paid; the bank holds the payment until it is sure.
    in_analysis: {
      on: {
        APPROVE: { target: 'paid', actions: [releasePayment, credit, emit('pix-in.paid')] },
        REFUSE: { target: 'refused', actions: emit('pix-in.refused') },
        FAIL: { target: 'failed', actions: emit('pix-in.failed') },
      },
    },
    // The net amount is the merchant's, as far as the payment isn't taken back.
    paid: {
      on: {
        ...reversing,
        ...ordering,
        PROTEST: { target: 'in_protest', actions: emit('pix-in.in_protest') },
      },
    },
    // The payer protests (MED); what stands stays where it is until the protest is decided.
    in_protest: {
      on: { ...reversing, DISMISS: { target: 'paid', actions: emit('pix-in.paid') } },
    },
    refused: { type: 'final', tags: 'ended' },
    canceled: { type: 'final', tags: 'ended' },
    expired: { type: 'final', tags: 'ended' },
    failed: { type: 'final', tags: 'ended' },
    // Nothing stands any more; refunds that were pending then still have their outcome.
    refunded: { tags: 'ended', on: lateOutcomes },
    chargedback: { tags: 'ended', on: lateOutcomes },
  },
});
