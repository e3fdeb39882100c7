/** A charge as the bank tells of it when it is asked, with the payment of it that somebody has hinted at. */
import type { ChargeRecord } from '../../engine/journal.ts';
import type { BankCharge } from './charges.ts';
import type { BankConnection } from './connection.ts';
import { knownCharge, WAITING } from './known-charge.ts';
import { withPayment } from './messages.ts';
import type { Payment, UnreadPayment } from './payments.ts';
import { CallFailed } from './wire/outcome.ts';

type Connection = Pick<BankConnection, 'charges' | 'payments' | 'questions'>;

/**
 * A question that waits for its turn, so that no flood of them takes what charges are registered and cancelled with: one
 * about a payment that was hinted at waits for none about charges that expire. As `askedCharge`.
 * @throws CallFailed
 */
export async function askedInTurn(
  connection: Connection,
  record: ChargeRecord,
  payment: string | null,
): Promise<BankCharge | null> {
  await connection.questions.acquire(record.account, payment !== null);
  try {
    return await askedCharge(connection, record, payment);
  } finally {
    connection.questions.release();
  }
}

/**
 * A charge needn't show its payments, or what became of them: one that was hinted at (its end-to-end id) is asked for by
 * itself. Null: the bank knows neither.
 * @throws CallFailed
 */
async function askedCharge(
  { charges, payments }: Connection,
  record: ChargeRecord,
  payment: string | null,
): Promise<BankCharge | null> {
  const charge = await charges.ask(record.id);
  if (payment === null) return charge;
  const isIt = ({ endToEndId }: Payment | UnreadPayment): boolean => endToEndId === payment;
  if (charge?.unread.some(isIt) === true) return charge;
  const isEnough = record.snapshot.value === WAITING && charge?.payments.some(isIt) === true;
  const alone = await orNothing(payments, payment, isEnough);
  return alone === null ? charge : withPayment(charge, alone, knownCharge(record));
}

/**
 * The charge may show a payment and not what became of it since; but where it waits for the payment that it shows,
 * nothing more is needed. And whoever hints at what the bank tells nobody of causes no question for ever.
 */
async function orNothing(
  payments: Connection['payments'],
  payment: string,
  isEnough: boolean,
): Promise<Payment | UnreadPayment | null> {
  try {
    return await payments.ask(payment);
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    if (isEnough || error.kind === 'refused' || error.status === 403) return null;
    throw error;
  }
}
