/**
 * What takes money back of a payment, as parts of the PIX IN chart: orders of refunds and their outcomes, the bank's own
 * refunds, chargebacks (additions, "What the bank may say later"). Each message has the actions and guards by which the
 * chart's states take it.
 */
import type { OutcomeData, RefundOrderData, ReversalData } from '../src/domain/messages.ts';
import { bookChargeback, bookRefund, complete, order, partOf, undo } from '../src/domain/reversals/steps.ts';
import { reversalsOf, standingOf } from '../src/domain/reversals/sums.ts';
import type { Charge } from '../src/domain/transactions.ts';
import { emit } from './effects.ts';

export interface Reversing {
  at: string;
  data: ReversalData;
  /** The id that a part is listed under, as a refund of the bank's own. */
  refundId: string;
}

export interface Outcome {
  at: string;
  data: OutcomeData;
}

export interface Ordering {
  at: string;
  data: RefundOrderData;
}

/** What the params of an action or a guard are made of. */
interface Said<Event> {
  context: Charge;
  event: Event;
}

// What is posted and emitted is reckoned from the context before it, so `record` comes after both.
const postOrder = {
  type: 'post',
  params: ({ context, event }: Said<Ordering>) => ({
    postings: order(context, event.data, event.at).postings,
  }),
} as const;
const recordOrder = {
  type: 'record',
  params: ({ context, event }: Said<Ordering>) => order(context, event.data, event.at).changes,
} as const;
const orderRefund = {
  type: 'orderRefund',
  params: ({ event }: Said<Ordering>) => ({ refundId: event.data.refundId }),
} as const;
const isWithinWhatRemains = {
  type: 'isOrderable',
  params: ({ event }: Said<Ordering>) => ({ amount: event.data.amount }),
} as const;

/** The event of a refund that a message is about. */
function emitRefund<Name extends string>(name: Name) {
  return {
    type: 'emit',
    params: ({ event }: { event: { data: { refundId?: string } } }) => ({
      event: name,
      about: { refundId: event.data.refundId ?? '' },
    }),
  } as const;
}

const postCompletion = {
  type: 'post',
  params: ({ context, event }: Said<Outcome>) => ({
    postings: complete(context, event.data, event.at).postings,
  }),
} as const;
const recordCompletion = {
  type: 'record',
  params: ({ context, event }: Said<Outcome>) => complete(context, event.data, event.at).changes,
} as const;
const postUndoing = {
  type: 'post',
  params: ({ context, event }: Said<Outcome>) => ({
    postings: undo(context, event.data, event.at).postings,
  }),
} as const;
const recordUndoing = {
  type: 'record',
  params: ({ context, event }: Said<Outcome>) => undo(context, event.data, event.at).changes,
} as const;
const alarm = {
  type: 'alarm',
  params: ({ context, event }: Said<Outcome>) => ({
    refundId: event.data.refundId ?? '',
    standing: standingOf(context),
  }),
} as const;

const refund = { params: ({ event }: Said<Outcome>) => ({ refundId: event.data.refundId }) } as const;
const isAwaited = { type: 'isPending', ...refund } as const;
const isLastRefund = { type: 'takesTheLast', ...refund } as const;
const isTooMuch = { type: 'takesTooMuch', ...refund } as const;

const completed = [postCompletion, recordCompletion, emitRefund('refund.completed')] as const;
/** A refund ends in any state; where nothing stands any more, its completion is an alarm. */
export const lateOutcomes = {
  REFUND_DONE: { guard: isAwaited, actions: [alarm, ...completed] },
  REFUND_FAILED: { guard: isAwaited, actions: [postUndoing, recordUndoing, emitRefund('refund.failed')] },
} as const;

const postRefund = {
  type: 'post',
  params: ({ context, event }: Said<Reversing>) => ({ postings: bookRefund(context, event).postings }),
} as const;
const recordRefund = {
  type: 'record',
  params: ({ context, event }: Said<Reversing>) => bookRefund(context, event).changes,
} as const;
const emitBankRefund = {
  type: 'emit',
  params: ({ event }: Said<Reversing>) => ({
    event: 'refund.completed',
    about: { refundId: event.refundId },
  }),
} as const;
const postChargeback = {
  type: 'post',
  params: ({ context, event }: Said<Reversing>) => ({
    postings: bookChargeback(context, event.data).postings,
  }),
} as const;
const recordChargeback = {
  type: 'record',
  params: ({ context, event }: Said<Reversing>) => bookChargeback(context, event.data).changes,
} as const;
const emitBooked = {
  type: 'emit',
  params: ({ context, event: { data } }: Said<Reversing>) => {
    const amount = partOf(context, data);
    const total = reversalsOf(context).chargedback + amount;
    const { reason = null, returnId = null } = data;
    return { event: 'chargeback.booked', about: { amount, reason, returnId, total } };
  },
} as const;

const part = {
  params: ({ context, event }: Said<Reversing>) => ({ part: partOf(context, event.data) }),
} as const;
const isWholeAmount = { type: 'isWhole', ...part } as const;
const isLastPart = { type: 'isLastPart', ...part } as const;
const isPart = { type: 'isPart', ...part } as const;

/** What takes money back while some of it stands. */
export const reversing = {
  REFUND: [
    {
      guard: isWholeAmount,
      target: 'refunded',
      actions: [postRefund, recordRefund, emit('pix-in.refunded')],
    },
    {
      guard: isLastPart,
      target: 'refunded',
      actions: [postRefund, recordRefund, emitBankRefund, emit('pix-in.refunded')],
    },
    { guard: isPart, actions: [postRefund, recordRefund, emitBankRefund] },
  ],
  CHARGEBACK: [
    {
      guard: isWholeAmount,
      target: 'chargedback',
      actions: [postChargeback, recordChargeback, emit('pix-in.chargedback')],
    },
    {
      guard: isLastPart,
      target: 'chargedback',
      actions: [postChargeback, emitBooked, recordChargeback, emit('pix-in.chargedback')],
    },
    { guard: isPart, actions: [postChargeback, emitBooked, recordChargeback] },
  ],
  REFUND_DONE: [
    { guard: isTooMuch, target: 'refunded', actions: [alarm, ...completed, emit('pix-in.refunded')] },
    { guard: isLastRefund, target: 'refunded', actions: [...completed, emit('pix-in.refunded')] },
    { guard: isAwaited, actions: [...completed] },
  ],
  REFUND_FAILED: lateOutcomes.REFUND_FAILED,
} as const;

/** A refund is ordered, within what remains. */
export const ordering = {
  REFUND_ORDER: {
    guard: isWithinWhatRemains,
    actions: [postOrder, recordOrder, orderRefund, emitRefund('refund.pending')],
  },
} as const;
