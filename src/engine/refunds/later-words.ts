/**
 * What the bank may say of a transaction that has been paid or completed (additions, "What the bank may say later"),
 * as far as the statechart can't know it: repeats under other message ids, and why a word isn't taken.
 */
import { MESSAGE_TYPES } from '../../domain/messages.ts';
import { refundOf, reversalsOf, standingOf } from '../../domain/reversals/sums.ts';
import { allowedTypes } from '../chart.ts';
import type { SoundMessage } from '../commands.ts';
import type { ChargeRecord, RefusalCode, TransactionRecord } from '../journal.ts';
import { returnKey } from '../lookups.ts';
import type { Workspace } from '../workspace.ts';

/** Why a message isn't taken. */
export interface Refusal {
  code: RefusalCode;
  reason: string;
  /** The payment goes back to the payer. */
  giveBack?: boolean;
  /** Ops know of it already: the entry is all. */
  known?: boolean;
}

/** The verdict on a message before the statechart is asked; null: it may go on. */
export type Verdict = null | 'repeated' | Refusal;

function isReturnable({ type, snapshot }: TransactionRecord): boolean {
  return type === 'cashout' && (snapshot.context.returned ?? 0) < snapshot.context.amount;
}

function hasPending({ type, snapshot }: TransactionRecord): boolean {
  return type === 'pix-in' && reversalsOf(snapshot.context).pending > 0;
}

/** Message types that a transaction takes now, in the statechart's order. */
export function allowedNow(record: TransactionRecord): string[] {
  const { machine, value } = record.snapshot;
  return allowedTypes(machine, value).filter((type) => {
    if (!MESSAGE_TYPES[record.type].includes(type)) return false;
    if (type === 'RETURN') return isReturnable(record);
    return (type !== 'REFUND_DONE' && type !== 'REFUND_FAILED') || hasPending(record);
  });
}

const DONE_AS = { REFUND_DONE: 'completed', REFUND_FAILED: 'failed' } as const;

/** A refund's outcome that comes once more, or another one. */
export function judgeOutcome({ snapshot: { context } }: ChargeRecord, sent: SoundMessage): Verdict {
  const { refundId = '', returnId = null } = sent.data;
  const refund = refundOf(context, refundId);
  if (refund === undefined)
    return { code: 'MESSAGE_NOT_ACCEPTED', reason: `the charge has no refund ${refundId}` };
  if (refund.status === 'pending') return null;
  const isSame = DONE_AS[sent.type as keyof typeof DONE_AS] === refund.status;
  if (isSame && (returnId === null || returnId === refund.returnId)) return 'repeated';
  if (refund.status === 'failed' && sent.type === 'REFUND_DONE') {
    const reason = `ALARM: the bank has paid refund ${refundId}, which failed: its money was given back to the merchant, so it went out twice`;
    return { code: 'REFUNDED_TWICE', reason };
  }
  return { code: 'REFUND_ENDED', reason: `refund ${refundId} is ${refund.status} already` };
}

/** A return counts once in the account, whichever cashout it is told of. */
export function judgeReturn(workspace: Workspace, sent: SoundMessage): Verdict {
  const { returnId = '', amount = 0 } = sent.data;
  if (workspace.lookup('return', returnKey(returnId, amount)) !== null) return 'repeated';
  if (workspace.lookup('return', returnId) === null) return null;
  return { code: 'RETURN_DIFFERS', reason: `return ${returnId} was booked with another amount` };
}

/** Why the bank's amount isn't taken: it is more than there is; null: it isn't that. */
export function tooMuch({ type, snapshot }: TransactionRecord, sent: SoundMessage): Refusal | null {
  const { amount } = sent.data;
  if (amount === undefined) return null;
  if (type === 'cashout') {
    if (sent.type !== 'RETURN' || snapshot.value !== 'completed') return null;
    const left = snapshot.context.amount - (snapshot.context.returned ?? 0);
    const reason = `the amount is ${amount}, and at most ${left} cents can come back`;
    return { code: 'MORE_THAN_STANDS', reason };
  }
  const takesBack = sent.type === 'REFUND' || sent.type === 'CHARGEBACK';
  if (!takesBack || (snapshot.value !== 'paid' && snapshot.value !== 'in_protest')) return null;
  const reason = `the amount is ${amount}, and ${standingOf(snapshot.context)} cents stand`;
  return { code: 'MORE_THAN_STANDS', reason };
}
