/**
 * What is due in documents: where it lies there, the tokens that tell it, and the statements that change it. Timers
 * and orders are elements of arrays in their transactions' documents; a delivery is a document of its own.
 */
import type { Document } from 'mongodb';
import type { Claim, DeliveryRecord, Due, Settlement } from '../../engine/store.ts';
import {
  fromBson,
  type Held,
  type OrderElement,
  type Plain,
  type TimerElement,
  type TransactionDocument,
  toBson,
  toIso,
} from './documents.ts';
import type { MongoReads } from './reads.ts';

export interface DeliveryDocument extends Plain, Held {
  _id: string;
  account: string;
  transaction: string;
  event?: string;
  url?: string;
  status: DeliveryRecord['status'];
  /** Absent until there was an attempt. */
  failures?: number;
  attempts: { at: Date | string; statusCode: number | null; error: string | null; durationMs: number }[];
  nextAttemptAt: Date | string | null;
  deliveredAt: Date | string | null;
  due?: Date;
  tries?: number;
}

/** The parts of a delivery's document that tell its progress. */
function progressParts(record: DeliveryRecord): Plain {
  const { status, failures, attempts, nextAttemptAt, deliveredAt } = record;
  return toBson({ status, failures, attempts, nextAttemptAt, deliveredAt }) as Plain;
}

export function deliveryFromDocument(document: DeliveryDocument): DeliveryRecord {
  const { _id, account, transaction, status, failures = 0, nextAttemptAt, deliveredAt } = document;
  return {
    id: _id,
    account,
    transaction,
    status,
    failures,
    attempts: fromBson(document.attempts) as DeliveryRecord['attempts'],
    nextAttemptAt: nextAttemptAt === null ? null : toIso(nextAttemptAt),
    deliveredAt: deliveredAt === null ? null : toIso(deliveredAt),
  };
}

export const PARKED = 'parked';
/** Where a transaction's document holds what is due. */
export const ARRAYS = { timer: 'timers', bank: 'orders' } as const;

/** What lies as an element in a transaction's document. */
export type ElementKind = keyof typeof ARRAYS;

/** Where a claimed timer or order lies. */
interface ElementPlace {
  kind: ElementKind;
  /** The transaction. */
  document: string;
  account: string;
  element: string;
  token: string;
}

/** Where a claimed delivery lies. */
interface DeliveryPlace {
  kind: 'delivery';
  /** The delivery. */
  document: string;
  token: string;
}

export type ClaimPlace = ElementPlace | DeliveryPlace;

/** The token of a claim on something that is due, by the token that is written where it lies. */
export function claimToken(due: Due, document: string, element: string, token: string): string {
  return [due.kind, document, element, token].join('|');
}

export function placeOfClaim({ due, token: whole }: Claim): ClaimPlace {
  const { kind, account } = due;
  const [, document = '', element = '', token = ''] = whole.split('|');
  return kind === 'delivery' ? { kind, document, token } : { kind, document, account, element, token };
}

/** A due thing as it was found. `element` names it in its document's array; empty for a delivery. */
export type FoundDue = { due: Due; element: string; document: string; owner: string | null };

/** What is due in a transaction's document until a time (ms), of these owners; null stands for what is free. */
export function dueInTransaction(
  kind: ElementKind,
  document: TransactionDocument,
  owners: readonly (string | null)[],
  until: number,
): FoundDue[] {
  const { _id: transaction, account } = document;
  const found: FoundDue[] = [];
  const elements: (TimerElement | OrderElement)[] =
    kind === 'timer' ? document.timers : (document.orders ?? []);
  for (const element of elements) {
    const { id, due: time, owner = null, tries = 0 } = element;
    if (id === undefined || time === undefined || time.getTime() > until || !owners.includes(owner)) continue;
    const common = { at: time.getTime(), account, transaction, tries };
    const due: Due =
      'order' in element
        ? { ...common, kind: 'bank', order: fromBson(element.order) as OrderElement['order'] }
        : { ...common, kind: 'timer', name: element.name };
    found.push({ due, element: id, document: transaction, owner });
  }
  return found;
}

export function dueDelivery(document: DeliveryDocument): FoundDue {
  const { _id, account, transaction, due: time, owner = null, tries = 0 } = document;
  const due: Due = { kind: 'delivery', at: time?.getTime() ?? 0, account, transaction, delivery: _id, tries };
  return { due, element: '', document: _id, owner };
}

/** Whether each claim still stands where it was written. */
export async function stillStanding(reads: MongoReads, claims: readonly Claim[]): Promise<boolean[]> {
  const places = claims.map(placeOfClaim);
  const idsOf = (isDelivery: boolean): string[] => [
    ...new Set(
      places.filter(({ kind }) => (kind === 'delivery') === isDelivery).map(({ document }) => document),
    ),
  ];
  const find = async <Found extends Document>(collection: string, ids: string[], parts: string[]) => {
    const projection = Object.fromEntries(parts.map((part) => [part, 1]));
    return ids.length === 0 ? [] : reads.find<Found>(collection, { _id: { $in: ids } }, { projection });
  };
  const elementParts = Object.values(ARRAYS).flatMap((array) => [`${array}.id`, `${array}.token`]);
  const [transactions, deliveries] = await Promise.all([
    find<TransactionDocument>('transactions', idsOf(false), elementParts),
    find<DeliveryDocument>('deliveries', idsOf(true), ['token']),
  ]);
  const standing = new Set<string>();
  for (const { _id, timers = [], orders = [] } of transactions)
    for (const { id, token } of [...timers, ...orders]) standing.add(`${_id} ${id} ${token}`);
  for (const { _id, token } of deliveries) standing.add(`${_id}  ${token}`);
  return places.map((place) => {
    const element = place.kind === 'delivery' ? '' : place.element;
    return standing.has(`${place.document} ${element} ${place.token}`);
  });
}

