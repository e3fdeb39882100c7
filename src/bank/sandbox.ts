/**
 * The sandbox bank: deterministic, steered by the amount's last two digits and by endpoints, driven by the
 * clock. It keeps nothing: what it does next follows from the transaction and the step that is due, so a crash
 * costs it nothing, and a step that is told again is the same message.
 */
import { hash } from 'node:crypto';
import { composeBrCode } from '../domain/br-code.ts';
import { composeEndToEndId } from '../domain/end-to-end-id.ts';
import { hexOf } from '../domain/events.ts';
import { refundOf } from '../domain/reversals/sums.ts';
import { textOfTime, timeOfText } from '../domain/time.ts';
import type { Charge } from '../domain/transactions.ts';
import {
  type Attempt,
  type Awakening,
  BANK_PACE,
  type Bank,
  type BankMessage,
  BankRefused,
  type ChargeToRegister,
  type PayoutContract,
  type PayoutToCheck,
  type ReturnTurn,
} from '../engine/bank.ts';
import { allowedTypes } from '../engine/chart.ts';
import type { ChargeRecord, TransactionRecord } from '../engine/journal.ts';
import { isRefusedAtOnce, refundOutcome, type ScenarioStep, scenarioOf } from './scenarios.ts';

/** A code that is nobody's: ISPB codes are given out from 00000000 on, this one isn't. */
const ISPB = '99999999';
const TXID_LENGTH = 25;
const SUFFIX_LENGTH = 11;

function suffixOf(seed: string): string {
  return hash('sha256', seed, 'hex').slice(0, SUFFIX_LENGTH);
}

/** A well-formed id of a return, the same for the same seed. */
function composeReturnId(at: number, seed: string): string {
  return composeEndToEndId(ISPB, at, suffixOf(seed)).replace(/^E/, 'D');
}

function createdAt(transaction: TransactionRecord): number {
  return timeOfText(transaction.snapshot.context.createdAt);
}

function amountOf(transaction: TransactionRecord): number {
  return transaction.snapshot.context.amount;
}

const NEEDS_PAYMENT = new Set(['PAY', 'HOLD']);
const NEEDS_END_TO_END_ID = new Set(['PAY', 'HOLD', 'START', 'SETTLE']);

export class SandboxBank implements Bank {
  readonly name = 'sandbox';
  /** It is bank and merchant's playground at once. */
  readonly everyDoorSpeaks = true;
  readonly canRepeatSubmit = true;
  readonly canRepeatUnknown = true;
  readonly pace = BANK_PACE;
  readonly looseIds = false;
  /** About the step that is due. */
  readonly canBeAsked = true;
  readonly #delayMs: number;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  async register(charge: ChargeToRegister): Promise<{ qrcode: string; wakeInMs: number | null }> {
    const qrcode = composeBrCode({
      key: charge.pixKey,
      amount: charge.amount,
      merchantName: charge.merchantName,
      merchantCity: charge.merchantCity,
      txid: hexOf(charge.id).slice(0, TXID_LENGTH),
    });
    const steps = scenarioOf('pix-in', charge.amount);
    return { qrcode, wakeInMs: steps.length > 0 ? this.#delayMs : null };
  }

  async check(payout: PayoutToCheck): Promise<void> {
    if (isRefusedAtOnce(payout.amount)) throw new BankRefused('the bank refuses the transfer');
  }

  /** What is made due again after a crash is the order itself. */
  async submit(payout: TransactionRecord): Promise<{ wakeInMs: number | null }> {
    return { wakeInMs: this.firstWakeInMs(payout) };
  }

  firstWakeInMs(payout: TransactionRecord): number | null {
    return scenarioOf('cashout', amountOf(payout)).length > 0 ? this.#delayMs : null;
  }

  async contract(): Promise<PayoutContract> {
    return {};
  }

  /** The sandbox's payments come from nowhere, and there they go back to. */
  async giveBack(): Promise<ReturnTurn> {
    return { wakeInMs: null };
  }

  canAskAbout(): boolean {
    return true;
  }

  says(): null {
    return null;
  }

  reachable(): boolean {
    return true;
  }

