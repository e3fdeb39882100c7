/**
 * Payments that can't be credited on their way back: ordered under an id of ours, and asked about until the bank says
 * how it ended. Ops hear of one that can't be done, and of one that doesn't end.
 */
import { textOfTime } from '../domain/time.ts';
import { itemFor } from '../engine/attention/item.ts';
import { returningId } from '../engine/attention/stuck.ts';
import { type Attempt, type Bank, BankNotBegun, BankRefused } from '../engine/bank.ts';
import { DONE, type Outcome } from '../engine/claims/hands.ts';
import type { Engine } from '../engine/engine.ts';
import type { BankOrder, TransactionRecord } from '../engine/journal.ts';
import { sha256 } from '../engine/store/content.ts';
import type { ClaimOf, DueOrder } from '../engine/store/due.ts';
import type { AttentionKey } from '../engine/store.ts';

type ReturnOrder = BankOrder & { kind: 'return' };
type ReturnDue = DueOrder<'return'>;
type ReturnClaim = ClaimOf<'bank'>;

export interface ReturningOptions {
  engine: Pick<Engine, 'note' | 'withdraw'>;
  bank: Bank;
  now(): number;
  /** A return that has not ended for so many ms is stuck. */
  stuckAfterMs: number;
  /** Whether a claim is ours still. */
  isOurs(claim: ReturnClaim): Promise<boolean>;
  /** The same order once more, later. */
  later(due: ReturnDue): Outcome;
  /** The same order once more, when a refusal of now has stood. */
  refused(due: ReturnDue): Outcome;
  /** The order's next turn, so long after this one. */
  next(due: ReturnDue, order: ReturnOrder, waitMs: number): Outcome;
  onTrouble(error: unknown, due: ReturnDue): void;
}

/** The item of a return that failed: the how-manieth of its payment. */
function failedId({ endToEndId, number = 1 }: ReturnOrder): string {
  return `returned_${sha256(endToEndId).slice(0, 24)}_${number}`;
}

/** The items of a payment's returns up to one that has come to its end. */
function itemsUpTo(order: ReturnOrder): AttentionKey[] {
  const orders = Array.from({ length: order.number ?? 1 }, (_, index) => ({ ...order, number: index + 1 }));
  return orders.flatMap((each) => [
    { kind: 'return', id: failedId(each) },
    { kind: 'stuck', id: returningId(each) },
  ]);
}

export class Returning {
  readonly #options: ReturningOptions;

  constructor(options: ReturningOptions) {
    this.#options = options;
  }

  /** A return's turn. */
  async turn(
    claim: ReturnClaim,
    given: ReturnDue,
    record: TransactionRecord,
    attempt: Attempt,
  ): Promise<Outcome> {
    const { bank, engine, now, later, refused, next, onTrouble } = this.#options;
    const due = { ...given, order: { ...given.order, since: given.order.since ?? now() } };
    const { refusedAt: _refusedAt, ...order } = due.order;
    try {
      const { wakeInMs, failed } = await bank.giveBack(order, attempt);
      if (wakeInMs !== null) {
        await this.#noteIfStuck(claim, due, record);
        return next(due, { ...order, turn: attempt.turn + 1 }, wakeInMs);
      }
      if (failed !== undefined) await this.#noteFailed(claim, order, record, failed);
      else if (!bank.canRepeatSubmit) await engine.withdraw(itemsUpTo(order));
      return DONE;
    } catch (error) {
      await this.#noteIfStuck(claim, due, record);
      if (error instanceof BankRefused) return refused(due);
      if (!(error instanceof BankNotBegun)) onTrouble(error, due);
      return later(due);
    }
  }

  async #noteFailed(
    claim: ReturnClaim,
    order: ReturnOrder,
    { id, account }: TransactionRecord,
    why: string,
  ): Promise<void> {
    const { endToEndId, amount } = order;
    const { engine, now, isOurs } = this.#options;
    // Whoever has taken it over tells of it; by then the next return may be done, and nobody would take this off the list.
    if (!(await isOurs(claim))) return;
    await engine.withdraw([{ kind: 'stuck', id: returningId(order) }]);
    const since = textOfTime(now());
    const about = { account, transaction: id };
    const given = { id: failedId(order), since, about, data: { endToEndId, why } };
    await engine.note([itemFor('RETURN_FAILED', given, amount)]);
  }

  async #noteIfStuck(
    claim: ReturnClaim,
    { order }: ReturnDue,
    { id, account }: TransactionRecord,
  ): Promise<void> {
    const { engine, bank, now, stuckAfterMs, isOurs } = this.#options;
    const { endToEndId, amount, since = now() } = order;
    if (bank.canRepeatSubmit || now() - since < stuckAfterMs) return;
    // Whoever has taken it over meanwhile may have seen its end, and nobody would take this off the list.
    if (!(await isOurs(claim))) return;
    const begun = textOfTime(since);
    const about = { account, transaction: id };
    const data = { endToEndId, bank: bank.says(endToEndId) };
    await engine.note([
      itemFor('RETURN_STUCK', { id: returningId(order), since: begun, about, data }, amount),
    ]);
  }
}
