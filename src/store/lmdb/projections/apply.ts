/**
 * What a row of the log changes in the projections: the same for a batch that was just written, whose projections the
 * engine has made, and for one that is read again.
 */
import type { Account } from '../../../domain/account.ts';
import { timeOfText } from '../../../domain/time.ts';
import { isProtested, stuckKeys, waitOf } from '../../../engine/attention/stuck.ts';
import type { Batch, Entry, TransactionRecord } from '../../../engine/journal.ts';
import { lookupsOf } from '../../../engine/lookups.ts';
import { attentionItems, dueOf, project } from '../../../engine/project.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import { type Claim, type Due, isClaimed } from '../../../engine/store/due.ts';
import type { LookupRow } from '../../../engine/store/lookups.ts';
import type { Append, AttentionItem, Wait } from '../../../engine/store.ts';
import type { FactsPlace } from '../log/group.ts';
import type { Fact } from '../log/rows.ts';
import { countIn, discount, dismiss, noteAnew, noteUnlessKnown, withdraw } from './attention.ts';
import { keyOf, ordered } from './keys.ts';
import type { Projections } from './projections.ts';
import { keepQuoter } from './quoters.ts';

/** A batch and what follows from it, with the number of its row. */
export interface Projected extends Pick<Append, 'records' | 'lookups' | 'due' | 'attention' | 'withdrawn'> {
  number: number;
  account: string;
  seq: number;
  entries: readonly Pick<Entry, 'transaction' | 'refusal'>[];
  /** The clock by which it was decided, ms. */
  made: number;
}

/** The name of a due thing that a row gives: the same whenever the row is read. */
function dueId(number: number, index: number): string {
  return `${number}.${index}`;
}

function waitKey(wait: Wait, { updatedAt, id }: TransactionRecord): string {
  return keyOf(wait, ordered(timeOfText(updatedAt)), id);
}

/** The key by which a record that waits for the bank is found; null where it doesn't wait. */
function bankKey(record: TransactionRecord): string | null {
  const wait = waitOf(record);
  return wait === null ? null : waitKey(wait, record);
}

/** The same for what waits for ops. */
function protestKey(record: TransactionRecord): string | null {
  return isProtested(record) ? waitKey('protest', record) : null;
}

/** All keys by which a record is found that waits. */
export function waitKeys(record: TransactionRecord): string[] {
  return [bankKey(record), protestKey(record)].filter((key) => key !== null);
}

function moveWait({ waits }: Projections, before: string | null, after: string | null): void {
  if (before === after) return;
  if (before !== null) waits.remove(before);
  if (after !== null) waits.put(after, '');
}

/** Puts a record in the place of the one before. */
function putRecord(
  projections: Projections,
  record: TransactionRecord,
  number: number,
  isAwaited: boolean,
): void {
  const { records } = projections;
  // A record of a single batch has none before it, unless a refused message has changed it since.
  const isFirst = record.seqs.length === 1 && record.refusals === undefined;
  const before = isFirst ? null : records.get(record.id);
  const key = bankKey(record);
  moveWait(projections, before === null ? null : bankKey(before), key);
  moveWait(projections, before === null ? null : protestKey(before), protestKey(record));
  // What waits for the bank is asked for when it answers.
  records.put(record, number, isAwaited || key !== null);
}

export function putLookup(projections: Projections, account: string, lookup: LookupRow): void {
  const { name, key, value } = lookup;
  projections.lookups.put(keyOf(account, name, key), value);
  keepQuoter(projections, account, lookup);
}

/** The transactions with orders to the bank among what is due: they are asked for again soon. Null: none. */
function ordersOf(due: Projected['due']): Set<string> | null {
  let ids: Set<string> | null = null;
  for (const each of due)
    if (each?.kind === 'bank') {
      ids ??= new Set();
      ids.add(each.transaction);
    }
  return ids;
}

/** Applies a batch but for what it makes due. */
function applyBatch(projections: Projections, batch: Projected): void {
  const { number, account, seq, records, lookups, entries, due, attention, withdrawn } = batch;
  projections.places.add(account, seq, number);
  const awaited = ordersOf(due);
  for (const record of records) putRecord(projections, record, number, awaited?.has(record.id) === true);
  for (const lookup of lookups) putLookup(projections, account, lookup);
  for (const { transaction, refusal } of entries)
    if (transaction !== null && refusal !== null)
      projections.refusals.put(keyOf(transaction, ordered(seq)), '');
  for (const item of attention) noteUnlessKnown(projections, item);
  for (const key of withdrawn) withdraw(projections, key);
}

