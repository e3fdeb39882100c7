/**
 * Cashout: a transfer from the merchant's balance to a Pix key. The states and events are the contract's
 * ("Cashout states", "Transitions"); a bank result that overtakes the bank's start implies the start
 * (`decisions.md`, "States").
 *
 * The balance is debited at creation; whatever ends other than `completed` gives amount and fee back.
 */
import { assign, raise, setup } from 'xstate';
import type { ReasonData, TransferData } from '../../src/domain/messages.ts';
import type { Transfer } from '../../src/domain/transactions.ts';
import { emit, sideEffects } from '../effects.ts';

type Message =
  | { type: 'START' | 'SETTLE' | 'FAIL'; at: string; data: TransferData }
  | { type: 'REJECT' | 'CANCEL'; at: string; data: ReasonData };

const debit = {
  type: 'post',
  params: ({ context: { amount, fee } }: { context: Transfer }) => ({
    postings: [
      { leg: 'available' as const, amount: -(amount + fee.totalFee) },
      { leg: 'clearing' as const, amount },
      { leg: 'fees' as const, amount: fee.totalFee },
    ],
  }),
} as const;

const giveBack = {
  type: 'post',
  params: ({ context: { amount, fee } }: { context: Transfer }) => ({
    postings: [
      { leg: 'available' as const, amount: amount + fee.totalFee },
      { leg: 'clearing' as const, amount: -amount },
      { leg: 'fees' as const, amount: -fee.totalFee },
    ],
  }),
} as const;

const settle = {
  type: 'post',
  params: ({ context: { amount } }: { context: Transfer }) => ({
    postings: [
      { leg: 'clearing' as const, amount: -amount },
      { leg: 'bank' as const, amount },
    ],
  }),
} as const;

const order = {
  type: 'orderPayout',
  params: ({ context }: { context: Transfer }) => ({ amount: context.amount }),
} as const;

const sent = {
  type: 'recordSending',
  params: ({ event }: { event: { data: TransferData } }) => ({ sending: event.data }),
} as const;

const paid = {
  type: 'recordPaidAt',
  params: ({ event }: { event: { at: string; data: TransferData } }) => ({
    paidAt: event.data.paidAt ?? event.at,
  }),
} as const;

export const cashout = setup({
  types: { context: {} as Transfer, events: {} as Message, input: {} as Transfer },
  actions: {
    ...sideEffects,
    /** The end-to-end id, once the bank tells it; what was told first stays. */
    recordSending: assign(({ context }, { sending }: { sending: TransferData }) => ({
      reference: context.reference ?? sending.endToEndId ?? null,
    })),
    recordPaidAt: assign((_, { paidAt }: { paidAt: string }) => ({ paidAt })),
    markStartImplied: assign({ startImplied: true }),
    /** The result itself is taken once the start that it implies has happened. */
    takeAgain: raise(({ event }) => event),
  },
}).createMachine({
  id: 'cashout',
  version: '1',
  context: ({ input }) => input,
  initial: { target: 'pending', actions: [debit, order, emit('cashout.pending')] },
  states: {
    // Debited; the bank has not begun to send.
    pending: {
      on: {
        START: { target: 'processing', actions: [sent, emit('cashout.processing')] },
        SETTLE: {
          target: 'processing',
          actions: [sent, 'markStartImplied', emit('cashout.processing'), 'takeAgain'],
        },
        FAIL: {
          target: 'processing',
          actions: [sent, 'markStartImplied', emit('cashout.processing'), 'takeAgain'],
        },
        REJECT: { target: 'rejected', actions: [giveBack, emit('cashout.rejected')] },
        CANCEL: { target: 'cancelled', actions: [giveBack, emit('cashout.cancelled')] },
      },
    },
    // The bank is sending; only its result ends this.
    processing: {
      on: {
        SETTLE: { target: 'completed', actions: [sent, paid, settle, emit('cashout.completed')] },
        FAIL: { target: 'failed', actions: [sent, giveBack, emit('cashout.failed')] },
      },
    },
    completed: { type: 'final' },
    failed: { type: 'final' },
    rejected: { type: 'final' },
    cancelled: { type: 'final' },
  },
});
