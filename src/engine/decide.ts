/**
 * Decides one command: workspace, settings and time in; answer and at most one entry out. Pure: no clock, no
 * ids, no store of its own.
 *
 * Transitions, postings and events come from the statechart alone. What stands here is what no statechart can
 * know, since it is about the account or about the journal: keys, balances, repeats, payments told twice.
 */

import type { EmitParams, PostParams } from '../../machines/effects.ts';
import type { Snapshot } from '../../machines/index.ts';
import type { Account } from '../accounts/account.ts';
import { deliveryId, eventId, isWanted } from '../domain/events.ts';
import type { PaymentData, ReasonData, TransferData } from '../domain/messages.ts';
import type { Posting } from '../domain/money.ts';
import type { Charge, TransactionType, Transfer } from '../domain/transactions.ts';
import {
  allowedTypes,
  begin,
  type Step,
  take,
  timerEvent,
  UnreadableSnapshot,
  upToDate,
  versionOf,
} from './chart.ts';
import type { Answer, Command, SentMessage } from './commands.ts';
import type {
  AttentionNote,
  BankOrder,
  Entry,
  JournalEvent,
  JournalMessage,
  TransactionRecord,
} from './journal.ts';
import { changedParts, refusalKey } from './project.ts';
import type { Workspace } from './workspace.ts';

/** What a decision depends on besides the workspace. */
export interface Circumstances {
  /** The entry's time, ISO 8601. */
  at: string;
  /** The same in ms. */
  now: number;
  /** The URLs and filters of the account. */
  webhooks: Account['webhooks'];
  /** The sandbox is bank and merchant's playground at once: every door speaks for the bank. */
  sandbox: boolean;
}

export interface Decision {
  answer: Answer;
  /** The entry, and the record after it, null for an entry of the account itself. */
  taken: { entry: Entry; record: TransactionRecord | null } | null;
}

const LATE_PAYMENT = 'the payment is given back';

function postingsOf(step: Step): Posting[] {
  return step.actions
    .filter((action) => action.type === 'post')
    .flatMap((action) => (action.params as PostParams).postings)
    .filter((posting) => posting.amount !== 0);
}

function eventsOf(
  step: Step,
  id: string,
  record: TransactionRecord | null,
  webhooks: Account['webhooks'],
): JournalEvent[] {
  const names = step.actions.filter((a) => a.type === 'emit').map((a) => (a.params as EmitParams).event);
  const last: Record<string, string> = { ...record?.lastDeliveries };
  return names.map((name, index) => {
    const ordinal = (record?.events ?? 0) + index;
    const deliveries: JournalEvent['deliveries'] = [];
    for (const webhook of webhooks) {
      if (!isWanted(webhook.events, name)) continue;
      const delivery = deliveryId(id, ordinal, deliveries.length);
      deliveries.push({ id: delivery, url: webhook.url, after: last[webhook.url] ?? null });
      last[webhook.url] = delivery;
    }
    return { id: eventId(id, ordinal), name, deliveries };
  });
}

function timersOf(step: Step, record: TransactionRecord | null, now: number): Entry['timers'] {
  if (step.started.length === 0 && step.ended.length === 0) return null;
  const started = new Set(step.started.map((timer) => timer.name));
  const kept = (record?.timers ?? []).filter(
    (timer) => !step.ended.includes(timer.name) && !started.has(timer.name),
  );
  return [
    ...kept,
    ...step.started.map(({ name, delayMs }) => ({ name, at: new Date(now + delayMs).toISOString() })),
  ];
}

/** The entry of a step that the statechart took. */
function entryOf(
  step: Step,
  target: { id: string; type: TransactionType; record: TransactionRecord | null },
  message: JournalMessage,
  circumstances: Circumstances,
): Entry {
  const { id, type, record } = target;
  const before: Snapshot | null = record === null ? null : upToDate(record.snapshot);
  const context = before === null ? step.context : changedParts(record?.snapshot.context ?? {}, step.context);
  return {
    transaction: id,
    type,
    at: circumstances.at,
    message,
    from: before?.value ?? null,
    to: step.value,
    refusal: null,
    snapshot: { machine: type, version: versionOf(type), value: step.value, context },
    postings: postingsOf(step),
    events: eventsOf(step, id, record, circumstances.webhooks),
    timers: timersOf(step, record, circumstances.now),
    orders: step.actions.filter((a) => a.type === 'orderPayout').map(() => ({ kind: 'payout' })),
    attention: null,
  };
}

