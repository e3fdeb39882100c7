/** Fires timers that are due, beside each other; a bank that can be asked is heard before a charge expires. */
import { type Bank, backoffMs } from '../engine/bank.ts';
import { Hands, type Outcome, type Room, Settler } from '../engine/claims.ts';
import type { Engine } from '../engine/engine.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { Payments } from '../engine/payments.ts';
import { type ClaimOf, type Due, postponed } from '../engine/store/due.ts';
import type { DueIndex, JournalReads } from '../engine/store.ts';

export interface TimersOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  now(): number;
  /** Something went wrong that will be tried again. */
  onTrouble(error: unknown, due?: Due): void;
}

const MOST_IN_HAND = 4_096;
const AT_ONCE = 512;

interface ClaimedTimer {
  claim: ClaimOf<'timer'>;
}

export class Timers {
  readonly #options: TimersOptions;
  readonly #hands: Hands<ClaimedTimer>;

  constructor(options: TimersOptions) {
    this.#options = options;
    const settler = new Settler(options.due, options.onTrouble);
    const work = ({ claim }: ClaimedTimer): Promise<Outcome> => this.#fire(claim.due);
    this.#hands = new Hands({ settler, most: MOST_IN_HAND, atOnce: AT_ONCE, work });
  }

  /** For how many more timers there is room. */
  get room(): Room {
    return this.#hands.room;
  }

  /** Resolves once all of these are settled; nobody needs to wait for that. Never rejects. */
  fireAll(claims: readonly ClaimOf<'timer'>[]): Promise<void> {
    return this.#hands.take(claims.map((claim) => ({ claim })));
  }

  /** Resolves once nothing is in hand. */
  idle(): Promise<void> {
    return this.#hands.idle();
  }

  async #fire(due: ClaimOf<'timer'>['due']): Promise<Outcome> {
    const { engine, bank, now, onTrouble } = this.#options;
    try {
      const record = await this.#options.journal.transaction(due.transaction);
      const graceMs = record === null ? 0 : this.#graceMs(record, due);
      if (graceMs > 0) return { next: { ...due, at: now() + graceMs } };
      if (record !== null) await this.#askBank(record);
      const { transaction, name, at, ahead = 0 } = due;
      const command = { kind: 'timer', transaction, name, at, ahead } as const;
      const answer = await engine.send(due.account, command);
      if (answer.kind === 'notYet') return { next: { ...due, at: answer.at } };
      return answer.kind === 'quarantined' ? 'park' : { next: null };
    } catch (error) {
      onTrouble(error, due);
      return { next: postponed(due, backoffMs(bank.pace, due.tries), now()) };
    }
  }

  /** A bank that can be asked may know of a payment that has not reached us. What waits for no timer costs no question. */
  async #askBank(record: TransactionRecord): Promise<void> {
    const { bank, payments, now } = this.#options;
    if (!bank.canBeAsked || record.final || record.timers.length === 0) return;
    for (const message of (await bank.query(record, now())) ?? [])
      await payments.tell(record, message, 'bank');
  }

  /** How long a charge that has expired waits for payments that are on their way, ms; by the clock, whatever its own was. */
  #graceMs(record: TransactionRecord, { ahead = 0 }: Pick<Due, 'ahead'>): number {
    const { expiryGraceMs } = this.#options.bank.pace;
    if (expiryGraceMs === 0 || record.type !== 'pix-in' || record.final) return 0;
    const { expiresAt } = record.snapshot.context;
    return Math.max(0, Date.parse(expiresAt) - ahead + expiryGraceMs - this.#options.now());
  }
}
