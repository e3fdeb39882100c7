/**
 * Decides a message to a transaction. What stands here is what no statechart can know, since it is about the
 * account or the journal: repeats, payments told twice or late, refusals that are recorded once.
 */
import { bankRefundId, creditedWith } from '../domain/reversals/sums.ts';
import { noteFor } from './attention/item.ts';
import { type ChartEvent, PRESENT, take } from './chart.ts';
import type { Answer, InvalidMessage, SentMessage, SoundMessage } from './commands.ts';
import {
  answered,
  type Circumstances,
  type Decision,
  done,
  presentOf,
  remark,
  signed,
  stepEntry,
} from './decision.ts';
import type {
  AttentionNote,
  ChargeRecord,
  Entry,
  JournalMessage,
  TransactionRecord,
  TransferRecord,
} from './journal.ts';
import { refusalKey } from './lookups.ts';
import { changedParts } from './project.ts';
import {
  allowedNow,
  isBanksAlone,
  judgeOutcome,
  judgeReturn,
  judgeTakenBack,
  newsOfRepeat,
  type Refusal,
  refusalOf,
  tooMuch,
  type Verdict,
} from './refunds/later-words.ts';
import type { Workspace } from './workspace.ts';

/** Refused messages to one transaction that are recorded: whoever goes on is answered, and leaves no trace. */
export const MOST_REFUSALS = 1_000;

/** In canonical order: the native writer takes a batch whose parts all are. */
function messageOf({ by, kept, digest, door, id, type }: SentMessage): JournalMessage {
  return { ...signed(by), data: kept, digest, door, id, type };
}

/** The payment rules' verdict on a PAY or HOLD. */
function judgePayment(workspace: Workspace, record: ChargeRecord, sent: SoundMessage): Verdict {
  const { context: charge, value: status } = record.snapshot;
  const { endToEndId, amount } = sent.data;
  if (endToEndId !== undefined) {
    if (charge.endToEndId === endToEndId) return 'repeated';
    if (charge.held?.endToEndId === endToEndId) {
      if (sent.type === 'HOLD') return 'repeated';
      if (status === 'in_analysis') return refusalOf('PAYMENT_IN_ANALYSIS', {});
    }
    const elsewhere = workspace.lookup('payment', endToEndId);
    if (elsewhere !== null && elsewhere !== record.id)
      return refusalOf('PAYMENT_ELSEWHERE', { transaction: elsewhere });
    if (workspace.lookup('returned', endToEndId) !== null)
      return { ...refusalOf('ALREADY_RETURNED', {}), known: true };
  }
  if (amount !== undefined && amount !== charge.amount)
    return { ...refusalOf('AMOUNT_DIFFERS', { amount, whole: charge.amount }), giveBack: true };
  return status === 'waiting_payment'
    ? null
    : { ...refusalOf('NOT_WAITING', { state: status }), giveBack: true };
}

function refusalNote(
  { id: transaction, type }: TransactionRecord,
  sent: SentMessage,
  at: string,
  { code, details, reason }: Refusal,
): AttentionNote {
  const about = { transaction };
  const data = { type, message: sent.type, messageId: sent.id, refusal: code, details, reason };
  const given = { id: `msg_${refusalKey(transaction, sent)}`, since: at, about, data };
  return noteFor(sent.kind === 'invalidMessage' ? 'MESSAGE_INVALID' : 'MESSAGE_REFUSED', given);
}

/** Leaves the entry of a refused message, or none where there are too many of its transaction. */
function recordRefusal(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SentMessage,
  at: string,
  parts: Partial<Entry>,
): Pick<Decision, 'taken' | 'unrecorded'> {
  // Money that must go back is never too much.
  const isBounded = parts.orders === undefined;
  if (isBounded && (record.refusals ?? 0) >= MOST_REFUSALS) return { taken: null, unrecorded: record };
  const entry = remark(record, messageOf(sent), at, parts);
  return { taken: { entry, record: workspace.apply(entry) } };
}

