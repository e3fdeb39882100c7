/**
 * The desk where bank orders are carried out: payouts, returns and the bank's own awakenings. An order is in
 * the journal before it comes here, and claimed; what happens is reported to the store, so that an order
 * whose desk died is found again.
 *
 * 1. A payout's first `submit` begins only after the journal says so, and it is never submitted again blind: an
 *    unknown outcome is queried, also by one that was frozen before its submit. A bank that can repeat a submit (the
 *    sandbox) needs neither.
 * 2. An order that fails backs off. None holds up another: they are carried out beside each other, up to a bound, and
 *    each is settled when it ends.
 */
import { type Bank, BankOutcomeUnknown, BankRefused } from '../engine/bank.ts';
import { Hands, type Outcome, type Room, Settler } from '../engine/claims.ts';
import type { Engine } from '../engine/engine.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { MessageAnswer, Payments } from '../engine/payments.ts';
import type { ClaimOf, Due } from '../engine/store/due.ts';
import type { DueIndex, JournalReads } from '../engine/store.ts';

/** A claimed order; the record is known where the order is fresh from its commit. */
export interface ClaimedOrder {
  claim: ClaimOf<'bank'>;
  record: TransactionRecord | null;
}

type BankDue = ClaimOf<'bank'>['due'];

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;
const MOST_IN_HAND = 4_096;
const CALLS_AT_ONCE = 256;
/** Who was silent for longer counts as dead. */
const SUBMIT_WITHIN_MS = 5_000;

export interface DeskOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  now(): number;
  /** A clock that never steps, ms: the process's own where none is given. */
  elapsed?(): number;
  /** Something went wrong that will be tried again. */
  onTrouble(error: unknown, due?: Due): void;
}

const DONE: Outcome = { next: null };

/** Exponential, bounded. */
export function backoffMs(tries: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** tries, LONGEST_BACKOFF_MS);
}

export class Desk {
  readonly #options: DeskOptions;
  readonly #hands: Hands<ClaimedOrder>;

  constructor(options: DeskOptions) {
    this.#options = options;
    const settler = new Settler(options.due, options.onTrouble);
    const work = ({ claim, record }: ClaimedOrder): Promise<Outcome> => this.#outcome(claim, record);
    this.#hands = new Hands({ settler, most: MOST_IN_HAND, atOnce: CALLS_AT_ONCE, work });
  }

  /** For how many more orders there is room. */
  get room(): Room {
    return this.#hands.room;
  }

  /** Resolves once all of these are settled; nobody needs to wait for that. Never rejects. */
  carryOut(orders: readonly ClaimedOrder[]): Promise<void> {
    return this.#hands.take(orders);
  }

  /** Resolves once nothing is in hand. */
  idle(): Promise<void> {
    return this.#hands.idle();
  }

  async #outcome(claim: ClaimOf<'bank'>, fresh: TransactionRecord | null): Promise<Outcome> {
    const { due } = claim;
    try {
      const record = fresh ?? (await this.#options.journal.transaction(due.transaction));
      if (record === null) return DONE;
      switch (due.order.kind) {
        case 'payout':
          return await this.#payout(claim, record);
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

  /**
   * The next step counts from this one's time, not from now: after a pause the steps stay in order. Where the clock was
   * set back meanwhile, it counts from now.
   */
  #wakeUp(due: BankDue, step: number, afterMs: number): Outcome {
    const at = Math.min(due.at, this.#options.now()) + afterMs;
    const order = { kind: 'wake', step, at: new Date(at).toISOString() } as const;
    return { next: { ...due, order, at, tries: 0 } };
  }

  async #payout(claim: ClaimOf<'bank'>, record: TransactionRecord): Promise<Outcome> {
    if (record.final) return DONE;
    const { due } = claim;
    const { bank } = this.#options;
    if (!bank.canRepeatSubmit && !(await this.#maySubmit(claim, record))) return this.#ask(due, record);
    try {
      const { wakeInMs } = await bank.submit(record);
      return wakeInMs === null ? DONE : this.#wakeUp(due, 0, wakeInMs);
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

  /**
   * Whether this is the first submit: only one caller is told so, and only while the cashout is pending. Who was frozen
   * since it asked is too late: others have taken it for dead, and a person may have settled the cashout.
   */
  async #maySubmit(claim: ClaimOf<'bank'>, record: TransactionRecord): Promise<boolean> {
    const { due, elapsed = () => performance.now() } = this.#options;
    const askedAt = elapsed();
    const answer = await this.#options.engine.send(record.account, {
      kind: 'submit',
      transaction: record.id,
    });
    if (answer.kind !== 'applied') return false;
    const [isOurs] = await due.holds([claim]);
    return isOurs === true && elapsed() - askedAt < SUBMIT_WITHIN_MS;
  }

  /** The outcome of an earlier submit is unknown: the bank is asked, and told nothing. */
  async #ask(due: BankDue, record: TransactionRecord): Promise<Outcome> {
    const { bank, journal } = this.#options;
    const current = (await journal.transaction(record.id)) ?? record;
    if (current.final || !current.submitted) return DONE;
    const messages = await bank.query(current, this.#options.now());
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
    return wakeInMs === null ? DONE : this.#wakeUp(due, step + 1, wakeInMs);
  }

  async #tell(
    record: TransactionRecord,
    message: { id: string; type: string; data: Record<string, unknown> },
  ): Promise<Outcome> {
    const answer: MessageAnswer = await this.#options.payments.tell(record, message, 'bank');
    return answer.kind === 'quarantined' ? 'park' : DONE;
  }
}
