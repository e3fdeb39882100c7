/** Returns of payments: refunds that merchants ordered, and payments that can't be credited. */
import { hash } from 'node:crypto';
import { refundOf } from '../../domain/reversals/sums.ts';
import {
  type Attempt,
  type Awakening,
  type Bank,
  BankHeldBack,
  type BankMessage,
  BankNotBegun,
  BankNotDone,
  BankOutcomeUnknown,
  type BankPace,
  BankRefused,
  backoffMs,
  type MayBegin,
  type ReturnTurn,
} from '../../engine/bank.ts';
import type { ChargeRecord } from '../../engine/journal.ts';
import { knownCharge } from './known-charge.ts';
import type { LastWords } from './last-words.ts';
import { DONE, FAILED, returnMessage } from './messages.ts';
import { reaisText } from './money-text.ts';
import type { Notes } from './notes.ts';
import type { Payment, PaymentReturn, Payments } from './payments.ts';
import { bare } from './profile.ts';
import { noteRefunded } from './reconciling/differing.ts';
import { CallFailed } from './wire/outcome.ts';

/** The id at the bank of the how-manieth return (from 1) that gives a payment back. */
export function givenBackId(endToEndId: string, number = 1): string {
  return `gb${hash('sha256', endToEndId, 'hex').slice(0, 30)}${number}`;
}

/**
 * What a payment leaves to be given back, cents, by what the bank says of its returns; and the return that hasn't ended,
 * where there is one: it may fail, and its part would be nobody's.
 */
export function leftOf({ amount, returns }: Payment): { left: number; underWay: PaymentReturn | undefined } {
  const taken = returns.filter(({ status }) => status !== FAILED);
  const left = amount - taken.reduce((sum, each) => sum + each.amount, 0);
  return { left, underWay: taken.find(({ status }) => status !== DONE) };
}

/** What the engine is told of a failure that nothing is known after, or nothing was done. */
export function outcomeOf(error: unknown): unknown {
  if (!(error instanceof CallFailed)) return error;
  if (error.kind === 'refused') return new BankRefused(error.message);
  if (error.isUnwanted) return new BankNotBegun(error.message);
  if (error.isHeld) return new BankHeldBack(error.message);
  return error.kind === 'not-done' ? new BankNotDone(error.message) : new BankOutcomeUnknown(error.message);
}

/** The answer to a question; that it was held back is told as of an order, and every other failure as it is. */
export async function orHeldBack<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof CallFailed && error.isHeld ? outcomeOf(error) : error;
  }
}

/** The same of charges: nothing is created, or changed, after any failure. */
export function refusalOf(error: unknown): unknown {
  return error instanceof CallFailed ? new BankRefused(error.message) : error;
}

/**
 * A refusal counts where the order surely wasn't sent before, nor meanwhile by who took it over, or where a later
 * question found nothing.
 */
async function isFinalRefusal(error: unknown, attempt: Attempt): Promise<boolean> {
  if (!(error instanceof CallFailed) || error.kind !== 'refused') return false;
  return attempt.refusedAt !== null || (attempt.isFirst && (await attempt.isStillOurs()));
}

export class Returns {
  readonly #payments: Payments;
  readonly #pace: BankPace;
  readonly #words: LastWords;
  readonly #notes: Pick<Notes, 'difference' | 'agreed'>;

  constructor(
    payments: Payments,
    pace: BankPace,
    words: LastWords,
    notes: Pick<Notes, 'difference' | 'agreed'>,
  ) {
    this.#payments = payments;
    this.#pace = pace;
    this.#words = words;
    this.#notes = notes;
  }