/** A message that isn't taken: nothing changes, and it is recorded once. */
function refuse(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SoundMessage,
  c: Circumstances,
  refusal: Refusal,
): Decision {
  const allowed = allowedNow(record);
  const { code, details, reason } = refusal;
  const answer: Answer = { kind: 'refused', record, reason, allowed };
  const { endToEndId, amount } = sent.data;
  const givesBack = refusal.giveBack === true && endToEndId !== undefined;
  // Recorded once; but a payment that was refused without a return before may call for one now.
  const isRecorded = workspace.lookup('refusal', refusalKey(record.id, sent)) !== null;
  if (isRecorded && !givesBack) return answered(answer);
  const parts: Partial<Entry> = { code, refusal: reason };
  if (givesBack) {
    const given = amount ?? record.snapshot.context.amount;
    parts.orders = [{ kind: 'return', endToEndId, amount: given, reason }];
    parts.attention = noteFor('PAYMENT_GIVEN_BACK', {
      id: `ret_${refusalKey(record.id, sent)}`,
      since: c.at,
      about: { transaction: record.id },
      data: { endToEndId, amount: given, refusal: code, details, reason },
    });
  } else if (refusal.known !== true) {
    parts.attention = refusalNote(record, sent, c.at, refusal);
  }
  return { answer, ...recordRefusal(workspace, record, sent, c.at, parts) };
}

/** What was applied before and is told again, with some news: an entry that changes these parts of the context alone. */
function repeatedWith(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SoundMessage,
  c: Circumstances,
  news: object,
): Decision {
  const present = presentOf(record, c.charts);
  // As any entry does, it stores what differs from the stored context: what a migration added, too.
  const context = changedParts(record.snapshot.context, { ...present.snapshot.context, ...news });
  const timers = present === record ? null : present.timers;
  const snapshot = { ...present.snapshot, context };
  const entry = remark(record, messageOf(sent), c.at, { snapshot, timers });
  const after = workspace.apply(entry) ?? record;
  return { answer: { kind: 'repeated', record: after }, taken: { entry, record: after } };
}

/** A result implied the start, so the start itself is no news: only a missing reference is filled in. */
function lateStart(
  workspace: Workspace,
  record: TransferRecord,
  sent: SoundMessage,
  c: Circumstances,
): Decision {
  const { endToEndId } = sent.data;
  if (record.snapshot.context.reference !== null || endToEndId === undefined)
    return answered({ kind: 'repeated', record });
  return repeatedWith(workspace, record, sent, c, { reference: endToEndId });
}

function decideInvalid(
  workspace: Workspace,
  record: TransactionRecord,
  sent: InvalidMessage,
  c: Circumstances,
): Decision {
  const refusal = refusalOf('INVALID_DATA', { problem: sent.problem });
  const { code, reason } = refusal;
  const answer: Answer = { kind: 'invalid', reason };
  if (workspace.lookup('refusal', refusalKey(record.id, sent)) !== null) return answered(answer);
  const attention = refusalNote(record, sent, c.at, refusal);
  const parts: Partial<Entry> = { code, refusal: reason, attention };
  return { answer, ...recordRefusal(workspace, record, sent, c.at, parts) };
}

/** Why a message is refused whatever the statechart says; null: ask the statechart. */
function objection(record: TransactionRecord, sent: SoundMessage, c: Circumstances): Refusal | null {
  const { amount } = sent.data;
  const whole = record.snapshot.context;
  const { takesParts } = c.charts ?? PRESENT;
  if (
    !takesParts &&
    (sent.type === 'REFUND' || sent.type === 'CHARGEBACK') &&
    amount !== undefined &&
    amount !== whole.amount
  )
    return refusalOf('PARTIAL_UNSUPPORTED', { amount, whole: whole.amount });
  return isBanksAlone(record, sent.type) && sent.door !== 'bank' && !c.everyDoorSpeaks
    ? refusalOf('BANK_ALONE', { message: sent.type })
    : null;
}

