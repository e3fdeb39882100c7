/**
 * What the bank tells, as messages to transactions of ours. Each is built from the bank's own answer alone and has an
 * id made of what it tells, so that a hint, a list and a question give the same bytes: it is applied once.
 */
import { hash } from 'node:crypto';
import type { ReturnBooking } from '../../domain/sentences/item-codes.ts';
import type { BankMessage } from '../../engine/bank.ts';
import type { TransferRecord } from '../../engine/journal.ts';
import type { BankCharge } from './charges.ts';
import type { Payment, PaymentReturn, UnreadPayment } from './payments.ts';
import type { Sending, SendingState } from './profile.ts';
import { firstCharacters } from './reading.ts';

/** Whose a return is: a refund of ours, a payment of ours that was given back, or the bank's. */
export type ReturnOwner = { kind: 'refund'; refundId: string } | { kind: 'given-back' } | { kind: 'bank' };

/** A charge of ours, as far as the bank's words are held against it. */
export interface KnownCharge {
  txid: string;
  /** The key with which it was registered. */
  pixKey: string;
  /** Cents. */
  amount: number;
  /** It waits for its payment still. */
  waits: boolean;
  /** The end-to-end id of the payment that it was credited with, or that is in analysis; null: none. */
  credited: string | null;
  /** Whose a return of one of its payments is, by the return's id. */
  ownerOf(returnId: string): ReturnOwner;
  /** Whether the end of a refund of ours is booked as the bank tells it, by whichever message. */
  isBooked(refund: PaymentReturn): boolean;
  /** Whether a message was applied, by its id. */
  isApplied(id: string): boolean;
}

export const DONE = 'DEVOLVIDO';
export const FAILED = 'NAO_REALIZADO';
const OF_MED = /^MED_/;
/** What the receiver may order: at the bank's app, for one. */
const OF_RECEIVER = ['ORIGINAL', 'RETIRADA'];

/** Names in the order given; those that are null are left out. */
function present(parts: Record<string, string | number | null>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== null));
}

const REASON_MOST = 500;

/** The bank's words as a reason: one line that can be shown. */
function textOf(reason: string | null): string | null {
  const line = reason?.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim() ?? '';
  return line === '' ? null : firstCharacters(line, REASON_MOST);
}

/** Whether two texts name one key: banks tell e-mails in capitals, and phones without their plus. */
function isSameKey(one: string, other: string): boolean {
  const [a = '', b = ''] = [one, other].map((key) => key.toLowerCase().replace(/^\+/, ''));
  return a === b;
}

/** Whether a payment is one of this charge: by the txid, and by the key where the bank says it. */
export function isPaymentOf(
  { txid, pixKey }: Payment,
  charge: Pick<KnownCharge, 'txid' | 'pixKey'>,
): boolean {
  return txid === charge.txid && (pixKey === null || isSameKey(pixKey, charge.pixKey));
}

function payMessage({ endToEndId, amount, paidAt }: Payment): BankMessage {
  return { id: `pix:${endToEndId}`, type: 'PAY', data: { endToEndId, amount, paidAt } };
}

/** The id of the messages about a return, but for their types. */
function returnMessageId(endToEndId: string, id: string): string {
  return `dev:${endToEndId}:${id}`;
}

/** By what a return that ops book by hand is known when the bank tells of it. */
export function bookingOf(endToEndId: string, { id, returnId }: PaymentReturn): ReturnBooking {
  return returnId === null ? { messageId: returnMessageId(endToEndId, id) } : { returnId };
}

/** The message of one return of a payment; null while nothing has come of it, or where it is nobody's affair. */
export function returnMessage(
  { endToEndId }: Pick<Payment, 'endToEndId'>,
  { id, returnId, amount, nature, status, reason: said, settledAt: completedAt }: PaymentReturn,
  owner: ReturnOwner,
): BankMessage | null {
  const reason = textOf(said);
  const idOf = (type: string): string => `${returnMessageId(endToEndId, id)}:${type}`;
  const message = (type: string, parts: Record<string, string | number | null>): BankMessage => ({
    id: idOf(type),
    type,
    data: present(parts),
  });
  if (owner.kind === 'given-back') return null;
  if (owner.kind === 'refund') {
    const { refundId } = owner;
    if (status === DONE) return message('REFUND_DONE', { refundId, returnId, completedAt });
    return status === FAILED ? message('REFUND_FAILED', { refundId, returnId, reason }) : null;
  }
  if (status !== DONE) return null;
  // A bank that leaves the nature out in one answer, and names it in another one, still took its money once.
  if (OF_MED.test(nature))
    return {
      ...message('CHARGEBACK', { amount, returnId, reason }),
      ...{ sameAs: idOf('REFUND'), ofPayment: endToEndId },
    };
  return OF_RECEIVER.includes(nature)
    ? {
        ...message('REFUND', { amount, returnId, reason, completedAt }),
        ...{ sameAs: idOf('CHARGEBACK'), ofPayment: endToEndId },
      }
    : null;
}

/** Whether the charge is credited with this payment, or may be: what comes back of others was nobody's credit. */
function isCredited({ endToEndId, amount }: Payment, charge: KnownCharge): boolean {
  if (charge.credited !== null) return charge.credited === endToEndId;
  return charge.waits && amount === charge.amount;
}

