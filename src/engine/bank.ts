/**
 * The bank's port: out (`register`, `check`, `submit`, `giveBack`), `query`, and messages in, which reach the
 * engine as commands. Adapters are in `bank/`.
 */
import type { TransactionRecord } from './journal.ts';

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
  /** The bank's knowledge of a transaction, as messages; null where it has none, or can't be asked. */
  query(transaction: TransactionRecord): Promise<BankMessage[] | null>;
  /** The bank's turn: `step` counts from 0, `at` is when it was due (ms). */
  wake(transaction: TransactionRecord, step: number, at: number): Promise<Awakening>;
  /** Fills in what a message to a transaction lacks; `at` is now (ms). Null: what is missing is missing. */
  readonly fillIn:
    | ((transaction: TransactionRecord, message: BankMessage, at: number) => Record<string, unknown>)
    | null;
}
