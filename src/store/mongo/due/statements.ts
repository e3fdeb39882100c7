/** The statements that change what is due: claims, their renewals, settlements, parking. */
import type { Document } from 'mongodb';
import { timeOfText } from '../../../domain/time.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import { type Due, SET_MS } from '../../../engine/store/due.ts';
import type { Settlement } from '../../../engine/store.ts';
import { toBson } from '../bson.ts';
import type { Patch, PatchKind } from '../writes/patches.ts';
import {
  ARRAYS,
  type ClaimPlace,
  type DeliveryPlace,
  type ElementKind,
  type ElementPlace,
  type FoundDue,
  placeOfClaim,
  progressParts,
  reckoningOf,
} from './documents.ts';
import { FAILED_STATUSES } from './failed-deliveries.ts';

/** Statements that change what is due, by collection. */
export interface DueStatements {
  deliveries: Document[];
  transactions: Document[];
}

/** What settlements write: the ends of claims on deliveries, and statements. */
export interface SettlingWrites extends DueStatements {
  ends: EndOfDelivery[];
  /** The settlements that start a failed delivery anew, by their statements: `taken` where another has done so. */
  anew: Map<Document, Settling>;
}

/** The end of a claim on a delivery. */
interface EndOfDelivery extends Patch {
  token: string;
}

/** What claims what was found until a time, as long as nobody else has. */
export function claimOf({ due, element: id, document, until }: FoundDue, token: string, end: Date): Document {
  const since = new Date(due.at);
  if (due.kind === 'delivery')
    return { q: { _id: document, due: until }, u: { $set: { due: end, since, token } } };
  const array = ARRAYS[due.kind];
  const $set = { [`${array}.$.due`]: end, [`${array}.$.since`]: since, [`${array}.$.token`]: token };
  return { q: { _id: document, [array]: { $elemMatch: { id, due: until } } }, u: { $set } };
}

function elementsIn(places: readonly ClaimPlace[], kind: ElementKind): ElementPlace[] {
  return places.filter((place): place is ElementPlace => place.kind === kind);
}

function documentsOf(places: readonly ClaimPlace[]): Document {
  return { $in: [...new Set(places.map(({ document }) => document))] };
}

function tokensOf(places: readonly ClaimPlace[]): Document {
  return { $in: [...new Set(places.map(({ token }) => token))] };
}

/** What moves the end of claims that still stand. */
export function renewalOf(places: readonly ClaimPlace[], end: Date): DueStatements {
  const own = places.filter(({ kind }) => kind === 'delivery');
  const q = { _id: documentsOf(own), token: tokensOf(own) };
  const deliveries = own.length === 0 ? [] : [{ q, u: { $set: { due: end } }, multi: true }];
  const transactions = (['timer', 'bank'] as const).flatMap((kind) => {
    const elements = elementsIn(places, kind);
    if (elements.length === 0) return [];
    const u = { $set: { [`${ARRAYS[kind]}.$[e].due`]: end } };
    const id = { $in: elements.map(({ element }) => element) };
    const arrayFilters = [{ 'e.id': id, 'e.token': tokensOf(elements) }];
    return [{ q: { _id: documentsOf(elements) }, u, arrayFilters, multi: true }];
  });
  return { deliveries, transactions };
}

/** A settlement, and what names the order or timer that it makes due anew. */
export interface Settling {
  settlement: Settlement;
  id: string;
}

/** What settlements write. */
export function writesOf(settling: readonly Settling[]): SettlingWrites {
  const ends: EndOfDelivery[] = [];
  const deliveries: Document[] = [];
  const transactions: Document[] = [];
  const ended: ElementPlace[] = [];
  const anew = new Map<Document, Settling>();
  for (const each of settling) {
    const { settlement, id } = each;
    const { claim, next, record, clock } = settlement;
    const place = claim === null ? null : placeOfClaim(claim);
    const again = claim !== null && next !== null && isSameThing(claim.due, next) ? next : null;
    // Progress lies in its delivery's own document: where that is the claim's or what is due next, in one write.
    const isApart = record !== undefined && record.id !== place?.document && record.id !== deliveryIn(next);
    if (isApart) deliveries.push(progressOf(record));
    const own = isApart ? undefined : record;
    if (place?.kind === 'delivery') ends.push(endOfDelivery(place, again, { record: own, clock }));
    else if (place !== null && again !== null) transactions.push(elementAgain(place, again, clock));
    else if (place !== null) ended.push(place);
    if (next === null || again !== null) continue;
    if (next.kind !== 'delivery') {
      transactions.push(newElement(next, id, clock));
      continue;
    }
    const statement = newDelivery(next, own, id);
    deliveries.push(statement);
    if (own !== undefined) anew.set(statement, each);
  }
  return { ends, deliveries, transactions: [...transactions, ...endsOfElements(ended)], anew };
}

