/** `bank return`: one more return of a payment that the bank couldn't give back before. */
import type { TransactionRecord } from '../../engine/journal.ts';
import type { BankConnection } from './connection.ts';
import { givenBackId, leftOf } from './returns.ts';

/** The next return of a payment, or why there is none. */
export type NextReturn = { number: number; returnId: string; amount: number } | { refusal: string };

/** What the bank has of our returns decides. @throws CallFailed */
export async function nextReturn(
  { payments }: Pick<BankConnection, 'payments'>,
  record: TransactionRecord,
  endToEndId: string,
): Promise<NextReturn> {
  const payment = await payments.ask(endToEndId);
  if (payment === null) return { refusal: `the bank knows no payment ${endToEndId}` };
  if ('unread' in payment) return { refusal: `the payment can't be read: ${payment.unread}` };
  const refusal = (id: string, status: string): NextReturn => ({
    refusal: `return ${id} of pix-in ${record.id} is ${status}`,
  });
  const { left: amount, underWay } = leftOf(payment);
  if (underWay !== undefined) return refusal(underWay.id, underWay.status);
  const statuses = new Map(payment.returns.map(({ id, status }) => [id, status]));
  for (let number = 1; ; number += 1) {
    const returnId = givenBackId(endToEndId, number);
    const status = statuses.get(returnId);
    // One that has ended with less than was ordered leaves the rest to the next.
    if (status === 'NAO_REALIZADO' || (status === 'DEVOLVIDO' && amount > 0)) continue;
    if (status !== undefined) return refusal(returnId, status);
    if (amount <= 0) return { refusal: 'nothing of the payment is left to be given back' };
    return { number, returnId, amount };
  }
}
