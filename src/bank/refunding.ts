/** Refunds: ordered under their ids, and asked about until the bank says how they ended. */
import { isPending } from '../domain/reversals/steps.ts';
import { type Attempt, type Bank, BankRefused } from '../engine/bank.ts';
import { DONE, type Outcome } from '../engine/claims/hands.ts';
import type { BankOrder, ChargeRecord, TransactionRecord } from '../engine/journal.ts';
import type { DueOrder } from '../engine/store/due.ts';
import type { JournalReads } from '../engine/store.ts';
import type { Told } from './telling.ts';

type RefundDue = DueOrder<'refund'>;

export interface RefundingOptions {
  journal: Pick<JournalReads, 'transaction'>;
  bank: Bank;
  told: Told;
  /** The same order once more, later. */
  later(due: RefundDue): Outcome;
  /** The same order once more, when a refusal of now has stood. */
  refused(due: RefundDue): Outcome;
  /** The order's next turn, so long after this one. */
  next(due: RefundDue, order: BankOrder, waitMs: number): Outcome;
}

/** Whether a refund waits for the bank. */
export function isOpen(record: TransactionRecord | null, refundId: string): record is ChargeRecord {
  return record?.type === 'pix-in' && isPending(record.snapshot.context, refundId);
}

export class Refunding {
  readonly #options: RefundingOptions;

  constructor(options: RefundingOptions) {
    this.#options = options;
  }

  /** A refund's turn. */
  async turn(due: RefundDue, record: TransactionRecord, attempt: Attempt): Promise<Outcome> {
    const { bank, journal, told, later, refused, next } = this.#options;
    const { refusedAt: _refusedAt, ...order } = due.order;
    if (!isOpen(record, order.refundId)) return DONE;
    try {
      const { messages, wakeInMs } = await bank.refund(record, order.refundId, attempt);
      if ((await told(record, messages)) === 'park') return 'park';
      if (wakeInMs !== null) return next(due, { ...order, turn: attempt.turn + 1 }, wakeInMs);
      // An outcome that wasn't taken is no end.
      const after = messages.length === 0 ? null : await journal.transaction(record.id);
      return isOpen(after, order.refundId) ? later({ ...due, order }) : DONE;
    } catch (error) {
      if (!(error instanceof BankRefused)) throw error;
      return refused(due);
    }
  }
}