/** A payment of a charge, and what became of it since; empty where it is none of this charge's. */
export function paymentMessages(payment: Payment, charge: KnownCharge): BankMessage[] {
  if (!isPaymentOf(payment, charge)) return [];
  const returns = isCredited(payment, charge) ? payment.returns : [];
  // Ops may have said under an id of their own how a refund ended.
  const news = returns.filter((each) => !charge.isBooked(each));
  const later = news.map((each) => returnMessage(payment, each, charge.ownerOf(each.id)));
  // Banks say more as time goes on, or it otherwise, a time for one: what was booked stays what was told first.
  return [payMessage(payment), ...later.filter((message) => message !== null)].filter(
    ({ id, sameAs }) => !charge.isApplied(id) && (sameAs === undefined || !charge.isApplied(sameAs)),
  );
}

/** The charge with a payment of it as that one's own answer tells; as it is where the payment is another one's. */
export function withPayment(
  charge: BankCharge | null,
  payment: Payment | UnreadPayment,
  known: KnownCharge,
): BankCharge | null {
  const nothing = { txid: null, status: null, amount: null, pixKey: null, location: null, code: null };
  const isOther = (each: Payment | UnreadPayment): boolean => each.endToEndId !== payment.endToEndId;
  const given = charge ?? { ...nothing, payments: [], unread: [] };
  const before = { ...given, payments: given.payments.filter(isOther), unread: given.unread.filter(isOther) };
  if ('unread' in payment)
    return payment.txid === known.txid ? { ...before, unread: [...before.unread, payment] } : charge;
  if (!isPaymentOf(payment, known)) return charge;
  // Each of both answers may know of returns that the other one doesn't.
  const shown = given.payments.find((each) => !isOther(each))?.returns ?? [];
  const others = shown.filter(({ id }) => !payment.returns.some((each) => each.id === id));
  const whole = { ...payment, returns: [...payment.returns, ...others] };
  return { ...before, payments: [...before.payments, whole] };
}

const REMOVED: Record<string, string> = {
  REMOVIDA_PELO_PSP: 'REFUSE',
  REMOVIDA_PELO_USUARIO_RECEBEDOR: 'CANCEL',
};

/** The payments of a charge that the bank's answer about it shows. */
export function paymentsOf(answer: BankCharge, charge: KnownCharge): Payment[] {
  // Within its charge a payment needn't repeat the txid, and the key is the charge's.
  return answer.payments
    .map((given) => ({ ...given, txid: given.txid ?? charge.txid, pixKey: given.pixKey ?? answer.pixKey }))
    .filter((payment) => isPaymentOf(payment, charge));
}

/** All that the bank's answer about a charge says: its payments first, so that money comes before an end. */
export function chargeMessages(answer: BankCharge, charge: KnownCharge): BankMessage[] {
  if (answer.txid !== null && answer.txid !== charge.txid) return [];
  const messages = paymentsOf(answer, charge).flatMap((payment) => paymentMessages(payment, charge));
  const type = REMOVED[answer.status ?? ''];
  // What was removed is news only to a charge that waits.
  if (type === undefined || !charge.waits) return messages;
  return [...messages, { id: `cob:${charge.txid}:${answer.status}`, type, data: {} }];
}

/** A payee's id of a return is one within its payment alone: another payee may give the same one. */
function madeReturnId(endToEndId: string, id: string): string {
  return `D${hash('sha256', `${endToEndId} ${id}`, 'hex').slice(0, 31)}`;
}

/** Before START the bank's words for "no" are its own; after it all of them end a transfer that was under way. */
const ENDINGS: Partial<Record<SendingState, { before: string; after: string }>> = {
  failed: { before: 'FAIL', after: 'FAIL' },
  rejected: { before: 'REJECT', after: 'FAIL' },
  canceled: { before: 'CANCEL', after: 'FAIL' },
};

/** As `sendingMessages`, of a transfer of ours: what was applied is no news, whatever a bank says more of it. */
export function sendingNews({ id, snapshot, messages }: TransferRecord, sending: Sending): BankMessage[] {
  return sendingMessages(id, sending, snapshot.value !== 'pending').filter(
    ({ id: message }) => !Object.hasOwn(messages, message),
  );
}

/**
 * What the bank's answer about a transfer says. `id` is the transfer's; `hasStarted`: whether START, or what implies
 * it, was applied. Empty while the bank, or a person there, has yet to decide, and where the state isn't known.
 */
export function sendingMessages(id: string, sending: Sending, hasStarted: boolean): BankMessage[] {
  const { state, endToEndId, paidAt, returns } = sending;
  const reason = textOf(sending.reason);
  const message = (type: string, parts: Record<string, string | number | null>): BankMessage => ({
    id: type === 'START' ? `env:${id}:start` : `env:${id}:${type}`,
    type,
    data: present(parts),
  });
  const ending = ENDINGS[state];
  if (ending !== undefined) {
    const type = hasStarted ? ending.after : ending.before;
    return [message(type, type === 'FAIL' ? { endToEndId, reason } : { reason })];
  }
  // Without its end-to-end id, or its time, it is asked about again.
  if (endToEndId === null) return [];
  if (state === 'started') return [message('START', { endToEndId })];
  if (state !== 'settled' || paidAt === null) return [];
  const back = returns.map(({ id: each, returnId, amount, reason: why }) => ({
    ...{ id: `ret:${endToEndId}:${each}`, type: 'RETURN' },
    data: present({ returnId: returnId ?? madeReturnId(endToEndId, each), amount, reason: textOf(why) }),
  }));
  return [message('SETTLE', { endToEndId, paidAt }), ...back];
}
