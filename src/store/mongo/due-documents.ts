/** What the end of a claim writes, statement by statement. */
import type { Document } from 'mongodb';
import type { DeliveryRecord, Due } from '../../engine/store.ts';
import { toBson } from './bson.ts';
import { progressParts } from './documents.ts';
import type { Place } from './place.ts';

export const PARKED = 'parked';
/** Where a transaction's document holds what is due. */
export const ARRAYS = { timer: 'timers', bank: 'orders' } as const;

/** Whether the next thing takes the place of the one before. Of an order the next step is another order. */
export function isAgain(before: Due, next: Due): boolean {
  if (next.transaction !== before.transaction || next.kind !== before.kind) return false;
  if (next.kind === 'delivery') return before.kind === 'delivery' && next.delivery === before.delivery;
  return next.kind === 'bank' || (before.kind === 'timer' && next.name === before.name);
}

export function deliveryIn(due: Due | null): string | null {
  return due?.kind === 'delivery' ? due.delivery : null;
}

const NOT_HELD = { owner: '', token: '' };

export function endOfDelivery(place: Place, next: Due | null, record: DeliveryRecord | undefined): Document {
  const progress = record === undefined ? {} : progressParts(record);
  const q = { _id: place.document, token: place.token };
  if (next === null) {
    const gone = { $unset: { ...NOT_HELD, due: '', tries: '' } };
    return { q, u: record === undefined ? gone : { $set: progress, ...gone } };
  }
  return { q, u: { $set: { ...progress, due: new Date(next.at), tries: next.tries }, $unset: NOT_HELD } };
}

/** A delivery that is due without a claim: ops started it again, or it comes from another store. */
export function newDelivery(next: Due & { kind: 'delivery' }, record: DeliveryRecord | undefined): Document {
  const { delivery, account, transaction, at, tries } = next;
  const progress = record === undefined ? {} : progressParts(record);
  const known = { attempts: [], nextAttemptAt: null, deliveredAt: null, status: 'pending' };
  const $setOnInsert = { account, transaction, ...(record === undefined ? known : {}) };
  const u = { $set: { ...progress, due: new Date(at), tries }, $setOnInsert, $unset: NOT_HELD };
  return { q: { _id: delivery, transaction }, u, upsert: true };
}

export function progressOf(record: DeliveryRecord): Document {
  const { id, account, transaction } = record;
  return { q: { _id: id, transaction }, u: { $set: { ...progressParts(record), account } }, upsert: true };
}

/** A claimed thing that is due again. */
export function again(place: Place, next: Due): Document {
  const array = ARRAYS[place.kind as 'timer' | 'bank'];
  const order = next.kind === 'bank' ? { 'orders.$.order': toBson(next.order) } : {};
  const $set = { [`${array}.$.due`]: new Date(next.at), [`${array}.$.tries`]: next.tries, ...order };
  return { q: elementOf(place), u: { $set, $unset: notHeld(array) } };
}

function notHeld(array: string): Document {
  return { [`${array}.$.owner`]: '', [`${array}.$.token`]: '' };
}

function elementOf({ kind, document, account, element: id, token }: Place): Document {
  return { _id: document, account, [ARRAYS[kind as 'timer' | 'bank']]: { $elemMatch: { id, token } } };
}

/** Claimed things that are done: orders go, timers stay in their transactions' records. */
export function endsOf(places: readonly Place[]): Document[] {
  const statements: Document[] = [];
  for (const kind of ['timer', 'bank'] as const) {
    const own = places.filter((place) => place.kind === kind);
    if (own.length === 0) continue;
    const q = { _id: { $in: [...new Set(own.map(({ document }) => document))] } };
    const id = { $in: own.map(({ element }) => element) };
    const token = { $in: [...new Set(own.map((place) => place.token))] };
    if (kind === 'bank') {
      statements.push({ q, u: { $pull: { orders: { id, token } } }, multi: true });
      continue;
    }
    const parts = ['owner', 'token', 'due', 'id', 'tries'].map((part) => [`timers.$[e].${part}`, '']);
    const arrayFilters = [{ 'e.id': id, 'e.token': token }];
    statements.push({ q, u: { $unset: Object.fromEntries(parts) }, arrayFilters, multi: true });
  }
  return statements;
}

export function newDue(next: Due & { kind: 'timer' | 'bank' }, id: string): Document {
  const { transaction, account, at, tries } = next;
  const due = new Date(at);
  if (next.kind === 'bank') {
    const order = { id, order: toBson(next.order), due, tries };
    return { q: { _id: transaction, account }, u: { $push: { orders: order } } };
  }
  // A timer that its transaction has no more is no use to anybody.
  const $set = { 'timers.$.due': due, 'timers.$.tries': tries, 'timers.$.id': id };
  return { q: { _id: transaction, account, 'timers.name': next.name }, u: { $set } };
}

export function parkedDelivery({ document, token }: Place): Document {
  return { q: { _id: document, token }, u: { $set: { owner: PARKED }, $unset: { token: '' } } };
}

export function parkedElement(place: Place): Document {
  const array = ARRAYS[place.kind as 'timer' | 'bank'];
  const u = { $set: { [`${array}.$.owner`]: PARKED }, $unset: { [`${array}.$.token`]: '' } };
  return { q: elementOf(place), u };
}
