/**
 * Brings back what lies ahead because the database's clock was wrong when it became due, and the heartbeats of that time.
 * Each statement may be run again, by any process: what was brought back doesn't fit it any more. But none that brings
 * back is sent again with its time of then: it would bring back what was made since, by a clock that is right.
 */
import type { Document } from 'mongodb';
import { FAR_MS } from '../../../engine/store/backlog.ts';
import { SET_MS, type SetForward } from '../../../engine/store/due.ts';
import { KEPT_MS } from '../backlog.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import type { MongoReads } from '../reads.ts';
import { inWindows } from './windows.ts';

/** A time less as much as another one lies ahead of now, but not before now. */
function earlier(time: string, wrong: string | Document, now: Date): Document {
  return { $max: [now, { $subtract: [time, { $subtract: [wrong, now] }] }] };
}

/** What is set of a thing that becomes due at another time: by how much its own time is ahead, where that is kept. */
function movedTo(place: string, due: Document): { due: Document; ahead: Document } {
  const ahead = `${place}ahead`;
  const by = { $subtract: [`${place}due`, due] };
  return { due, ahead: { $cond: [{ $isNumber: ahead }, { $add: [ahead, by] }, '$$REMOVE'] } };
}

function mapped(array: string, changes: (element: string) => { if: Document; set: Document }[]): Document {
  const branches = changes('$$e').map(({ if: fits, set }) => ({
    case: fits,
    // biome-ignore lint/suspicious/noThenProperty: the operator's own word
    then: { $mergeObjects: ['$$e', set] },
  }));
  return { $map: { input: `$${array}`, as: 'e', in: { $switch: { branches, default: '$$e' } } } };
}

function isDate(value: string | Document): Document {
  return { $eq: [{ $type: value }, 'date'] };
}

function isFree(element: string): Document {
  return { $eq: [{ $type: `${element}.token` }, 'missing'] };
}

/** What is due later than that lies ahead. */
function soonAfter(now: Date): Date {
  return new Date(now.getTime() + SET_MS);
}

/** Whether it is due later than anything is put off to, or held for. */
function isFarAt(element: string, now: Date): Document {
  return { $gt: [`${element}.due`, new Date(now.getTime() + FAR_MS)] };
}

function isHeldFar(element: string, now: Date): Document {
  return { $and: [{ $not: [isFree(element)] }, isFarAt(element, now)] };
}

/** When a delivery was attempted last. */
const ATTEMPTED = { $last: '$attempts.at' };

/**
 * By which time of the clock something became due, that bears the time `at` since `made`: what is due earlier than that
 * was brought back, or made by a process whose clock was behind its account's time. Null where that can't be told.
 */
function reckonedBy(due: string, at: string, made: string | Document): Document {
  const early = { $subtract: [at, due] };
  return { $cond: [{ $and: [isDate(at), isDate(made)] }, { $subtract: [made, early] }, null] };
}

/** Sends statements, once; gives how many documents they changed. @throws StoreUnavailable: the caller asks again */
async function updateOnce(
  connection: MongoConnection,
  collection: string,
  updates: Document[],
): Promise<number> {
  const command = { update: collection, updates, ordered: false, writeConcern: MAJORITY };
  return (await connection.command(command)).nModified;
}

/** By which time of the clock a delivery became due that was attempted. */
const RECKONED = { $ifNull: ['$reckonedAt', reckonedBy('$due', '$nextAttemptAt', ATTEMPTED)] };

interface Database {
  connection: MongoConnection;
  reads: MongoReads;
  /** The database's clock, ms since 1970. */
  now(): number;
}

/** What is due of a kind, and what to change it by. */
interface DueChange {
  collection: 'transactions' | 'deliveries';
  /** Elements of an array; null: the document itself. */
  array: 'timers' | 'orders' | null;
  hint: string;
  from: number;
  /** The statement's other parts, as of the moment that it is sent in. */
  change(): { q?: Document; u: Document[] };
}

/** Parked or not: the index begins with that, and is of no use to what doesn't ask for it. */
const EITHER = { $in: [null, true] };