/** Why the statechart doesn't take a message; where money is missing, in loud words. */
function untaken(record: TransactionRecord, sent: SoundMessage): Refusal {
  const { value } = record.snapshot;
  const isGivenBack = record.type === 'cashout' && record.final && value !== 'completed';
  if (isGivenBack && sent.type === 'SETTLE') return refusalOf('PAID_TWICE', { state: value });
  const details = { type: record.type, state: value, message: sent.type };
  return tooMuch(record, sent) ?? refusalOf('MESSAGE_NOT_ACCEPTED', details);
}

/** What the account or the journal knows against a message, before the statechart is asked. */
function judge(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SoundMessage,
  { charts }: Circumstances,
): Verdict {
  const { type, ofPayment } = sent;
  if (record.type === 'cashout') return type === 'RETURN' ? judgeReturn(workspace, sent) : null;
  // It takes back what was nobody's credit: the bank was asked before another payment was taken.
  if (ofPayment !== undefined && ofPayment !== creditedWith(record.snapshot.context)) return 'repeated';
  if (type === 'PAY' || type === 'HOLD') return judgePayment(workspace, record, sent);
  if (type === 'REFUND' || type === 'CHARGEBACK') return judgeTakenBack(record, sent, charts);
  return type === 'REFUND_DONE' || type === 'REFUND_FAILED' ? judgeOutcome(record, sent, charts) : null;
}

/** The message as the statechart gets it. */
function eventOf({ id }: TransactionRecord, sent: SoundMessage, at: string): ChartEvent {
  const event = { type: sent.type, at, data: sent.data };
  return sent.type === 'REFUND' ? { ...event, refundId: bankRefundId(id, sent.id) } : event;
}

function decideSound(
  workspace: Workspace,
  stored: TransactionRecord,
  sent: SoundMessage,
  c: Circumstances,
): Decision {
  const record = presentOf(stored, c.charts);
  const applied = Object.hasOwn(record.messages, sent.id) ? record.messages[sent.id] : undefined;
  // I9; before anything else is looked at.
  if (applied === sent.digest) return answered({ kind: 'repeated', record });
  if (applied !== undefined) return refuse(workspace, record, sent, c, refusalOf('ID_REUSED', {}));
  if (sent.sameAs !== undefined && Object.hasOwn(record.messages, sent.sameAs))
    return answered({ kind: 'repeated', record });
  const isStart = record.type === 'cashout' && sent.type === 'START';
  if (stored.type === 'cashout' && isStart && record.snapshot.context.startImplied)
    return lateStart(workspace, stored, sent, c);
  const verdict = judge(workspace, record, sent, c);
  if (verdict === 'repeated') {
    const news = newsOfRepeat(record, sent, c);
    if (news !== null) return repeatedWith(workspace, stored, sent, c, news);
    return answered({ kind: 'repeated', record });
  }
  if (verdict !== null) return refuse(workspace, record, sent, c, verdict);
  const objected = objection(record, sent, c);
  if (objected !== null) return refuse(workspace, record, sent, c, objected);
  const step = take(record.snapshot, eventOf(record, sent, c.at), c.charts);
  if (step === null) return refuse(workspace, record, sent, c, untaken(record, sent));
  const target = { id: record.id, type: record.type, record: stored };
  return done(workspace, stepEntry(step, target, messageOf(sent), c));
}

/** Decides a message to a transaction. */
export function decideMessage(workspace: Workspace, sent: SentMessage, c: Circumstances): Decision {
  const stored = workspace.record(sent.transaction);
  if (stored === null) return answered({ kind: 'unknown' });
  return sent.kind === 'invalidMessage'
    ? decideInvalid(workspace, presentOf(stored, c.charts), sent, c)
    : decideSound(workspace, stored, sent, c);
}