/** An entry that changes no state: something was said, and is kept. */
function remark(
  record: TransactionRecord,
  message: JournalMessage,
  at: string,
  parts: Partial<Entry>,
): Entry {
  const status = record.snapshot.value;
  const nothing = {
    snapshot: null,
    postings: [],
    events: [],
    timers: null,
    orders: [],
    attention: null,
    refusal: null,
  };
  return {
    transaction: record.id,
    type: record.type,
    at,
    message,
    from: status,
    to: status,
    ...nothing,
    ...parts,
  };
}

function messageOf(sent: SentMessage): JournalMessage {
  return { id: sent.id, type: sent.type, data: sent.kept, door: sent.door, digest: sent.digest };
}

function done(workspace: Workspace, entry: Entry): Decision {
  const record = workspace.take(entry);
  if (record === null) throw new Error('an entry of a transaction gave no record');
  return { answer: { kind: 'applied', record }, taken: { entry, record } };
}

function answered(answer: Answer): Decision {
  return { answer, taken: null };
}

function createCharge(
  workspace: Workspace,
  command: Command & { kind: 'createCharge' },
  c: Circumstances,
): Decision {
  const { expiresIn, ...given } = command.charge;
  const context: Charge = {
    ...given,
    createdAt: c.at,
    expiresAt: new Date(c.now + expiresIn * 1000).toISOString(),
    endToEndId: null,
    paidAt: null,
    held: null,
  };
  const message: JournalMessage = { id: '', type: 'CREATE', data: {}, door: 'api', digest: '' };
  const entry = entryOf(
    begin('pix-in', context),
    { id: command.id, type: 'pix-in', record: null },
    message,
    c,
  );
  if (command.wakeInMs !== null) entry.orders.push(wakeOrder(0, c.now + command.wakeInMs));
  return done(workspace, entry);
}

/** The bank asked to be woken about a transaction. */
export function wakeOrder(step: number, at: number): BankOrder {
  return { kind: 'wake', step, at: new Date(at).toISOString() };
}

function createTransfer(
  workspace: Workspace,
  command: Command & { kind: 'createTransfer' },
  c: Circumstances,
): Decision {
  const key = command.transfer.idempotencyKey;
  // I4; before the balance, so that a retry after the money went down still gets its 409.
  const existing = key === null ? null : workspace.lookup('idempotencyKey', key);
  if (existing !== null) return answered({ kind: 'duplicateKey', transaction: existing });
  const { amount, fee } = command.transfer;
  const { available } = workspace.balances;
  if (available < amount + fee.totalFee) return answered({ kind: 'insufficientBalance', available });
  const context: Transfer = {
    ...command.transfer,
    createdAt: c.at,
    reference: null,
    paidAt: null,
    startImplied: false,
  };
  const message: JournalMessage = { id: '', type: 'CREATE', data: {}, door: 'api', digest: '' };
  return done(
    workspace,
    entryOf(begin('cashout', context), { id: command.id, type: 'cashout', record: null }, message, c),
  );
}

/** What the payment rules make of a PAY or HOLD before the statechart is asked; null: it may go on. */
type PaymentVerdict = null | 'repeated' | { reason: string; giveBack: boolean; known: boolean };

function judgePayment(workspace: Workspace, record: TransactionRecord, sent: SentMessage): PaymentVerdict {
  const charge = record.snapshot.context as Charge;
  const { endToEndId, amount } = sent.data as PaymentData;
  const status = record.snapshot.value;
  if (endToEndId !== undefined) {
    if (charge.endToEndId === endToEndId) return 'repeated';
    if (charge.held?.endToEndId === endToEndId) {
      if (sent.type === 'HOLD') return 'repeated';
      if (status === 'in_analysis')
        return { reason: 'the payment is in analysis', giveBack: false, known: false };
    }
    const elsewhere = workspace.lookup('payment', endToEndId);
    if (elsewhere !== null && elsewhere !== record.id) {
      return { reason: `the payment belongs to ${elsewhere}`, giveBack: false, known: false };
    }
    if (workspace.lookup('returned', endToEndId) !== null) {
      return { reason: 'the payment was given back already', giveBack: false, known: true };
    }
  }
  if (amount !== undefined && amount !== charge.amount) {
    return {
      reason: `the amount is ${amount}, the charge's is ${charge.amount}; ${LATE_PAYMENT}`,
      giveBack: true,
      known: false,
    };
  }
  if (status !== 'waiting_payment') {
    return { reason: `the charge is ${status}; ${LATE_PAYMENT}`, giveBack: true, known: false };
  }
  return null;
}