/** Whether the next thing takes the place of the one before. Of an order the next step is another order. */
function isSameThing(before: Due, next: Due): boolean {
  if (next.transaction !== before.transaction || next.kind !== before.kind) return false;
  if (next.kind === 'delivery') return before.kind === 'delivery' && next.delivery === before.delivery;
  return next.kind === 'bank' || (before.kind === 'timer' && next.name === before.name);
}

function deliveryIn(due: Due | null): string | null {
  return due?.kind === 'delivery' ? due.delivery : null;
}

/** What tells of a claim; `owner` in documents of former builds. */
const NOT_HELD = { since: '', token: '', owner: '' };

/** What a claim on a delivery leaves behind, whoever has it by then. */
export const END_OF_DELIVERY: PatchKind = {
  collection: 'deliveries',
  fits: { $eq: ['$token', '$$patch.token'] },
  gone: [...Object.keys(NOT_HELD), 'due', 'tries', 'reckonedAt', 'followed', 'anewBy'],
};

function endOfDelivery(
  { document: _id, token }: DeliveryPlace,
  next: Due | null,
  { record, clock }: { record: DeliveryRecord | undefined; clock: number | undefined },
): EndOfDelivery {
  const set = record === undefined ? {} : progressParts(record);
  if (next !== null) Object.assign(set, { due: new Date(next.at), tries: next.tries });
  if (next !== null && clock !== undefined && !tells(record, clock))
    Object.assign(set, { reckonedAt: new Date(clock) });
  return { _id, token, set };
}

/** Whether the last attempt tells when what comes of it was reckoned: there was one, and no clock was set meanwhile. */
function tells(record: DeliveryRecord | undefined, clock: number): boolean {
  const last = record?.attempts.at(-1);
  if (last === undefined) return false;
  return Math.abs(timeOfText(last.at) + last.durationMs - clock) <= SET_MS;
}

/** A delivery that is due without a claim: ops started it again, or it comes from another store. */
function newDelivery(
  next: Due & { kind: 'delivery' },
  record: DeliveryRecord | undefined,
  anewBy: string,
): Document {
  const { delivery, account, transaction, url, at, tries } = next;
  const named = url === undefined ? {} : { url };
  const progress = record === undefined ? {} : progressParts(record);
  const known = { attempts: [], nextAttemptAt: null, deliveredAt: null, status: 'pending' };
  const $setOnInsert = { account, transaction, ...(record === undefined ? known : {}) };
  const $unset = { ...NOT_HELD, parked: '', reckonedAt: '' };
  const u = { $set: { ...progress, ...named, due: new Date(at), tries, anewBy }, $setOnInsert, $unset };
  // What has come further since it was read stays as it is: another process has started it again, or this write did,
  // whose answer was lost.
  const asRead =
    record === undefined
      ? {}
      : { status: { $in: FAILED_STATUSES }, attempts: { $size: record.attempts.length } };
  return { q: { _id: delivery, transaction, ...asRead }, u, upsert: true };
}

function progressOf(record: DeliveryRecord): Document {
  const { id, account, transaction } = record;
  return { q: { _id: id, transaction }, u: { $set: { ...progressParts(record), account } }, upsert: true };
}

/** A claimed timer or order that is due again. */
function elementAgain(place: ElementPlace, next: Due, clock = next.at): Document {
  const array = ARRAYS[place.kind];
  const { set, unset } = next.kind === 'bank' ? orderAgain(next, clock) : timerAgain(next, clock);
  const $set = { [`${array}.$.due`]: new Date(next.at), [`${array}.$.tries`]: next.tries, ...set };
  return { q: filterOf(place), u: { $set, $unset: { ...notHeldIn(`${array}.$`), ...unset } } };
}

interface AgainParts {
  set: Document;
  unset: Document;
}

function orderAgain(next: Due & { kind: 'bank' }, clock: number): AgainParts {
  const { reckoned } = reckoningOf(next.at, clock);
  const set = { 'orders.$.order': toBson(next.order), ...(reckoned && { 'orders.$.reckoned': reckoned }) };
  return { set, unset: {} };
}

