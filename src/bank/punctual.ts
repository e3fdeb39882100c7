/** A bank whose calls all end in time, around any other: whoever waits for it goes on. */
import {
  type Attempt,
  type Awakening,
  type Bank,
  type BankMessage,
  BankOutcomeUnknown,
  type BankPace,
  BankRefused,
  type ChargeToRegister,
  type MayBegin,
  type PayoutContract,
  type PayoutToCheck,
  type ReturnTurn,
  type SubmittedPayout,
} from '../engine/bank.ts';
import type { ChargeRecord, TransactionRecord } from '../engine/journal.ts';
import { within } from '../waiting.ts';

/** After the deadline a call counts as one that the bank didn't answer. */
export class PunctualBank implements Bank {
  readonly name: string;
  readonly everyDoorSpeaks: boolean;
  readonly canRepeatSubmit: boolean;
  readonly canRepeatUnknown: boolean;
  readonly canBeAsked: boolean;
  readonly pace: BankPace;
  readonly looseIds: boolean;
  readonly firstWakeInMs: Bank['firstWakeInMs'];
  readonly fillIn: Bank['fillIn'];
  readonly #bank: Bank;
  readonly #deadlineMs: number;

  constructor(bank: Bank, deadlineMs = bank.pace.callMs) {
    const { name, everyDoorSpeaks, canRepeatSubmit, canRepeatUnknown, canBeAsked, pace } = bank;
    this.canRepeatUnknown = canRepeatUnknown;
    this.pace = pace;
    this.looseIds = bank.looseIds;
    this.name = name;
    this.everyDoorSpeaks = everyDoorSpeaks;
    this.canRepeatSubmit = canRepeatSubmit;
    this.canBeAsked = canBeAsked;
    this.firstWakeInMs = bank.firstWakeInMs?.bind(bank) ?? null;
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

  submit(payout: TransactionRecord, contract: PayoutContract, mayBegin: MayBegin): Promise<SubmittedPayout> {
    return this.#inTime(this.#bank.submit(payout, contract, mayBegin), BankOutcomeUnknown);
  }

  contract(payout: TransactionRecord): Promise<PayoutContract> {
    return this.#bank.contract(payout);
  }

  giveBack(payment: Parameters<Bank['giveBack']>[0], attempt: Attempt): Promise<ReturnTurn> {
    return this.#inTime(this.#bank.giveBack(payment, attempt), BankOutcomeUnknown);
  }

  canAskAbout(payout: TransactionRecord, bankId?: string): boolean {
    return this.#bank.canAskAbout(payout, bankId);
  }

  says(id: string): string | null {
    return this.#bank.says(id);
  }

  reachable(): boolean {
    return this.#bank.reachable();
  }

  refund(charge: ChargeRecord, refundId: string, attempt: Attempt): Promise<Awakening> {
    return this.#inTime(this.#bank.refund(charge, refundId, attempt), BankOutcomeUnknown);
  }

  cancel(charge: Pick<ChargeRecord, 'id'>): Promise<BankMessage[]> {
    return this.#inTime(this.#bank.cancel(charge), BankRefused);
  }

  query(transaction: TransactionRecord, at: number, bankId?: string): Promise<BankMessage[] | null> {
    const answer = this.#bank.query(transaction, at, bankId);
    return this.#bank.asksInTurn === true ? answer : this.#inTime(answer, Error);
  }

  wake(transaction: TransactionRecord, step: number, at: number): Promise<Awakening> {
    return this.#inTime(this.#bank.wake(transaction, step, at), Error);
  }
}
