/**
 * The desk where bank orders are carried out: payouts, returns and the bank's own awakenings. An order is in
 * the journal before it comes here, and claimed; what happens is reported to the store, so that an order
 * whose desk died is found again.
 *
 * 1. A payout's first `submit` begins only after the journal says so, and it is never submitted again blind: an
 *    unknown outcome is queried. A bank that can repeat a submit (the sandbox) needs neither.
 * 2. An order that fails backs off; it never holds up another.
 */
import { type Bank, BankOutcomeUnknown, BankRefused } from '../engine/bank.ts';
import type { Engine } from '../engine/engine.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { MessageAnswer, Payments } from '../engine/payments.ts';
import { settleSurely } from '../engine/settle.ts';
import type { Claim, ClaimOf, Due, DueIndex, JournalReads, Settlement } from '../engine/store.ts';

/** A claimed order; the record is known where the order is fresh from its commit. */
export interface ClaimedOrder {
  claim: ClaimOf<'bank'>;
  record: TransactionRecord | null;
}

type BankDue = ClaimOf<'bank'>['due'];

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;

export interface DeskOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  now(): number;
  /** Something went wrong that will be tried again. */
  onTrouble(error: unknown, due: Due): void;
}

/** The outcome of a claimed order: another order, or nothing more; `park` where the transaction is quarantined. */
type Outcome = { next: Due | null } | 'park';

const DONE: Outcome = { next: null };

/** Exponential, bounded. */
export function backoffMs(tries: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** tries, LONGEST_BACKOFF_MS);
}

export class Desk {
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  async carryOut(orders: readonly ClaimedOrder[]): Promise<void> {
    const settlements: Settlement[] = [];
    const parked: Claim[] = [];
    await Promise.all(
      orders.map(async ({ claim, record }) => {
        const outcome = await this.#outcome(claim.due, record);
        if (outcome === 'park') parked.push(claim);
        else settlements.push({ claim, next: outcome.next });
      }),
    );
    await settleSurely(this.#options.due, settlements, parked);
  }

  async #outcome(due: BankDue, fresh: TransactionRecord | null): Promise<Outcome> {
    try {
      const record = fresh ?? (await this.#options.journal.transaction(due.transaction));
      if (record === null) return DONE;
      switch (due.order.kind) {
        case 'payout':
          return await this.#payout(due, record);
        case 'return':
          await this.#options.bank.giveBack(due.order);
          return DONE;
        case 'wake':
          return await this.#wake(due, record, due.order.step);
      }
    } catch (error) {
      this.#options.onTrouble(error, due);
      return { next: this.#later(due) };
    }
  }

  #later(due: BankDue): BankDue {
    return { ...due, at: this.#options.now() + backoffMs(due.tries), tries: due.tries + 1 };
  }

  #wakeUp(due: BankDue, step: number, at: number): Outcome {
    const order = { kind: 'wake', step, at: new Date(at).toISOString() } as const;
    return { next: { ...due, order, at, tries: 0 } };
  }

  async #payout(due: BankDue, record: TransactionRecord): Promise<Outcome> {
    if (record.final) return DONE;
    const { bank } = this.#options;
    if (!bank.canRepeatSubmit && !(await this.#begins(record))) return this.#ask(due, record);
    try {
      const { wakeInMs } = await bank.submit(record);
      return wakeInMs === null ? DONE : this.#wakeUp(due, 0, due.at + wakeInMs);
    } catch (error) {
      if (error instanceof BankRefused) {
        return this.#tell(record, {
          id: `submit:${record.id}`,
          type: 'REJECT',
          data: { reason: error.message },
        });
      }
      if (!(error instanceof BankOutcomeUnknown)) throw error;
      this.#options.onTrouble(error, due);
      return { next: this.#later(due) };
    }
  }

  /** Whether this is the first submit: only one caller is told so, and only while the cashout is pending. */
  async #begins(record: TransactionRecord): Promise<boolean> {
    const answer = await this.#options.engine.send(record.account, {
      kind: 'submit',
      transaction: record.id,
    });
    return answer.kind === 'applied';
  }

  /** The outcome of an earlier submit is unknown: the bank is asked, and told nothing. */
  async #ask(due: BankDue, record: TransactionRecord): Promise<Outcome> {
    const { bank, journal } = this.#options;
    const current = (await journal.transaction(record.id)) ?? record;
    if (current.final || !current.submitted) return DONE;
    const messages = await bank.query(current);
    for (const message of messages ?? []) {
      const outcome = await this.#tell(current, message);
      if (outcome === 'park') return outcome;
    }
    const after = await journal.transaction(record.id);
    return after === null || after.final || after.snapshot.value === 'processing'
      ? DONE
      : { next: this.#later(due) };
  }

  async #wake(due: BankDue, record: TransactionRecord, step: number): Promise<Outcome> {
    const { messages, wakeInMs } = await this.#options.bank.wake(record, step, due.at);
    for (const message of messages) {
      const outcome = await this.#tell(record, message);
      if (outcome === 'park') return outcome;
    }
    // The next step counts from this one's time, not from now: after a pause the steps stay in order.
    return wakeInMs === null ? DONE : this.#wakeUp(due, step + 1, due.at + wakeInMs);
  }

  async #tell(
    record: TransactionRecord,
    message: { id: string; type: string; data: Record<string, unknown> },
  ): Promise<Outcome> {
    const answer: MessageAnswer = await this.#options.payments.tell(record, message, 'bank');
    return answer.kind === 'quarantined' ? 'park' : DONE;
  }
}
