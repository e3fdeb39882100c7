/**
 * PIX IN: a charge, from its QR code to its payment and what may follow. The states and events are the
 * contract's ("PIX IN states", "Transitions") and those that `decisions.md` adds ("States").
 *
 * Money moves on transitions, never on entering a state: coming back to `paid` from `in_protest` credits nothing.
 */
import { assign, raise, setup } from 'xstate';
import type { PaymentData, ReasonData } from '../../src/domain/messages.ts';
import type { Charge } from '../../src/domain/transactions.ts';
import { emit, sideEffects } from '../effects.ts';

type Message =
  | { type: 'PAY' | 'HOLD'; at: string; data: PaymentData }
  | { type: 'APPROVE'; at: string }
  | { type: 'REFUSE' | 'FAIL' | 'CANCEL' | 'REFUND' | 'CHARGEBACK' | 'PROTEST' | 'DISMISS'; data: ReasonData }
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

/** The credit taken back whole, fee included: what the merchant had was the net amount. */
const takeBack = {
  type: 'post',
  params: ({ context: { amount, fee } }: { context: Charge }) => ({
    postings: [
      { leg: 'bank' as const, amount },
      { leg: 'available' as const, amount: -fee.netAmount },
      { leg: 'fees' as const, amount: -fee.totalFee },
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
  },
  delays: { expiry: ({ context }) => Date.parse(context.expiresAt) - Date.parse(context.createdAt) },
}).createMachine({
  id: 'pix-in',
  version: '1',
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
    // The net amount is the merchant's, unless the payment is taken back.
    paid: {
      on: {
        REFUND: { target: 'refunded', actions: [takeBack, emit('pix-in.refunded')] },
        CHARGEBACK: { target: 'chargedback', actions: [takeBack, emit('pix-in.chargedback')] },
        PROTEST: { target: 'in_protest', actions: emit('pix-in.in_protest') },
      },
    },
    // The payer protests (MED); the money stays where it is until the protest is decided.
    in_protest: {
      on: {
        REFUND: { target: 'refunded', actions: [takeBack, emit('pix-in.refunded')] },
        CHARGEBACK: { target: 'chargedback', actions: [takeBack, emit('pix-in.chargedback')] },
        DISMISS: { target: 'paid', actions: emit('pix-in.paid') },
      },
    },
    refused: { type: 'final' },
    canceled: { type: 'final' },
    expired: { type: 'final' },
    failed: { type: 'final' },
    refunded: { type: 'final' },
    chargedback: { type: 'final' },
  },
});