  /** A refund ends after one delay, by its own amount. */
  async refund({ snapshot }: ChargeRecord, refundId: string, { turn }: Attempt): Promise<Awakening> {
    const refund = refundOf(snapshot.context, refundId);
    const type = refund === undefined ? null : refundOutcome(refund.amount);
    if (refund === undefined || type === null) return { messages: [], wakeInMs: null };
    if (turn === 0) return { messages: [], wakeInMs: this.#delayMs };
    const time = timeOfText(refund.createdAt) + this.#delayMs;
    const data = this.#refundParts(snapshot.context, { id: '', type, data: { refundId } }, time);
    return { messages: [{ id: `sandbox:${refundId}`, type, data }], wakeInMs: null };
  }

  async cancel(): Promise<BankMessage[]> {
    return [];
  }

  /** The same refund has the same return's id, whoever tells of it: the one by which it has ended, where that was told. */
  #refundParts(charge: Charge, { type, data }: BankMessage, at: number): Record<string, unknown> {
    const id = String(data.refundId).toLowerCase();
    const refund = refundOf(charge, id);
    if (refund === undefined) return data;
    const returnId = refund.returnId ?? composeReturnId(timeOfText(refund.createdAt), `refund:${id}`);
    const parts = { returnId, ...data };
    return type === 'REFUND_DONE' ? { completedAt: textOfTime(at), ...parts } : parts;
  }

  /** The step that is due and wasn't told yet: after a pause it is heard before a charge expires. */
  async query(transaction: TransactionRecord, at: number): Promise<BankMessage[] | null> {
    for (let step = 0; this.#timeOf(transaction, step) <= at; step++) {
      const scenario = this.#scenarioOf(transaction);
      if (step >= scenario.length) return null;
      const message = this.#message(transaction, step);
      if (message !== null && transaction.messages[message.id] === undefined) return [message];
    }
    return null;
  }

  async wake(transaction: TransactionRecord, step: number): Promise<Awakening> {
    const steps = this.#scenarioOf(transaction);
    const due = steps[step];
    if (due === undefined) return { messages: [], wakeInMs: null };
    const wakeInMs = step + 1 < steps.length ? this.#delayMs : null;
    const message = this.#message(transaction, step);
    if (message === null) return { messages: [], wakeInMs };
    return { messages: due.twice === true ? [message, message] : [message], wakeInMs };
  }

  #scenarioOf(transaction: TransactionRecord): readonly ScenarioStep[] {
    return scenarioOf(transaction.type, amountOf(transaction));
  }

  #timeOf(transaction: TransactionRecord, step: number): number {
    return createdAt(transaction) + this.#delayMs * (step + 1);
  }

  /**
   * A step's message, the same whenever it is told; null where somebody steered the transaction by hand, so that it
   * is past the step and needn't be told.
   */
  #message(transaction: TransactionRecord, step: number): BankMessage | null {
    const due = this.#scenarioOf(transaction)[step];
    if (due === undefined) return null;
    const { machine, value } = transaction.snapshot;
    const wanted = due.insist === true || allowedTypes(machine, value).includes(due.type);
    const id = `sandbox:${transaction.id}:${step}`;
    if (!wanted && transaction.messages[id] === undefined) return null;
    const bare = { id, type: due.type, data: {} };
    return { ...bare, data: this.fillIn(transaction, bare, this.#timeOf(transaction, step)) };
  }

  fillIn(transaction: TransactionRecord, message: BankMessage, at: number): Record<string, unknown> {
    const { id, type, data } = message;
    if (transaction.type === 'pix-in' && (type === 'REFUND_DONE' || type === 'REFUND_FAILED'))
      return this.#refundParts(transaction.snapshot.context, message, at);
    if (transaction.type === 'cashout' && type === 'RETURN') {
      const { amount, returned = 0 } = transaction.snapshot.context;
      const returnId = composeReturnId(at, `${transaction.id}:${id}`);
      return { returnId, amount: returned < amount ? amount - returned : amount, ...data };
    }
    const filled: Record<string, unknown> = { ...data };
    const endsTransfer = type === 'FAIL' && transaction.type === 'cashout';
    // Members come in canonical order, as far as it is for us to say.
    if (NEEDS_PAYMENT.has(type)) filled.amount ??= amountOf(transaction);
    if (NEEDS_END_TO_END_ID.has(type) || endsTransfer) {
      const reference = transaction.type === 'cashout' ? transaction.snapshot.context.reference : null;
      filled.endToEndId ??= reference ?? composeEndToEndId(ISPB, at, suffixOf(`${transaction.id}:${id}`));
    }
    if (NEEDS_PAYMENT.has(type) || type === 'SETTLE') filled.paidAt ??= textOfTime(at);
    return filled;
  }
}
