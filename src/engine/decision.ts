/** A decision and the entry that it makes: from a statechart's step, or a remark that changes no state. */
import type { EmitParams, PostParams, SideEffect } from '../../machines/effects.ts';
import type { Snapshot } from '../../machines/index.ts';
import type { Account } from '../domain/account.ts';
import { deliveryId, eventId, isWanted, type JournalEvent } from '../domain/events.ts';
import type { By } from '../domain/messages.ts';
import type { Posting } from '../domain/money.ts';
import { textOfTime, timeOfText } from '../domain/time.ts';
import type { TransactionType } from '../domain/transactions.ts';
import { noteFor } from './attention/item.ts';
import { type Charts, type Step, timersOf, upToDate, versionOf } from './chart.ts';
import type { Answer } from './commands.ts';
import type { AttentionNote, BankOrder, Entry, JournalMessage, TransactionRecord } from './journal.ts';
import { refusalKey } from './lookups.ts';
import { changedParts } from './project.ts';
import { usual } from './store/content.ts';
import type { Taken, Workspace } from './workspace.ts';

type RefundParams = (SideEffect & { type: 'orderRefund' })['params'];
type AlarmParams = (SideEffect & { type: 'alarm' })['params'];

/** The circumstances that a decision depends on besides the workspace. */
export interface Circumstances {
  /** The entry's time, ISO 8601. */
  at: string;
  /** The same in ms. */
  now: number;
  /** The clock, ms since 1970: behind `now` where the account's last entry lies ahead of it. */
  clock: number;
  /** The URLs and filters of the account. */
  webhooks: Account['webhooks'];
  /** Whether a message through any door counts as the bank's own. */
  everyDoorSpeaks: boolean;
  /** The statecharts to decide with; absent: those of today. */
  charts?: Charts;
}

export interface Decision {
  answer: Answer;
  taken: Taken | null;
  /** The transaction of a refused message that would have an entry, if it hadn't so many of them. */
  unrecorded?: TransactionRecord;
}

function postingsOf(step: Step): Posting[] {
  const postings: Posting[] = [];
  for (const action of step.actions) {
    if (action.type !== 'post') continue;
    for (const { amount, leg } of (action.params as PostParams).postings) {
      if (amount !== 0) postings.push({ amount, leg });
    }
  }
  return postings;
}

function eventsOf(
  step: Step,
  id: string,
  record: TransactionRecord | null,
  webhooks: Account['webhooks'],
): JournalEvent[] {
  const last: Record<string, string> = { ...record?.lastDeliveries };
  const events: JournalEvent[] = [];
  for (const action of step.actions) {
    if (action.type !== 'emit') continue;
    const { event: name, about } = action.params as EmitParams;
    const ordinal = (record?.events ?? 0) + events.length;
    const deliveries: JournalEvent['deliveries'] = [];
    for (const webhook of webhooks) {
      if (!isWanted(webhook.events, name)) continue;
      const delivery = deliveryId(id, ordinal, deliveries.length);
      deliveries.push({ after: last[webhook.url] ?? null, id: delivery, url: webhook.url });
      last[webhook.url] = delivery;
    }
    const event = { deliveries, id: eventId(id, ordinal), name };
    events.push(about === undefined ? event : { about, ...event });
  }
  return events;
}

/**
 * A record as the present charts see it. One of an older version is migrated, and its timers are derived anew
 * from when it changed last; what is stored stays as it is until the next entry.
 */
export function presentOf(record: TransactionRecord, charts?: Charts): TransactionRecord {
  const snapshot = upToDate(record.snapshot, charts);
  if (snapshot === record.snapshot) return record;
  const entered = timeOfText(record.updatedAt);
  const timers = timersOf(snapshot, charts).map(({ name, delayMs }) => ({
    at: textOfTime(entered + delayMs),
    name,
  }));
  return { ...record, snapshot, timers } as TransactionRecord;
}

function timersAfter(
  step: Step,
  record: TransactionRecord | null,
  { now, charts }: Circumstances,
): Entry['timers'] {
  const before = record === null ? null : presentOf(record, charts);
  if (step.started.length === 0 && step.ended.length === 0)
    return before === record ? null : (before?.timers ?? null);
  const isOver = (name: string): boolean =>
    step.ended.includes(name) || step.started.some((timer) => timer.name === name);
  const timers = (before?.timers ?? []).filter(({ name }) => !isOver(name));
  for (const { name, delayMs } of step.started) timers.push({ at: textOfTime(now + delayMs), name });
  return timers;
}

function ordersOf(step: Step): BankOrder[] {
  const orders: BankOrder[] = [];
  for (const { type, params } of step.actions) {
    if (type === 'orderPayout') orders.push({ kind: 'payout' });
    if (type === 'orderRefund') orders.push({ kind: 'refund', refundId: (params as RefundParams).refundId });
  }
  return orders;
}

function alarmOf(step: Step, transaction: string, message: JournalMessage, at: string): AttentionNote | null {
  const alarm = step.actions.find(({ type }) => type === 'alarm');
  if (alarm === undefined) return null;
  const id = `ret_${refusalKey(transaction, message)}`;
  const data = alarm.params as AlarmParams;
  return noteFor('REFUNDED_TOO_MUCH', { id, since: at, about: { transaction }, data });
}

/** The entry of a step that the statechart took. */
export function stepEntry(
  step: Step,
  target: { id: string; type: TransactionType; record: TransactionRecord | null },
  message: JournalMessage,
  circumstances: Circumstances,
): Entry {
  const { id, type, record } = target;
  const before: Snapshot | null = record === null ? null : upToDate(record.snapshot, circumstances.charts);
  const context = before === null ? step.context : changedParts(record?.snapshot.context ?? {}, step.context);
  return {
    transaction: id,
    type,
    at: circumstances.at,
    message,
    from: before?.value ?? null,
    to: step.value,
    refusal: null,
    code: null,
    snapshot: { context, machine: type, value: step.value, version: versionOf(type, circumstances.charts) },
    postings: postingsOf(step),
    events: eventsOf(step, id, record, circumstances.webhooks),
    timers: timersAfter(step, record, circumstances),
    orders: ordersOf(step),
    attention: alarmOf(step, id, message, circumstances.at),
  };
}

/** An entry that changes no state: something was said, and is kept. */
export function remark(
  record: TransactionRecord,
  message: JournalMessage,
  at: string,
  parts: Partial<Entry>,
): Entry {
  const status = record.snapshot.value;
  return {
    ...usual(),
    transaction: record.id,
    type: record.type,
    at,
    message,
    from: status,
    to: status,
    ...parts,
  };
}

/** Who of ops sent a message, as a part of it. */
export function signed(by: By | undefined): Pick<JournalMessage, 'by'> {
  return by === undefined ? {} : { by: { name: by.name, reason: by.reason, role: by.role } };
}

export function done(workspace: Workspace, entry: Entry): Decision {
  const record = workspace.apply(entry);
  if (record === null) throw new Error('an entry of a transaction gave no record');
  return { answer: { kind: 'applied', record }, taken: { entry, record } };
}

export function answered(answer: Answer): Decision {
  return { answer, taken: null };
}
