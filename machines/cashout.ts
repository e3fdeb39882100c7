/**
 * Cashout: a transfer from the merchant's balance to a Pix key. The states and events are the contract's
 * ("Cashout states", "Transitions"); a bank result that overtakes the bank's start implies the start
 * (`decisions.md`, "States"), and money may come back once it is completed (`additions.md`).
 *
 * The balance is debited at creation; whatever ends other than `completed` gives amount and fee back.
 */
import { assign, raise, setup } from 'xstate';
import type { ReasonData, ReturnData, TransferData } from '../src/domain/messages.ts';
import type { Transfer } from '../src/domain/transactions.ts';
import { emit, sideEffects } from './effects.ts';

type Message =
  | { type: 'START' | 'SETTLE' | 'FAIL'; at: string; data: TransferData }
  | { type: 'REJECT' | 'CANCEL'; at: string; data: ReasonData }
  | { type: 'RETURN'; at: string; data: ReturnData };

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

interface Returning {
  context: Transfer;
  event: { data: ReturnData };
}

const takeReturn = {
  type: 'post',
  params: ({ event: { data } }: Returning) => ({
    postings: [
      { leg: 'bank' as const, amount: -(data.amount ?? 0) },
      { leg: 'available' as const, amount: data.amount ?? 0 },
    ],
  }),
} as const;

const returned = {
  type: 'recordReturn',
  params: ({ event }: Returning) => ({ amount: event.data.amount ?? 0 }),
} as const;

const emitReturn = {
  type: 'emit',
  params: ({ context, event: { data } }: Returning) => {
    const { amount = 0, reason = null, returnId = null } = data;
    const total = (context.returned ?? 0) + amount;
    return { event: 'return.booked', about: { amount, reason, returnId, total } };
  },
} as const;

const isWithinTheAmount = { ...returned, type: 'isReturnable' } as const;

export const cashout = setup({
  types: { context: {} as Transfer, events: {} as Message, input: {} as Transfer },
  actions: {
    ...sideEffects,
    /** The end-to-end id, once the bank tells it; what was told first stays. */
    recordSending: assign(({ context }, { sending }: { sending: TransferData }) => ({
      reference: context.reference ?? sending.endToEndId ?? null,
    })),
    recordPaidAt: assign((_, { paidAt }: { paidAt: string }) => ({ paidAt })),
    /** The fee stays ours. */
    recordReturn: assign(({ context }, { amount }: { amount: number }) => ({
      returned: (context.returned ?? 0) + amount,
    })),
    markStartImplied: assign({ startImplied: true }),
    /** The result itself is taken once the start that it implies has happened. */
    takeAgain: raise(({ event }) => event),
  },
  guards: {
    isReturnable: ({ context }, { amount }: { amount: number }) =>
      amount >= 1 && (context.returned ?? 0) + amount <= context.amount,
  },
}).createMachine({
  id: 'cashout',
  version: '2',
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
    // The money has reached the payee, who may send it back in parts.
    completed: {
      tags: 'ended',
      on: { RETURN: { guard: isWithinTheAmount, actions: [takeReturn, emitReturn, returned] } },
    },
    failed: { type: 'final', tags: 'ended' },
    rejected: { type: 'final', tags: 'ended' },
    cancelled: { type: 'final', tags: 'ended' },
  },
});
