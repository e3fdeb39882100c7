/**
 * What the bank may say of a transaction that has been paid or completed (additions, "What the bank may say later"),
 * as far as the statechart can't know it: repeats under other message ids, and why a word isn't taken.
 */
import { MESSAGE_TYPES } from '../../domain/messages.ts';
import {
  countedUnder,
  refundName,
  refundOf,
  reversalsOf,
  standingOf,
  takenBackName,
  takenBackOf,
} from '../../domain/reversals/sums.ts';
import type { RefusalCode, RefusalData } from '../../domain/sentences/refusal-codes.ts';
import { refusalText } from '../../domain/sentences/refusals.ts';
import { allowedTypes, type Charts, PRESENT } from '../chart.ts';
import type { SoundMessage } from '../commands.ts';
import type { Circumstances } from '../decision.ts';
import type { ChargeRecord, TransactionRecord } from '../journal.ts';
import { returnKey } from '../lookups.ts';
import type { Workspace } from '../workspace.ts';

/** Why a message isn't taken. */
export interface Refusal {
  code: RefusalCode;
  /** What the code's sentence needs to know. */
  details: object;
  /** That sentence in English. */
  reason: string;
  /** The payment goes back to the payer. */
  giveBack?: boolean;
  /** Ops know of it already: the entry is all. */
  known?: boolean;
}

/** A refusal with its sentence. */
export function refusalOf<Code extends RefusalCode>(code: Code, details: RefusalData[Code]): Refusal {
  return { code, details, reason: refusalText(code, details) };
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

/** Whether a message to a payout that was submitted is the bank's alone to send. */
export function isBanksAlone({ type: kind, submitted }: TransactionRecord, type: string): boolean {
  return kind === 'cashout' && submitted && (type === 'CANCEL' || type === 'REJECT');
}

/** As `allowedNow`, of what ops may send. `everyDoorSpeaks`: no message is the bank's alone. */
export function allowedToOps(record: TransactionRecord, everyDoorSpeaks: boolean): string[] {
  return allowedNow(record).filter((type) => everyDoorSpeaks || !isBanksAlone(record, type));
}

/** How a refund has ended, by the message that tells of it. */
export const DONE_AS = { REFUND_DONE: 'completed', REFUND_FAILED: 'failed' } as const;

/**
 * A refund's outcome that comes once more, or another one; and a return that counts already ends no refund besides. Which
 * of both it was, or whether the bank paid twice under one id, nobody here can know: to call the refund failed by ourselves
 * would have a merchant order it again.
 */
export function judgeOutcome(
  { snapshot: { context } }: ChargeRecord,
  sent: SoundMessage,
  charts: Charts = PRESENT,
): Verdict {
  const { refundId = '', returnId = null } = sent.data;
  const refund = refundOf(context, refundId);
  if (refund === undefined) return refusalOf('MESSAGE_NOT_ACCEPTED', { refundId });
  const { status } = refund;
  const isSame = DONE_AS[sent.type as keyof typeof DONE_AS] === status;
  if (isSame && (returnId === null || returnId === refund.returnId)) return 'repeated';
  const isDone = sent.type === 'REFUND_DONE';
  if (charts.findsReturns && isDone && returnId !== null && countedUnder(context, returnId) !== undefined)
    return refusalOf('RETURN_COUNTED', { refundId, returnId, status });
  if (status === 'pending') return null;
  if (charts.findsReturns && isSame && refund.returnId === null) return 'repeated';
  return status === 'failed' && isDone
    ? refusalOf('REFUNDED_TWICE', { refundId })
    : refusalOf('REFUND_ENDED', { refundId, status });
}

/** A return counts once in the account, whichever cashout it is told of. */
export function judgeReturn(workspace: Workspace, sent: SoundMessage): Verdict {
  const { returnId = '', amount = 0 } = sent.data;
  if (workspace.lookup('return', returnKey(returnId, amount)) !== null) return 'repeated';
  if (workspace.lookup('return', returnId) === null) return null;
  return refusalOf('RETURN_DIFFERS', { returnId });
}

/**
 * What the bank took back counts once in its charge, by the bank's id of it: ops may have booked it by hand, before the
 * bank's own word for it could be taken, or a refund is done by it.
 */
export function judgeTakenBack(
  { snapshot: { context } }: ChargeRecord,
  { data }: SoundMessage,
  { findsReturns }: Charts = PRESENT,
): Verdict {
  const { returnId, amount } = data;
  const find = findsReturns ? countedUnder : takenBackOf;
  const booked = returnId === undefined ? undefined : find(context, returnId);
  if (returnId === undefined || booked === undefined) return null;
  return amount === undefined || amount === booked.amount
    ? 'repeated'
    : refusalOf('RETURN_DIFFERS', { returnId });
}

/** Ops may have said how a refund ended before anybody knew the bank's id of it: that one is filled in, as it is told. */
function newsOfOutcome({ snapshot: { context } }: ChargeRecord, { data }: SoundMessage, at: string) {
  const { refundId = '', returnId } = data;
  const refund = refundOf(context, refundId);
  return refund === undefined || refund.returnId !== null || returnId === undefined
    ? null
    : { [refundName(refundId)]: { ...refund, returnId, updatedAt: at } };
}

/**
 * What of the context is new where the bank says itself, under an id of its own, what was booked by another message: its
 * message is to be known as applied, so that nobody goes on asking about it. Once for each return, whoever makes up ids.
 */
export function newsOfRepeat(
  record: TransactionRecord,
  sent: SoundMessage,
  { at, charts }: Pick<Circumstances, 'at' | 'charts'>,
): object | null {
  if (record.type !== 'pix-in') return null;
  if (Object.hasOwn(DONE_AS, sent.type)) return newsOfOutcome(record, sent, at);
  const { returnId } = sent.data;
  const takesBack = sent.type === 'REFUND' || sent.type === 'CHARGEBACK';
  if (sent.door !== 'bank' || !takesBack || returnId === undefined) return null;
  if (judgeTakenBack(record, sent, charts) !== 'repeated') return null;
  const booked = countedUnder(record.snapshot.context, returnId);
  return booked === undefined || booked.toldAgain
    ? null
    : { [takenBackName(returnId)]: { ...booked, toldAgain: true } };
}

/** Why the bank's amount isn't taken: it is more than there is; null: it isn't that. */
export function tooMuch({ type, snapshot }: TransactionRecord, sent: SoundMessage): Refusal | null {
  const { amount } = sent.data;
  if (amount === undefined) return null;
  if (type === 'cashout') {
    if (sent.type !== 'RETURN' || snapshot.value !== 'completed') return null;
    const left = snapshot.context.amount - (snapshot.context.returned ?? 0);
    return refusalOf('MORE_THAN_STANDS', { type, amount, left });
  }
  const takesBack = sent.type === 'REFUND' || sent.type === 'CHARGEBACK';
  if (!takesBack || (snapshot.value !== 'paid' && snapshot.value !== 'in_protest')) return null;
  return refusalOf('MORE_THAN_STANDS', { type, amount, left: standingOf(snapshot.context) });
}