  async refund(charge: ChargeRecord, refundId: string, attempt: Attempt): Promise<Awakening> {
    const { endToEndId } = charge.snapshot.context;
    const refund = refundOf(charge.snapshot.context, refundId);
    if (endToEndId === null || refund === undefined)
      throw new Error(`charge ${charge.id} has no refund ${refundId}`);
    const payment = { endToEndId, id: bare(refundId) };
    const owner = { kind: 'refund', refundId } as const;
    const message = (data: PaymentReturn): BankMessage[] => {
      const told = returnMessage(payment, data, owner);
      return told === null ? [] : [told];
    };
    const idOf = (type: string): string => `dev:${endToEndId}:${payment.id}:${type}`;
    const refused = (reason: string): Awakening => {
      const type = 'REFUND_FAILED';
      return { messages: [{ id: idOf(type), type, data: { refundId, reason } }], wakeInMs: null };
    };
    const nothing: Awakening = { messages: [], wakeInMs: null };
    // A hint or a list may have brought the bank's word before.
    const isHeard = ['REFUND_DONE', 'REFUND_FAILED'].some((type) =>
      Object.hasOwn(charge.messages, idOf(type)),
    );
    if (isHeard) return nothing;
    try {
      const { amount, reason } = refund;
      const found =
        (await this.#found(payment, attempt)) ??
        (await this.#payments.giveBack(payment, amount, reason, attempt.mayBegin));
      this.#words.heard(refundId, found.status);
      await noteRefunded(this.#notes, charge, [{ endToEndId, returns: [found] }]);
      if (knownCharge(charge).isBooked(found)) return nothing;
      const messages = message(found);
      return { messages, wakeInMs: messages.length > 0 ? null : backoffMs(this.#pace, attempt.turn) };
    } catch (error) {
      if (await isFinalRefusal(error, attempt)) return refused((error as Error).message);
      throw outcomeOf(error);
    }
  }

  async giveBack(
    { endToEndId, amount, reason, number }: Parameters<Bank['giveBack']>[0],
    attempt: Attempt,
  ): Promise<ReturnTurn> {
    const payment = { endToEndId, id: givenBackId(endToEndId, number) };
    try {
      const made =
        (await this.#found(payment, attempt)) ??
        (await this.#rest(payment, amount, reason, attempt.mayBegin));
      if (made === null) return { wakeInMs: null };
      const { status, reason: why, amount: back } = made;
      this.#words.heard(endToEndId, status);
      if (status === DONE && back !== amount)
        return await this.#failed(
          endToEndId,
          `the bank gave back ${reaisText(back)} of ${reaisText(amount)}`,
        );
      if (status === DONE) return { wakeInMs: null };
      if (status === FAILED) return await this.#failed(endToEndId, why ?? 'the bank says NAO_REALIZADO');
      return { wakeInMs: backoffMs(this.#pace, attempt.turn) };
    } catch (error) {
      if (await isFinalRefusal(error, attempt)) return this.#failed(endToEndId, (error as Error).message);
      throw outcomeOf(error);
    }
  }

  /**
   * The end of a return that failed. Whoever hears of it late, since who heard of it before has died, or has ordered one
   * beside another, may do so when all of the payment is back by others: then nobody needs to know, and nobody would take
   * it off the list. While the bank can't be asked for that the order waits, and ops hear of one that waits for long.
   * @throws BankOutcomeUnknown
   */
  async #failed(endToEndId: string, failed: string): Promise<ReturnTurn> {
    const payment = await this.#payments.ask(endToEndId).catch((error: unknown) => {
      if (!(error instanceof CallFailed)) throw error;
      // It takes no such question, now or later.
      if (error.kind === 'refused') return null;
      throw new BankOutcomeUnknown(`what of the payment is back can't be asked: ${error.message}`);
    });
    if (payment === null || 'unread' in payment) return { wakeInMs: null, failed };
    const back = payment.returns.filter(({ status }) => status === DONE);
    const isBack = back.reduce((sum, { amount }) => sum + amount, 0) >= payment.amount;
    return isBack ? { wakeInMs: null } : { wakeInMs: null, failed };
  }

  /** What the bank knows of a return. That it takes no question is no word about the order. @throws CallFailed */
  async #asked(payment: { endToEndId: string; id: string }): Promise<PaymentReturn | null> {
    try {
      return await this.#payments.askReturn(payment);
    } catch (error) {
      if (!(error instanceof CallFailed) || error.kind !== 'refused') throw error;
      throw new CallFailed('unknown', `the bank takes no question about the return: ${error.message}`);
    }
  }

  /** The return as it stands; null where the bank doesn't know it. A refusal that counts is thrown as `refused`. */
  async #found(
    payment: { endToEndId: string; id: string },
    { isFirst, refusedAt }: Attempt,
  ): Promise<PaymentReturn | null> {
    const found = isFirst ? null : await this.#asked(payment);
    if (found === null && refusedAt !== null) throw new CallFailed('refused', 'the bank refuses the return');
    return found;
  }

  /**
   * Orders what is left of a payment, since some of it may be back by others: at the bank's app, for one. A return that
   * is there already is given instead, ours or one that has yet to end. Null: nothing is left.
   * @throws CallFailed
   */
  async #rest(
    { endToEndId, id }: { endToEndId: string; id: string },
    amount: number,
    reason: string,
    mayBegin: MayBegin,
  ): Promise<PaymentReturn | null> {
    const payment = await this.#wholePayment(endToEndId);
    const { left, underWay } = leftOf(payment);
    const there = payment.returns.find((each) => each.id === id) ?? underWay;
    if (there !== undefined) return there;
    if (left <= 0) return null;
    return this.#payments.giveBack({ endToEndId, id }, Math.min(amount, left), reason, mayBegin);
  }

  /** A payment with its returns. Without them nothing is ordered: it could go back twice. @throws CallFailed */
  async #wholePayment(endToEndId: string): Promise<Payment> {
    const unknown = (why: string): CallFailed =>
      new CallFailed('unknown', `what of the payment is left isn't known: ${why}`);
    const payment = await this.#payments.ask(endToEndId).catch((error: unknown) => {
      // That it takes no question is no word about the order.
      throw error instanceof CallFailed && error.kind === 'refused' ? unknown(error.message) : error;
    });
    if (payment === null) throw unknown('the bank knows no such payment');
    if ('unread' in payment) throw unknown(payment.unread);
    return payment;
  }
}
