/**
 * The bank's port: out (`register`, `check`, `submit`, `giveBack`), `query`, and messages in, which reach the
 * engine as commands. Adapters are in `bank/`.
 */
import { within } from '../waiting.ts';
import type { TransactionRecord } from './journal.ts';

/** How long a call to a bank may take, ms. Whoever calls goes on then, and the bank's answer is nobody's. */
export const BANK_CALL_MS = 10_000;

/** The bank can't be reached, or says no: nothing is created, nothing is debited (502). */
export class BankRefused extends Error {}

/** Nobody knows whether the bank took the order: it is queried, never sent again blind. */
export class BankOutcomeUnknown extends Error {}

/** A message as the bank sends it. */
export interface BankMessage {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface ChargeToRegister {
  id: string;
  /** Cents. */
  amount: number;
  pixKey: string;
  merchantName: string;
  merchantCity: string;
}

export interface PayoutToCheck {
  /** Cents. */
  amount: number;
  pixKeyType: string;
  pixKey: string;
}

/** The bank's answer when it is woken: its messages, and when it wants to be woken again. */
export interface Awakening {
  messages: BankMessage[];
  /** Null: never again. */
  wakeInMs: number | null;
}

export interface Bank {
  readonly name: string;
  /** Whether merchants and ops may say what the bank would: a message of theirs counts as the bank's own. */
  readonly everyDoorSpeaks: boolean;
  /** Whether an order that was submitted before may be submitted again without asking. */
  readonly canRepeatSubmit: boolean;
  /** Whether `query` finds anything out. */
  readonly canBeAsked: boolean;
  /**
   * The code of a charge, before it is created. `wakeInMs`: the bank wants to be woken about it.
   * @throws BankRefused
   */
  register(charge: ChargeToRegister): Promise<{ qrcode: string; wakeInMs: number | null }>;
  /**
   * Whether a payout would be taken, before it is created.
   * @throws BankRefused
   */
  check(payout: PayoutToCheck): Promise<void>;
  /**
   * Orders a payout after its commit; the transaction's id is the idempotency key.
   * @throws BankRefused: the payout is rejected. @throws BankOutcomeUnknown: query it later.
   */
  submit(payout: TransactionRecord): Promise<{ wakeInMs: number | null }>;
  /** Gives a payment back, once for an end-to-end id; throws where the bank can't be reached: tried again. */
  giveBack(payment: { endToEndId: string; amount: number; reason: string }): Promise<void>;
  /** The bank's knowledge of a transaction, as messages; null where it has none, or can't be asked. `at` is now (ms). */
  query(transaction: TransactionRecord, at: number): Promise<BankMessage[] | null>;
  /** The bank's turn: `step` counts from 0, `at` is when it was due (ms). */
  wake(transaction: TransactionRecord, step: number, at: number): Promise<Awakening>;
  /** Fills in what a message to a transaction lacks; `at` is now (ms). Null: what is missing is missing. */
  readonly fillIn:
    | ((transaction: TransactionRecord, message: BankMessage, at: number) => Record<string, unknown>)
    | null;
}

/** A bank whose calls all end in time: after the deadline a call counts as one that the bank didn't answer. */
export class PunctualBank implements Bank {
  readonly name: string;
  readonly everyDoorSpeaks: boolean;
  readonly canRepeatSubmit: boolean;
  readonly canBeAsked: boolean;
  readonly fillIn: Bank['fillIn'];
  readonly #bank: Bank;
  readonly #deadlineMs: number;

  constructor(bank: Bank, deadlineMs = BANK_CALL_MS) {
    const { name, everyDoorSpeaks, canRepeatSubmit, canBeAsked } = bank;
    this.name = name;
    this.everyDoorSpeaks = everyDoorSpeaks;
    this.canRepeatSubmit = canRepeatSubmit;
    this.canBeAsked = canBeAsked;
    this.fillIn = bank.fillIn?.bind(bank) ?? null;
    this.#bank = bank;
    this.#deadlineMs = deadlineMs;
  }

  #inTime<Answer>(answer: Promise<Answer>, Late: new (message: string) => Error): Promise<Answer> {
    const late = (): Error => new Late(`the bank has not answered within ${this.#deadlineMs} ms`);
    return within(this.#deadlineMs, answer, late);
  }

  register(charge: ChargeToRegister): ReturnType<Bank['register']> {
    return this.#inTime(this.#bank.register(charge), BankRefused);
  }

  check(payout: PayoutToCheck): Promise<void> {
    return this.#inTime(this.#bank.check(payout), BankRefused);
  }

  submit(payout: TransactionRecord): ReturnType<Bank['submit']> {
    return this.#inTime(this.#bank.submit(payout), BankOutcomeUnknown);
  }

  giveBack(payment: Parameters<Bank['giveBack']>[0]): Promise<void> {
    return this.#inTime(this.#bank.giveBack(payment), BankOutcomeUnknown);
  }

  query(transaction: TransactionRecord, at: number): Promise<BankMessage[] | null> {
    return this.#inTime(this.#bank.query(transaction, at), Error);
  }

  wake(transaction: TransactionRecord, step: number, at: number): Promise<Awakening> {
    return this.#inTime(this.#bank.wake(transaction, step, at), Error);
  }
}
