/** Books what the bank says of a transaction. */
import type { BankMessage } from '../engine/bank.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { Payments } from '../engine/payments.ts';

/** Gives the messages to their transaction in turn; `park`: ops have to look at the transaction first. */
export type Told = (record: TransactionRecord, messages: readonly BankMessage[]) => Promise<'told' | 'park'>;

export function telling(payments: Pick<Payments, 'tell'>): Told {
  return async (record, messages) => {
    for (const message of messages) {
      const { kind } = await payments.tell(record, message, 'bank');
      if (kind === 'quarantined') return 'park';
    }
    return 'told';
  };
}
