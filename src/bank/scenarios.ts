/** The sandbox's scenarios by the last two digits of the amount (design, "Sandbox scenarios"). */
import type { TransactionType } from '../domain/transactions.ts';

/** One step of a scenario: the message that the sandbox sends. */
export interface ScenarioStep {
  type: string;
  /** Told twice, under one message id. */
  twice?: true;
  /** Told even where the transaction is past it: the scenario is about that. */
  insist?: true;
}

const step = (type: string): ScenarioStep => ({ type });

const PIX_IN: Record<string, readonly ScenarioStep[]> = {
  '01': [step('PAY')],
  '02': [step('REFUSE')],
  '03': [step('FAIL')],
  '04': [step('CANCEL')],
  '05': [step('HOLD'), step('APPROVE')],
  '06': [step('HOLD'), step('REFUSE')],
  '07': [step('PAY'), step('REFUND')],
  '08': [step('PAY'), step('PROTEST'), step('CHARGEBACK')],
  '09': [step('PAY'), step('PROTEST'), step('DISMISS')],
  '10': [step('PAY'), { type: 'PAY', insist: true }],
};

const COMPLETES: readonly ScenarioStep[] = [step('START'), step('SETTLE')];

const CASHOUT: Record<string, readonly ScenarioStep[]> = {
  '01': COMPLETES,
  '02': [step('REJECT')],
  '03': [step('START'), step('FAIL')],
  '04': [step('CANCEL')],
  '05': [
    { type: 'START', twice: true },
    { type: 'SETTLE', twice: true },
  ],
  '06': [step('START')],
  '07': [],
  '08': [step('SETTLE'), { type: 'START', insist: true }],
  '09': COMPLETES,
  // Refused before it is created.
  '10': [],
};

function cents(amount: number): string {
  return String(amount % 100).padStart(2, '0');
}

/** Any other amount: a charge waits to be paid or expires, a cashout completes. */
export function scenarioOf(type: TransactionType, amount: number): readonly ScenarioStep[] {
  if (type === 'pix-in') return PIX_IN[cents(amount)] ?? [];
  return CASHOUT[cents(amount)] ?? COMPLETES;
}

/** Whether the sandbox refuses a cashout at once. */
export function isRefusedAtOnce(amount: number): boolean {
  return cents(amount) === '10';
}

/** How a refund of so many cents ends; null: the bank stays silent. */
export function refundOutcome(amount: number): 'REFUND_DONE' | 'REFUND_FAILED' | null {
  if (cents(amount) === '06') return null;
  return cents(amount) === '03' ? 'REFUND_FAILED' : 'REFUND_DONE';
}