function refusalNote(
  record: TransactionRecord,
  sent: SentMessage,
  kind: 'refused' | 'invalid',
  reason: string,
): AttentionNote {
  return {
    kind,
    id: `msg_${refusalKey(record.id, sent)}`,
    what: `${sent.type} (${sent.id}) to ${record.type} ${record.id}: ${reason}`,
    next: `npx pixstate inspect ${record.id}`,
  };
}

interface Refusal {
  reason: string;
  giveBack?: boolean;
  /** Ops know of it already: the entry is all. */
  known?: boolean;
}

/** A message that isn't taken: nothing changes, and it is recorded once. */
function refuse(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SentMessage,
  c: Circumstances,
  refusal: Refusal,
): Decision {
  const allowed = allowedTypes(record.snapshot.machine, record.snapshot.value);
  const { reason } = refusal;
  const answer: Answer = { kind: 'refused', record, reason, allowed };
  if (workspace.lookup('refusal', refusalKey(record.id, sent)) !== null) return answered(answer);
  const parts: Partial<Entry> = { refusal: reason };
  const { endToEndId, amount } = sent.data as PaymentData;
  if (refusal.giveBack === true && endToEndId !== undefined) {
    const given = amount ?? (record.snapshot.context as Charge).amount;
    parts.orders = [{ kind: 'return', endToEndId, amount: given, reason }];
    parts.attention = {
      kind: 'return',
      id: endToEndId,
      what: `a payment of ${given} cents to pix-in ${record.id} is given back: ${reason}`,
      next: `npx pixstate inspect ${record.id}`,
    };
  } else if (refusal.known !== true) {
    parts.attention = refusalNote(record, sent, 'refused', reason);
  }
  const entry = remark(record, messageOf(sent), c.at, parts);
  return { answer, taken: { entry, record: workspace.take(entry) } };
}

/** A result implied the start, so the start itself is no news: only a missing reference is filled in. */
function lateStart(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SentMessage,
  c: Circumstances,
): Decision {
  const transfer = record.snapshot.context as Transfer;
  const { endToEndId } = sent.data as TransferData;
  if (transfer.reference !== null || endToEndId === undefined) return answered({ kind: 'repeated', record });
  const snapshot = { ...upToDate(record.snapshot), context: { reference: endToEndId } };
  const entry = remark(record, messageOf(sent), c.at, { snapshot });
  const after = workspace.take(entry) ?? record;
  return { answer: { kind: 'repeated', record: after }, taken: { entry, record: after } };
}

function invalid(
  workspace: Workspace,
  record: TransactionRecord,
  sent: SentMessage,
  c: Circumstances,
  reason: string,
): Decision {
  const answer: Answer = { kind: 'invalid', reason };
  if (workspace.lookup('refusal', refusalKey(record.id, sent)) !== null) return answered(answer);
  const attention = refusalNote(record, sent, 'invalid', reason);
  const entry = remark(record, messageOf(sent), c.at, { refusal: reason, attention });
  return { answer, taken: { entry, record: workspace.take(entry) } };
}

/** Why a message is refused whatever the statechart says; null: ask the statechart. */
function objection(record: TransactionRecord, sent: SentMessage, c: Circumstances): Refusal | null {
  const { amount } = sent.data as ReasonData;
  const whole = record.snapshot.context as { amount: number };
  if (
    (sent.type === 'REFUND' || sent.type === 'CHARGEBACK') &&
    amount !== undefined &&
    amount !== whole.amount
  ) {
    return {
      reason: `the amount is ${amount}, the charge's is ${whole.amount}: partial ones are not supported`,
    };
  }
  const ofBankAlone = record.type === 'cashout' && (sent.type === 'CANCEL' || sent.type === 'REJECT');
  if (ofBankAlone && record.submitted && sent.door !== 'bank' && !c.sandbox) {
    return { reason: `the payout was submitted: ${sent.type} is the bank's alone` };
  }
  return null;
}

