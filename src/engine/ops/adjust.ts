/** A correction or deposit by ops, or an opening balance. */
import type { By } from '../../domain/messages.ts';
import type { Answer } from '../commands.ts';
import type { Engine } from '../engine.ts';
import { digestOf } from '../store/content.ts';

export interface Adjustment {
  /** Applied once for an id. */
  id: string;
  /** Cents, negative too. */
  amount: number;
  reason: string;
  allowNegative: boolean;
  /** Absent where nobody of ops asked for it: the demo account's opening balance. */
  by?: By;
}

/** Posts between `bank` and `available`; the same id with another amount is turned down. */
export function adjust(engine: Engine, account: string, adjustment: Adjustment): Promise<Answer> {
  const digest = digestOf('ADJUST', { amount: adjustment.amount });
  return engine.send(account, { kind: 'adjust', ...adjustment, digest });
}