/** How many documents were changed. @throws StoreUnavailable: some of it may be done */
function changeDue(
  { connection, reads }: Database,
  { collection, array, hint, from, change }: DueChange,
): Promise<number> {
  const dueIn = (time: Document): Document => {
    const held = { parked: EITHER, due: time };
    return array === null ? held : { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: held } };
  };
  return inWindows({
    from,
    isMore: async (after) => {
      const options = { projection: { _id: 1 }, limit: 1, hint };
      return (await reads.find(collection, dueIn({ $gt: new Date(after) }), options)).length > 0;
    },
    change: (after, upTo) => {
      const { q, u } = change();
      const due = dueIn({ $gt: new Date(after), $lte: new Date(upTo) });
      return updateOnce(connection, collection, [{ q: { ...due, ...q }, u, multi: true, hint }]);
    },
  });
}

/** When a delivery that is due becomes so where the clock is right, and by which time it was reckoned. */
function deliveriesAt(now: Date): Document {
  // What was never attempted, or not since ops started it again, became due when it was made.
  const by = { $ifNull: [RECKONED, '$due'] };
  const soon = soonAfter(now);
  const isAhead = { $and: [isFree('$$ROOT'), { $gt: [by, soon] }] };
  const due = {
    $switch: {
      branches: [
        // biome-ignore lint/suspicious/noThenProperty: the operator's own word
        { case: isHeldFar('$$ROOT', now), then: now },
        // biome-ignore lint/suspicious/noThenProperty: the operator's own word
        { case: isAhead, then: earlier('$due', by, now) },
      ],
      default: '$due',
    },
  };
  return {
    due,
    reckonedAt: { $cond: [{ $gt: ['$reckonedAt', soon] }, now, '$reckonedAt'] },
    followed: { $cond: [isAhead, 0, '$followed'] },
  };
}

/** By which time of the clock a timer became due, or was put off, and up to when it may be put off with the clock. */
function reckoningOfTimer(e: string): { by: Document; at: Document } {
  const isPutOff = isDate(`${e}.reckonedAt`);
  const by = reckonedBy(`${e}.due`, `${e}.at`, '$updatedAt');
  return {
    by: { $cond: [isPutOff, `${e}.reckonedAt`, by] },
    at: { $cond: [isPutOff, { $add: [`${e}.due`, `${e}.ahead`] }, `${e}.at`] },
  };
}

/** By which time of the clock a timer that was put off becomes due at another time. */
function reckonedAtOf(e: string, due: Document): Document {
  const reckonedAt = { $add: [`${e}.reckonedAt`, { $subtract: [due, `${e}.due`] }] };
  return { $cond: [isDate(`${e}.reckonedAt`), reckonedAt, '$$REMOVE'] };
}

function timersAt(now: Date): Document {
  return mapped('timers', (e) => {
    const { by } = reckoningOfTimer(e);
    const isAhead = { $and: [isFree(e), { $gt: [by, soonAfter(now)] }] };
    const due = earlier(`${e}.due`, by, now);
    return [
      { if: isHeldFar(e, now), set: { due: now } },
      { if: isAhead, set: { ...movedTo(`${e}.`, due), reckonedAt: reckonedAtOf(e, due), followed: 0 } },
    ];
  });
}

/** An order that doesn't tell by which clock it was reckoned, and lies far ahead, was to come soon. */
function ordersAt(now: Date): Document {
  return mapped('orders', (e) => {
    const isTold = { $and: [isFree(e), { $eq: [`${e}.due`, `${e}.reckoned.due`] }] };
    const isAhead = { $gt: [`${e}.reckoned.at`, soonAfter(now)] };
    const due = earlier(`${e}.due`, `${e}.reckoned.at`, now);
    return [
      { if: { $and: [isTold, isAhead] }, set: { due, reckoned: { due, at: now } } },
      { if: { $and: [{ $not: [isTold] }, isFarAt(e, now)] }, set: { due: now } },
    ];
  });
}

