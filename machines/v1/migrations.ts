/**
 * From version 1 to version 2. The states are the same; what version 1 took back of a payment it took back whole, and
 * version 2 counts it.
 */
import type { Charge, Reversals } from '../../src/domain/transactions.ts';

interface Stored {
  machine: string;
  version: string;
  value: string;
  context: object;
}

function takenBack(value: string, { amount, fee }: Charge): Reversals | null {
  const whole = { chargedback: 0, count: 0, ordered: 0, pending: 0, refunded: 0, returned: fee.totalFee };
  if (value === 'refunded') return { ...whole, refunded: amount };
  return value === 'chargedback' ? { ...whole, chargedback: amount } : null;
}

export function pixInFrom1(snapshot: Stored): Stored {
  const reversals = takenBack(snapshot.value, snapshot.context as Charge);
  const context = reversals === null ? snapshot.context : { ...snapshot.context, reversals };
  return { ...snapshot, context, version: '2' };
}

export function cashoutFrom1(snapshot: Stored): Stored {
  return { ...snapshot, version: '2' };
}