/** Makes due what a batch does; the claims on what is due by `claimUntil` (ms). */
function makeDue({ schedule }: Projections, { number, due, made }: Projected, claimUntil: number): Claim[] {
  const claims: Claim[] = [];
  for (const [index, each] of due.entries()) {
    if (each === null) continue;
    const id = dueId(number, index);
    if (isClaimed(each, claimUntil)) claims.push(schedule.addHeld(id, each, made));
    else schedule.add(id, each, made);
  }
  return claims;
}

/** Applies a batch that was just written; gives the claims on what it made due by `claimUntil`. */
export function applyAppended(projections: Projections, batch: Projected, claimUntil: number): Claim[] {
  applyBatch(projections, batch);
  return makeDue(projections, batch, claimUntil);
}

/** A batch that is read again, with what follows from it as the projections are now. */
export function projected(projections: Projections, number: number, batch: Batch, ahead: number): Projected {
  const { account, seq, entries } = batch;
  const changed = new Map<string, TransactionRecord>();
  const lookups: LookupRow[] = [];
  const due: Due[] = [];
  const attention: AttentionItem[] = [];
  const waited: TransactionRecord[] = [];
  for (const entry of entries) {
    const id = entry.transaction;
    let record: TransactionRecord | null = null;
    if (id !== null) {
      const before = changed.get(id) ?? projections.records.get(id);
      if (before !== null && !changed.has(id) && waitOf(before) !== null) waited.push(before);
      record = project(before, account, seq, entry);
      changed.set(id, record);
    }
    lookups.push(...lookupsOf(entry));
    due.push(...dueOf(account, entry, ahead));
    attention.push(...attentionItems(account, entry, record));
  }
  const made = timeOfText(batch.at) - ahead;
  // A refused message leaves a transaction where it was, and as stuck as it was.
  const moved = waited.filter(({ id, seqs }) => changed.get(id)?.seqs.at(-1) !== seqs.at(-1));
  const withdrawn = moved.flatMap((record) => stuckKeys(record, changed.get(record.id) ?? record));
  const derived = { records: [...changed.values()], lookups, due, attention, withdrawn };
  return { number, account, seq, entries, made, ...derived };
}

/** Applies a batch that is read again; `isDue`: what it makes due counts still. */
export function applyAgain(projections: Projections, batch: Projected, isDue: boolean): void {
  applyBatch(projections, batch);
  if (isDue) makeDue(projections, batch, Number.NEGATIVE_INFINITY);
}

/** Whether its first attempt has delivered it: it has never failed then, or whoever revived it has said that it waits. */
function isDeliveredAtOnce({ status, attempts }: DeliveryRecord): boolean {
  return status === 'delivered' && attempts.length === 1;
}

function putDelivery({ deliveries, failed }: Projections, fact: Fact & { kind: 'delivery' }): void {
  const { record, url, text = JSON.stringify(record) } = fact;
  const { id, transaction } = record;
  if (!isDeliveredAtOnce(record)) failed.moved(deliveries.get(transaction, id), record, url);
  deliveries.put(transaction, id, text);
}

function putAccount({ accounts, clients }: Projections, account: Account): void {
  const before = accounts.get(account.id);
  if (before !== null && before.clientId !== account.clientId) clients.remove(before.clientId);
  clients.put(account.clientId, account.id);
  accounts.put(account.id, account);
}

/** Applies one fact of a row. */
export function applyFact(projections: Projections, fact: Fact, number: number, index: number): void {
  switch (fact.kind) {
    case 'delivery':
      putDelivery(projections, fact);
      break;
    case 'due':
      projections.schedule.add(dueId(number, index), fact.due, fact.made);
      break;
    case 'ended':
      projections.schedule.forget(fact.at, fact.id);
      break;
    case 'noted':
      if (fact.anew === true) noteAnew(projections, fact.item);
      else noteUnlessKnown(projections, fact.item);
      if (fact.done === true) dismiss(projections, fact.item);
      break;
    case 'counted':
      countIn(projections, fact.item);
      break;
    case 'discounted':
      discount(projections, fact.key, fact.by);
      break;
    case 'dismissed':
      dismiss(projections, fact.key, fact.by);
      break;
    case 'withdrawn':
      withdraw(projections, fact.key);
      break;
    case 'account':
      putAccount(projections, fact.account);
      break;
    case 'mark':
      projections.marks.put(fact.name, fact.text);
  }
}

/** Applies facts that were written, from a place in their row on. */
export function applyFacts(
  projections: Projections,
  facts: readonly Fact[],
  { number, from }: FactsPlace,
): void {
  for (const [index, fact] of facts.entries()) applyFact(projections, fact, number, from + index);
}
