/**
 * Decides what merchants and ops order of a charge: to refund it, and to cancel it. Neither leaves an entry where it is
 * refused.
 */
import type { RefundOrderData } from '../../domain/messages.ts';
import { isTooOld } from '../../domain/reversals/steps.ts';
import { MOST_REFUNDS, remainingOf, returnedWith, reversalsOf } from '../../domain/reversals/sums.ts';
import { refusalText } from '../../domain/sentences/refusals.ts';
import { textOfTime } from '../../domain/time.ts';
import { take } from '../chart.ts';
import type { Answer, Command } from '../commands.ts';
import {
  answered,
  type Circumstances,
  type Decision,
  done,
  presentOf,
  signed,
  stepEntry,
} from '../decision.ts';
import type { ChargeRecord, JournalMessage, TransactionRecord } from '../journal.ts';
import { lookupKey } from '../lookups.ts';
import type { Workspace } from '../workspace.ts';
import { allowedNow } from './later-words.ts';

/** Why a charge can't be refunded at all; null: it can. */
function stateProblem({ snapshot: { value, context } }: ChargeRecord, at: string): string | null {
  if (value === 'in_protest') return 'The charge is under protest.';
  if (value !== 'paid') return `The charge is ${value}: only a paid one can be refunded.`;
  if (isTooOld(context, at)) return 'The charge was paid more than 90 days ago.';
  if (reversalsOf(context).ordered >= MOST_REFUNDS)
    return `The charge has had ${MOST_REFUNDS} refunds already.`;
  return null;
}

/** A refund as it was asked for, before its charge says what it comes to. */
export interface RefundOrder {
  /** Cents; null: what remains. */
  amount: number | null;
}

/**
 * The first reason against a refund, in the order of the checks: the state, what remains, the balance (`available`, in
 * cents). Null: there is none. `record` is as the present charts see it.
 */
export function refundProblem(
  record: ChargeRecord,
  { amount }: RefundOrder,
  at: string,
  available: number,
): Answer | null {
  const reason = stateProblem(record, at);
  if (reason !== null) return { kind: 'notRefundable', record, reason };
  const { context } = record.snapshot;
  const remaining = remainingOf(context);
  const wanted = amount ?? remaining;
  if (wanted < 1 || wanted > remaining) return { kind: 'refundTooLarge', most: remaining };
  const debit = wanted - returnedWith(context, wanted);
  return debit > 0 && available < debit ? { kind: 'insufficientBalance', available } : null;
}

type RefundCommand = Command & { kind: 'refund' };

/** The answer to ops whose id was used before: for the same, or for something else. Null: it wasn't. */
function usedBefore(
  workspace: Workspace,
  record: TransactionRecord,
  { refundId, ops }: RefundCommand,
): Answer | null {
  if (ops === undefined) return null;
  const known = Object.hasOwn(record.messages, refundId) ? record.messages[refundId] : null;
  if (known === ops.digest) return { kind: 'repeated', record };
  if (known === null && workspace.lookup('refund', refundId) === null) return null;
  const reason = refusalText('ID_REUSED', {});
  return { kind: 'refused', record, reason, allowed: allowedNow(record) };
}

/** The order as its entry keeps it. */
function orderMessage(data: RefundOrderData, { refundId, ops }: RefundCommand): JournalMessage {
  const type = 'REFUND_ORDER';
  if (ops === undefined) return { data, digest: '', door: 'api', id: '', type };
  return { ...signed(ops.by), data, digest: ops.digest, door: 'ops', id: refundId, type };
}

/** Orders a refund. The statechart's guard holds the cap: what it doesn't take is explained, never pushed through. */
export function decideRefund(workspace: Workspace, command: RefundCommand, c: Circumstances): Decision {
  const stored = workspace.record(command.transaction);
  if (stored === null || stored.type !== 'pix-in') return answered({ kind: 'unknown' });
  const key = command.idempotencyKey;
  const existing = key === null ? null : workspace.lookup('refundKey', lookupKey(key));
  if (existing !== null) return answered({ kind: 'duplicateKey', transaction: existing });
  const record = presentOf(stored, c.charts) as ChargeRecord;
  const before = usedBefore(workspace, record, command);
  if (before !== null) return answered(before);
  const { context } = record.snapshot;
  const amount = command.amount ?? remainingOf(context);
  const { refundId, reason } = command;
  // Members stand in canonical order: what is in order is written faster.
  const data: RefundOrderData = {
    amount,
    idempotencyKey: key,
    reason,
    refundId,
    returned: returnedWith(context, amount),
  };
  const step = take(record.snapshot, { type: 'REFUND_ORDER', at: c.at, data }, c.charts);
  const problem = refundProblem(record, { amount }, textOfTime(c.clock), workspace.balances.available);
  if (problem !== null) return answered(problem);
  if (step === null) throw new Error(`the statechart does not take a refund of ${amount} cents`);
  const message = orderMessage(data, command);
  return done(workspace, stepEntry(step, { id: record.id, type: 'pix-in', record: stored }, message, c));
}

/** The answer about a charge that waits for no payment, canceled already or not to be canceled; null: it waits. */
export function cancelProblem(record: TransactionRecord): Answer | null {
  const { value } = record.snapshot;
  if (value === 'waiting_payment') return null;
  if (value === 'canceled') return { kind: 'repeated', record };
  const reason = `a pix-in that is ${value} can't be canceled`;
  return { kind: 'refused', record, reason, allowed: allowedNow(record) };
}

/** Cancels a charge that waits; one that is canceled already is left as it is. */
export function decideCancel(
  workspace: Workspace,
  command: Command & { kind: 'cancel' },
  c: Circumstances,
): Decision {
  const stored = workspace.record(command.transaction);
  if (stored === null || stored.type !== 'pix-in') return answered({ kind: 'unknown' });
  const record = presentOf(stored, c.charts);
  const problem = cancelProblem(record);
  if (problem !== null) return answered(problem);
  const data = command.reason === null ? {} : { reason: command.reason };
  const step = take(record.snapshot, { type: 'CANCEL', at: c.at, data }, c.charts);
  if (step === null) throw new Error('the statechart does not take a cancellation');
  const message: JournalMessage = { data, digest: '', door: 'api', id: '', type: 'CANCEL' };
  return done(workspace, stepEntry(step, { id: record.id, type: 'pix-in', record: stored }, message, c));
}