function message(workspace: Workspace, sent: SentMessage, c: Circumstances): Decision {
  const record = workspace.record(sent.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  upToDate(record.snapshot);
  if (sent.invalid !== undefined) return invalid(workspace, record, sent, c, sent.invalid);
  const applied = Object.hasOwn(record.messages, sent.id) ? record.messages[sent.id] : undefined;
  // I9; before anything else is looked at.
  if (applied === sent.digest) return answered({ kind: 'repeated', record });
  if (applied !== undefined) {
    return refuse(workspace, record, sent, c, {
      reason: 'this message id was applied with another type or data',
    });
  }
  if (
    record.type === 'cashout' &&
    sent.type === 'START' &&
    (record.snapshot.context as Transfer).startImplied
  ) {
    return lateStart(workspace, record, sent, c);
  }
  if (record.type === 'pix-in' && (sent.type === 'PAY' || sent.type === 'HOLD')) {
    const verdict = judgePayment(workspace, record, sent);
    if (verdict === 'repeated') return answered({ kind: 'repeated', record });
    if (verdict !== null) return refuse(workspace, record, sent, c, verdict);
  }
  const objected = objection(record, sent, c);
  if (objected !== null) return refuse(workspace, record, sent, c, objected);
  const event = { type: sent.type, at: c.at, data: sent.data };
  const step = take(record.snapshot, event);
  if (step === null) {
    return refuse(workspace, record, sent, c, {
      reason: `a ${record.type} that is ${record.snapshot.value} does not take ${sent.type}`,
    });
  }
  return done(workspace, entryOf(step, { id: record.id, type: record.type, record }, messageOf(sent), c));
}

/** I8: only a timer that the transaction still waits for, and never before its time. */
function timer(workspace: Workspace, command: Command & { kind: 'timer' }, c: Circumstances): Decision {
  const record = workspace.record(command.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  const waiting = record.timers.find((t) => t.name === command.name && Date.parse(t.at) <= c.now);
  if (waiting === undefined) return answered({ kind: 'repeated', record });
  const step = take(record.snapshot, timerEvent(command.name));
  // A name that a newer statechart doesn't know is nothing to wait for; its migration derived timers anew.
  if (step === null) return answered({ kind: 'repeated', record });
  const said: JournalMessage = { id: command.name, type: 'EXPIRE', data: {}, door: 'clock', digest: '' };
  return done(workspace, entryOf(step, { id: record.id, type: record.type, record }, said, c));
}

function submit(workspace: Workspace, command: Command & { kind: 'submit' }, c: Circumstances): Decision {
  const record = workspace.record(command.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  if (record.submitted || record.snapshot.value !== 'pending') return answered({ kind: 'repeated', record });
  const said: JournalMessage = { id: '', type: 'SUBMIT', data: {}, door: 'clock', digest: '' };
  return done(workspace, remark(record, said, c.at, {}));
}

function adjust(workspace: Workspace, command: Command & { kind: 'adjust' }, c: Circumstances): Decision {
  const balance = workspace.balances.available;
  const applied = workspace.lookup('adjustment', command.id);
  if (applied === command.digest) return answered({ kind: 'adjusted', balance, applied: false });
  if (applied !== null) {
    return answered({ kind: 'notAdjusted', balance, reason: 'this id was applied with another amount' });
  }
  const { amount, reason } = command;
  if (amount < 0 && balance + amount < 0 && !command.allowNegative) {
    return answered({
      kind: 'notAdjusted',
      balance,
      reason: `the balance is ${balance}: it would go below zero`,
    });
  }
  const entry: Entry = {
    transaction: null,
    type: null,
    at: c.at,
    message: {
      id: command.id,
      type: 'ADJUST',
      data: { amount, reason },
      door: 'ops',
      digest: command.digest,
    },
    from: null,
    to: null,
    refusal: null,
    snapshot: null,
    postings: [
      { leg: 'bank', amount: -amount },
      { leg: 'available', amount },
    ],
    events: [],
    timers: null,
    orders: [],
    attention: null,
  };
  workspace.take(entry);
  return {
    answer: { kind: 'adjusted', balance: balance + amount, applied: true },
    taken: { entry, record: null },
  };
}

function decideKind(workspace: Workspace, command: Command, c: Circumstances): Decision {
  switch (command.kind) {
    case 'createCharge':
      return createCharge(workspace, command, c);
    case 'createTransfer':
      return createTransfer(workspace, command, c);
    case 'message':
      return message(workspace, command, c);
    case 'timer':
      return timer(workspace, command, c);
    case 'submit':
      return submit(workspace, command, c);
    case 'adjust':
      return adjust(workspace, command, c);
  }
}

/** Decides a command; the workspace is as after it. A snapshot that can't be read changes nothing. */
export function decide(workspace: Workspace, command: Command, circumstances: Circumstances): Decision {
  try {
    return decideKind(workspace, command, circumstances);
  } catch (error) {
    if (!(error instanceof UnreadableSnapshot) || !('transaction' in command)) throw error;
    return answered({ kind: 'quarantined', transaction: command.transaction, reason: error.message });
  }
}