/** @returns how many documents of what is due were changed. @throws StoreUnavailable: some of it may be done */
export async function rewindAll(database: Database, time: number): Promise<number> {
  const { connection } = database;
  connection.check();
  // It goes on meanwhile.
  const now = (): Date => new Date(Math.max(time, database.now()));
  const far = time + FAR_MS;
  const [timers, orders, deliveries, looks] = await Promise.all([
    changeDue(database, {
      ...{ collection: 'transactions', array: 'timers', hint: 'timers_due', from: time + SET_MS },
      change: () => ({ u: [{ $set: { timers: timersAt(now()) } }] }),
    }),
    changeDue(database, {
      ...{ collection: 'transactions', array: 'orders', hint: 'orders_due', from: far },
      change: () => ({ u: [{ $set: { orders: ordersAt(now()) } }] }),
    }),
    changeDue(database, {
      ...{ collection: 'deliveries', array: null, hint: 'parked_due', from: time + SET_MS },
      change: () => ({ u: [{ $set: deliveriesAt(now()) }] }),
    }),
    updateOnce(connection, 'targets', [
      {
        q: { lookAt: { $gt: new Date(far) } },
        u: { $set: { lookAt: now() }, $min: { keptUntil: new Date(time + KEPT_MS) } },
        multi: true,
      },
    ]),
    // Else one that dies, or is dead, would not fall silent before that time has come; who lives beats again.
    updateOnce(connection, 'processes', [
      { q: { beatAt: { $gt: soonAfter(now()) } }, u: { $set: { beatAt: now() } }, multi: true },
    ]),
  ]);
  return timers + orders + deliveries + looks;
}

/** Whether something follows a step of the clock, and what is set where it does. */
function followingStep(
  { number, ms, since, until }: SetForward,
  { place, at, by }: { place: string; at: string | Document; by: Document },
): { if: Document; set: { due: Document; ahead: Document; followed: number } } {
  const due = `${place}due`;
  const early = { $subtract: [at, due] };
  const isByIt = [{ $gte: [by, new Date(since)] }, { $lte: [by, new Date(until)] }];
  const hasNot = { $lt: [{ $ifNull: [`${place}followed`, 0] }, number] };
  const later = { $cond: [{ $lte: [early, ms + SET_MS] }, at, { $add: [due, ms] }] };
  return {
    if: { $and: [isDate(due), isDate(at), hasNot, { $gt: [early, 0] }, ...isByIt] },
    set: { ...movedTo(place, later), followed: number },
  };
}

/**
 * What was brought back is put off by as much as the clock was set forward, up to the time that it bears: it was due
 * then before. By how much it is due earlier than that, and when it became due by the wrong clock, tells when it was
 * brought back. It comes by again in a later window: the step's number tells that it has followed it.
 * @returns how many documents were changed
 */
export async function unwindAll(database: Database, forward: SetForward): Promise<number> {
  database.connection.check();
  const following = (e: string): { if: Document; set: Document } => {
    const { if: fits, set } = followingStep(forward, { place: `${e}.`, ...reckoningOfTimer(e) });
    return { if: { $and: [isFree(e), fits] }, set: { ...set, reckonedAt: reckonedAtOf(e, set.due) } };
  };
  const timers = mapped('timers', (e) => [following(e)]);
  const any = { $anyElementTrue: { $map: { input: '$timers', as: 'e', in: following('$$e').if } } };
  const delivery = followingStep(forward, { place: '$', at: '$nextAttemptAt', by: RECKONED });
  // It was reckoned by a clock that was behind by as much; where nothing tells by which one, nothing is told.
  const reckonedAt = { $add: ['$reckonedAt', { $subtract: [delivery.set.due, '$due'] }] };
  const put = { ...delivery.set, reckonedAt: { $cond: [isDate('$reckonedAt'), reckonedAt, '$$REMOVE'] } };
  // Nothing became due before it was made.
  const from = forward.since - 1;
  const [transactions, deliveries] = await Promise.all([
    changeDue(database, {
      ...{ collection: 'transactions', array: 'timers', hint: 'timers_due', from },
      change: () => ({ q: { $expr: any }, u: [{ $set: { timers } }] }),
    }),
    changeDue(database, {
      ...{ collection: 'deliveries', array: null, hint: 'parked_due', from },
      change: () => ({ q: { token: null, $expr: delivery.if }, u: [{ $set: put }] }),
    }),
  ]);
  return transactions + deliveries;
}
