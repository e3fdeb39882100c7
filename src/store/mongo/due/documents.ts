/**
 * What is due in documents: where it lies there, and the tokens that tell it. Timers and orders are elements of arrays
 * in their transactions' documents; a delivery is a document of its own.
 *
 * A claim is a lease: it has a token, and moves `due` to its end; since when the thing is due lies in `since` meanwhile.
 */
import type { Document } from 'mongodb';
import { timeOfText } from '../../../domain/time.ts';
import { FAR_MS } from '../../../engine/store/backlog.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { Claim, ClaimOf, Due, DueTimer } from '../../../engine/store/due.ts';
import { fromBson, type Plain, toBson, toIso } from '../bson.ts';
import type { Held, OrderElement, TimerElement, TransactionDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';

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
  /** What the clock showed when `due` was reckoned, where the last attempt doesn't tell. */
  reckonedAt?: Date;
  /** What made it due without an attempt, until the next one's end: one that is repeated finds that it did. */
  anewBy?: string;
  deliveredAt: Date | string | null;
}

/** The parts of a delivery's document that tell its progress. */
export function progressParts(record: DeliveryRecord): Plain {
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

/** Where a transaction's document holds what is due. */
export const ARRAYS = { timer: 'timers', bank: 'orders' } as const;

/** What lies as an element in a transaction's document. */
export type ElementKind = keyof typeof ARRAYS;

/** Where a claimed timer or order lies. */
export interface ElementPlace {
  kind: ElementKind;
  /** The transaction. */
  document: string;
  account: string;
  element: string;
  token: string;
}

/** Where a claimed delivery lies. */
export interface DeliveryPlace {
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

/** The parts of what `claimToken` gives. */
function partsOf(claim: Claim): { document: string; element: string; token: string } {
  const [, document = '', element = '', token = ''] = claim.token.split('|');
  return { document, element, token };
}

export function placeOfClaim(claim: Claim): ClaimPlace {
  const { kind, account } = claim.due;
  const { document, element, token } = partsOf(claim);
  return kind === 'delivery' ? { kind, document, token } : { kind, document, account, element, token };
}

/** What tells a claimed order in its transaction's document. */
export function elementOfClaim(claim: ClaimOf<'bank'>): { id: string; token: string } {
  const { element: id, token } = partsOf(claim);
  return { id, token };
}

/** The claim that a batch has on what is its writer's at once. */
export interface BatchLease {
  token: string;
  end: Date;
}

/** Tells in a document, or an element, when what a batch brings is due, and whose it is. */
export function tellDue(held: Held, { at, tries }: Due, lease: BatchLease | null): void {
  const since = new Date(at);
  held.due = lease === null ? since : lease.end;
  if (lease !== null) {
    held.since = since;
    held.token = lease.token;
  }
  if (tries > 0) held.tries = tries;
}

/** Tells by which clock (ms) an order was reckoned that is due later than what lies far ahead by any other rule. */
export function reckoningOf(at: number, clock: number): Pick<OrderElement, 'reckoned'> {
  return at - clock > FAR_MS ? { reckoned: { due: new Date(at), at: new Date(clock) } } : {};
}

/**
 * A due thing as it was found. `element` names it in its document's array; empty for a delivery. `until`: what `due`
 * is there: when it fell due, or when a claim that nobody renewed ran out.
 */
export type FoundDue = { due: Due; element: string; document: string; until: Date };

/** By how much the time that something was set by was ahead of the clock, where it is due at `at` (ms). */
function aheadOf(time: Date | string | null, at: number): { ahead?: number } {
  const ahead = time === null ? 0 : timeOfText(toIso(time)) - at;
  return ahead > 0 ? { ahead } : {};
}

function aheadOfTimer({ at: time, ahead }: TimerElement, at: number): { ahead?: number } {
  if (ahead === undefined) return aheadOf(time, at);
  return ahead > 0 ? { ahead } : {};
}

function ownOf({ own }: TimerElement): Pick<DueTimer, 'own'> {
  return own === undefined ? {} : { own: { at: own.at.getTime(), ahead: own.ahead } };
}

/** Of what is due in a transaction's document what may be claimed at a time (ms). */
export function dueInTransaction(
  kind: ElementKind,
  document: TransactionDocument,
  { now, takesLapsed }: { now: number; takesLapsed: boolean },
): FoundDue[] {
  const { _id: transaction, account } = document;
  const found: FoundDue[] = [];
  const elements: (TimerElement | OrderElement)[] =
    kind === 'timer' ? document.timers : (document.orders ?? []);
  for (const element of elements) {
    const { id, due: until, since, token, parked, tries = 0 } = element;
    if (id === undefined || until === undefined || until.getTime() > now) continue;
    if (parked === true || (token !== undefined && !takesLapsed)) continue;
    const common = { at: (since ?? until).getTime(), account, transaction, tries };
    const due: Due =
      'order' in element
        ? { ...common, kind: 'bank', order: fromBson(element.order) as OrderElement['order'] }
        : {
            ...{ ...common, kind: 'timer', name: element.name },
            ...{ ...aheadOfTimer(element, common.at), ...ownOf(element) },
          };
    found.push({ due, element: id, document: transaction, until });
  }
  return found;
}

export function dueDelivery(document: DeliveryDocument): FoundDue {
  const { _id, account, transaction, url, due: until = new Date(0), since = until, tries = 0 } = document;
  const at = since.getTime();
  const named = { account, transaction, delivery: _id, ...(url === undefined ? {} : { url }) };
  const due: Due = { kind: 'delivery', at, ...named, tries, ...aheadOf(document.nextAttemptAt, at) };
  return { due, element: '', document: _id, until };
}

/** The earliest of what was found. */
export function inOrder(found: FoundDue[], limit: number): FoundDue[] {
  return found.sort((a, b) => a.due.at - b.due.at).slice(0, limit);
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
