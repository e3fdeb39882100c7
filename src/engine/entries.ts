/** Entries as decisions make them: from a statechart's step, or as a remark that changes no state. */
import type { EmitParams, PostParams } from '../../machines/effects.ts';
import type { Snapshot } from '../../machines/index.ts';
import type { Account } from '../accounts/account.ts';
import { deliveryId, eventId, isWanted } from '../domain/events.ts';
import type { Posting } from '../domain/money.ts';
import type { TransactionType } from '../domain/transactions.ts';
import { type Step, upToDate, versionOf } from './chart.ts';
import type { Answer } from './commands.ts';
import type { Entry, JournalEvent, JournalMessage, TransactionRecord } from './journal.ts';
import { changedParts } from './project.ts';
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
export function entryOf(
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
export function remark(
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

export function done(workspace: Workspace, entry: Entry): Decision {
  const record = workspace.take(entry);
  if (record === null) throw new Error('an entry of a transaction gave no record');
  return { answer: { kind: 'applied', record }, taken: { entry, record } };
}

export function answered(answer: Answer): Decision {
  return { answer, taken: null };
}
