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
import { allTaken, updateAll } from '../writes/writes.ts';

/** A time less as much as another one lies ahead of now, but not before now. */
function earlier(time: string, wrong: string | Document, now: Date): Document {
  return { $max: [now, { $subtract: [time, { $subtract: [wrong, now] }] }] };
}

function mapped(array: string, changes: (element: string) => { if: Document; due: unknown }[]): Document {
  const branches = changes('$$e').map(({ if: fits, due }) => ({
    case: fits,
    // biome-ignore lint/suspicious/noThenProperty: the operator's own word
    then: { $mergeObjects: ['$$e', { due }] },
  }));
  return { $map: { input: `$${array}`, as: 'e', in: { $switch: { branches, default: '$$e' } } } };
}

function isDate(value: string | Document): Document {
  return { $eq: [{ $type: value }, 'date'] };
}

function isFree(element: string): Document {
  return { $eq: [{ $type: `${element}.token` }, 'missing'] };
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

/** @returns how many documents of what is due were changed. @throws StoreUnavailable: some of it may be done */
export async function rewindAll(connection: MongoConnection, time: number): Promise<number> {
  connection.check();
  const now = new Date(time);
  const soon = new Date(time + SET_MS);
  const far = new Date(time + FAR_MS);
  const isHeldFar = (element: string): Document => ({
    $and: [{ $not: [isFree(element)] }, { $gt: [`${element}.due`, far] }],
  });
  const timers = mapped('timers', (e) => {
    const by = reckonedBy(`${e}.due`, `${e}.at`, '$updatedAt');
    const isAhead = { $and: [isFree(e), { $gt: [by, soon] }] };
    return [
      { if: isHeldFar(e), due: now },
      { if: isAhead, due: earlier(`${e}.due`, by, now) },
    ];
  });
  const orders = mapped('orders', (e) => [{ if: { $gt: [`${e}.due`, far] }, due: now }]);
  // What was never attempted, or not since ops started it again, became due when it was made.
  const by = { $ifNull: ['$reckonedAt', reckonedBy('$due', '$nextAttemptAt', ATTEMPTED), '$due'] };
  const isReckonedLater = { $gt: ['$reckonedAt', soon] };
  const deliveries = {
    $switch: {
      branches: [
        // biome-ignore lint/suspicious/noThenProperty: the operator's own word
        { case: isHeldFar('$$ROOT'), then: now },
        // biome-ignore lint/suspicious/noThenProperty: the operator's own word
        { case: { $and: [isFree('$$ROOT'), { $gt: [by, soon] }] }, then: earlier('$due', by, now) },
      ],
      default: '$due',
    },
  };
  const keptUntil = new Date(time + KEPT_MS);
  const [transactions, others, looks] = await Promise.all([
    updateOnce(connection, 'transactions', [
      { q: { 'timers.due': { $gt: soon } }, u: [{ $set: { timers } }], multi: true, hint: 'timers_due' },
      { q: { 'orders.due': { $gt: far } }, u: [{ $set: { orders } }], multi: true, hint: 'orders_due' },
    ]),
    updateOnce(connection, 'deliveries', [
      {
        q: { due: { $gt: soon } },
        u: [{ $set: { due: deliveries, reckonedAt: { $cond: [isReckonedLater, now, '$reckonedAt'] } } }],
        multi: true,
        hint: 'parked_due',
      },
    ]),
    updateOnce(connection, 'targets', [
      { q: { lookAt: { $gt: far } }, u: { $set: { lookAt: now }, $min: { keptUntil } }, multi: true },
    ]),
    // Else one that dies, or is dead, would not fall silent before that time has come; who lives beats again.
    updateOnce(connection, 'processes', [
      { q: { beatAt: { $gt: soon } }, u: { $set: { beatAt: now } }, multi: true },
    ]),
  ]);
  return transactions + others + looks;
}

/**
 * What was brought back is due when it was before: that is the time that it bears. By how much it is due earlier than
 * that, and when it became due by the wrong clock, tells when it was brought back.
 * @returns how many documents were changed
 */
export async function unwindAll(
  connection: MongoConnection,
  { ms, since, until }: SetForward,
): Promise<number> {
  connection.check();
  const isEarly = (due: string, at: string, made: string | Document): Document => {
    const early = { $subtract: [at, due] };
    const by = reckonedBy(due, at, made);
    const isByIt = [{ $gte: [by, new Date(since)] }, { $lte: [by, new Date(until)] }];
    return {
      $and: [isDate(due), isDate(at), { $gt: [early, 0] }, { $lte: [early, ms + SET_MS] }, ...isByIt],
    };
  };
  const isEarlyTimer = (e: string): Document => ({
    $and: [isFree(e), isEarly(`${e}.due`, `${e}.at`, '$updatedAt')],
  });
  const timers = mapped('timers', (e) => [{ if: isEarlyTimer(e), due: `${e}.at` }]);
  const anyEarly = { $anyElementTrue: { $map: { input: '$timers', as: 'e', in: isEarlyTimer('$$e') } } };
  const q = { 'timers.due': { $exists: true }, $expr: anyEarly };
  const early = {
    due: { $exists: true },
    token: null,
    $expr: isEarly('$due', '$nextAttemptAt', ATTEMPTED),
  };
  const [transactions, deliveries] = await Promise.all([
    updateAll(connection, 'transactions', [
      { q, u: [{ $set: { timers } }], multi: true, hint: 'timers_due' },
    ]),
    updateAll(connection, 'deliveries', [
      { q: early, u: [{ $set: { due: '$nextAttemptAt' } }], multi: true, hint: 'parked_due' },
    ]),
  ]);
  return allTaken(transactions).changed + allTaken(deliveries).changed;
}
