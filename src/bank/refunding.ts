/**
 * Refunds: ordered under their ids, and asked about until the bank says how they ended, also where ops have ended one
 * meanwhile: its order may have been on its way, and what the bank does is told.
 */
import { isPending } from '../domain/reversals/steps.ts';
import { type Attempt, type Bank, BankNotBegun, BankRefused } from '../engine/bank.ts';
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

/** Whether the bank may have had the order in a turn before. */
function mayBeThere({ tries, order: { turn = 0, refusedAt } }: RefundDue): boolean {
  return tries > 0 || turn > 0 || refusedAt !== undefined;
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
    if (!isOpen(record, order.refundId)) return this.#ended(due, record, attempt);
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

  /** The bank is asked about one that has ended, and never given it: by its own word, or once it surely has none. */
  async #ended(due: RefundDue, record: TransactionRecord, attempt: Attempt): Promise<Outcome> {
    const { bank, told, refused, next } = this.#options;
    const { refusedAt, ...order } = due.order;
    if (record.type !== 'pix-in' || bank.canRepeatSubmit || !mayBeThere(due)) return DONE;
    const asking = { ...attempt, isFirst: false, refusedAt: null, mayBegin: async () => false };
    try {
      const { messages, wakeInMs } = await bank.refund(record, order.refundId, asking);
      if ((await told(record, messages)) === 'park') return 'park';
      return wakeInMs === null ? DONE : next(due, { ...order, turn: attempt.turn + 1 }, wakeInMs);
    } catch (error) {
      if (!(error instanceof BankNotBegun)) throw error;
      // It may show an order that was on its way only a moment later.
      return refusedAt === undefined ? refused(due) : DONE;
    }
  }
}