function timerAgain(next: Due, clock: number): AgainParts {
  const own = next.kind === 'timer' ? next.own : undefined;
  // By how much a timer's own time is ahead isn't told by when it is due any more.
  const set = { 'timers.$.ahead': next.ahead ?? 0 };
  if (own === undefined) return { set, unset: { 'timers.$.own': '', 'timers.$.reckonedAt': '' } };
  const kept = { at: new Date(own.at), ahead: own.ahead };
  return { set: { ...set, 'timers.$.own': kept, 'timers.$.reckonedAt': new Date(clock) }, unset: {} };
}

function notHeldIn(element: string): Document {
  return Object.fromEntries(Object.keys(NOT_HELD).map((part) => [`${element}.${part}`, '']));
}

function filterOf({ kind, document, account, element: id, token }: ElementPlace): Document {
  return { _id: document, account, [ARRAYS[kind]]: { $elemMatch: { id, token } } };
}

/** What a timer has in its transaction's record while it is due. */
const TIMER_PROGRESS = ['due', 'id', 'tries', 'ahead', 'own', 'reckonedAt', 'followed'];

/** Claimed elements that are done: orders go, timers stay in their transactions' records. */
function endsOfElements(places: readonly ElementPlace[]): Document[] {
  const statements: Document[] = [];
  for (const kind of ['timer', 'bank'] as const) {
    const own = elementsIn(places, kind);
    if (own.length === 0) continue;
    const q = { _id: documentsOf(own) };
    const id = { $in: own.map(({ element }) => element) };
    const token = tokensOf(own);
    if (kind === 'bank') {
      statements.push({ q, u: { $pull: { orders: { id, token } } }, multi: true });
      continue;
    }
    const element = 'timers.$[e]';
    const parts = TIMER_PROGRESS.map((part) => [`${element}.${part}`, '']);
    const $unset = { ...Object.fromEntries(parts), ...notHeldIn(element) };
    statements.push({ q, u: { $unset }, arrayFilters: [{ 'e.id': id, 'e.token': token }], multi: true });
  }
  return statements;
}

/** A timer or order that is due without a claim. */
function newElement(next: Due & { kind: ElementKind }, id: string, clock = next.at): Document {
  const { transaction, account, at, tries } = next;
  const due = new Date(at);
  if (next.kind === 'bank') {
    const order = { id, order: toBson(next.order), due, tries, ...reckoningOf(at, clock) };
    // Where the answer was lost on the way, the order is there already.
    return { q: { _id: transaction, account, 'orders.id': { $ne: id } }, u: { $push: { orders: order } } };
  }
  // A timer that its transaction has no more is no use to anybody.
  const $set = { 'timers.$.due': due, 'timers.$.tries': tries, 'timers.$.id': id };
  return { q: { _id: transaction, account, 'timers.name': next.name }, u: { $set } };
}

/** What parks claimed things, by collection. */
export function parkingOf(places: readonly ClaimPlace[]): DueStatements {
  const deliveries: Document[] = [];
  const transactions: Document[] = [];
  for (const place of places) {
    if (place.kind === 'delivery') {
      const { document, token } = place;
      deliveries.push({ q: { _id: document, token }, u: { $set: { parked: true }, $unset: NOT_HELD } });
    } else {
      const element = `${ARRAYS[place.kind]}.$`;
      const u = { $set: { [`${element}.parked`]: true }, $unset: notHeldIn(element) };
      transactions.push({ q: filterOf(place), u });
    }
  }
  return { deliveries, transactions };
}

/** What makes parked timers or orders in documents due again. */
export function unparkedElements(kind: ElementKind, documents: readonly string[], due: Date): Document {
  const element = `${ARRAYS[kind]}.$[e]`;
  const u = { $set: { [`${element}.due`]: due }, $unset: { [`${element}.parked`]: '' } };
  return { q: { _id: { $in: documents } }, u, arrayFilters: [{ 'e.parked': true }], multi: true };
}

/** What makes parked deliveries due again. */
export function unparkedDeliveries(documents: readonly string[], due: Date): Document {
  return {
    q: { _id: { $in: documents }, parked: true, due: { $exists: true } },
    u: { $set: { due }, $unset: { parked: '', reckonedAt: '' } },
    multi: true,
  };
}