/** Statements that change what is due, by collection. */
export interface DueStatements {
  deliveries: Document[];
  transactions: Document[];
}

/** What settlements write; `newId` names what becomes due anew. */
export function statementsOf(settlements: readonly Settlement[], newId: () => string): DueStatements {
  const deliveries: Document[] = [];
  const transactions: Document[] = [];
  const ended: ElementPlace[] = [];
  for (const { claim, next, record } of settlements) {
    const place = claim === null ? null : placeOfClaim(claim);
    const again = claim !== null && next !== null && isSameThing(claim.due, next) ? next : null;
    // Progress lies in its delivery's own document: where that is the claim's or what is due next, in one write.
    const isApart = record !== undefined && record.id !== place?.document && record.id !== deliveryIn(next);
    if (isApart) deliveries.push(progressOf(record));
    const own = isApart ? undefined : record;
    if (place?.kind === 'delivery') deliveries.push(endOfDelivery(place, again, own));
    else if (place !== null && again !== null) transactions.push(elementAgain(place, again));
    else if (place !== null) ended.push(place);
    if (next === null || again !== null) continue;
    if (next.kind === 'delivery') deliveries.push(newDelivery(next, own));
    else transactions.push(newElement(next, newId()));
  }
  return { deliveries, transactions: [...transactions, ...endsOfElements(ended)] };
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

const NOT_HELD = { owner: '', token: '' };

function endOfDelivery(place: DeliveryPlace, next: Due | null, record: DeliveryRecord | undefined): Document {
  const progress = record === undefined ? {} : progressParts(record);
  const q = { _id: place.document, token: place.token };
  if (next === null) {
    const gone = { $unset: { ...NOT_HELD, due: '', tries: '' } };
    return { q, u: record === undefined ? gone : { $set: progress, ...gone } };
  }
  return { q, u: { $set: { ...progress, due: new Date(next.at), tries: next.tries }, $unset: NOT_HELD } };
}

/** A delivery that is due without a claim: ops started it again, or it comes from another store. */
function newDelivery(next: Due & { kind: 'delivery' }, record: DeliveryRecord | undefined): Document {
  const { delivery, account, transaction, at, tries } = next;
  const progress = record === undefined ? {} : progressParts(record);
  const known = { attempts: [], nextAttemptAt: null, deliveredAt: null, status: 'pending' };
  const $setOnInsert = { account, transaction, ...(record === undefined ? known : {}) };
  const u = { $set: { ...progress, due: new Date(at), tries }, $setOnInsert, $unset: NOT_HELD };
  return { q: { _id: delivery, transaction }, u, upsert: true };
}

function progressOf(record: DeliveryRecord): Document {
  const { id, account, transaction } = record;
  return { q: { _id: id, transaction }, u: { $set: { ...progressParts(record), account } }, upsert: true };
}

/** A claimed timer or order that is due again. */
function elementAgain(place: ElementPlace, next: Due): Document {
  const array = ARRAYS[place.kind];
  const order = next.kind === 'bank' ? { 'orders.$.order': toBson(next.order) } : {};
  const $set = { [`${array}.$.due`]: new Date(next.at), [`${array}.$.tries`]: next.tries, ...order };
  const $unset = { [`${array}.$.owner`]: '', [`${array}.$.token`]: '' };
  return { q: filterOf(place), u: { $set, $unset } };
}

function filterOf({ kind, document, account, element: id, token }: ElementPlace): Document {
  return { _id: document, account, [ARRAYS[kind]]: { $elemMatch: { id, token } } };
}

/** Claimed elements that are done: orders go, timers stay in their transactions' records. */
function endsOfElements(places: readonly ElementPlace[]): Document[] {
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

/** A timer or order that is due without a claim. */
function newElement(next: Due & { kind: ElementKind }, id: string): Document {
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

/** What parks claimed things, by collection. */
export function parkingOf(places: readonly ClaimPlace[]): DueStatements {
  const deliveries: Document[] = [];
  const transactions: Document[] = [];
  for (const place of places) {
    if (place.kind === 'delivery') {
      const { document, token } = place;
      deliveries.push({ q: { _id: document, token }, u: { $set: { owner: PARKED }, $unset: { token: '' } } });
    } else {
      const array = ARRAYS[place.kind];
      const u = { $set: { [`${array}.$.owner`]: PARKED }, $unset: { [`${array}.$.token`]: '' } };
      transactions.push({ q: filterOf(place), u });
    }
  }
  return { deliveries, transactions };
}
