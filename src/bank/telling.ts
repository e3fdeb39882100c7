/** Books what the bank says of a transaction. */
import type { Ending } from '../engine/actors/endings.ts';
import type { BankMessage } from '../engine/bank.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { Payments } from '../engine/payments.ts';

/**
 * Gives the messages to their transaction in turn; `park`: ops have to look at the transaction first. `ending`: what may
 * end with the last of them.
 */
export type Told = (
  record: TransactionRecord,
  messages: readonly BankMessage[],
  ending?: Ending,
) => Promise<'told' | 'park'>;

export function telling(payments: Pick<Payments, 'tell'>): Told {
  return async (record, messages, ending) => {
    for (const [index, message] of messages.entries()) {
      // The same message may be told twice.
      const isLast = index === messages.length - 1;
      const options = ending !== undefined && isLast ? { ending } : {};
      const { kind } = await payments.tell(record, message, 'bank', options);
      if (kind === 'quarantined') return 'park';
    }
    return 'told';
  };
}
