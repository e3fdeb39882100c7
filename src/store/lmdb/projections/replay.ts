/**
 * Takes up the log behind the projections' mark: what was written to it, and not to them. What has ended meanwhile of
 * what the rows make due is sifted out where it is at hand: the rest are hints, and turn out to be no more true.
 */
import type { Due } from '../../../engine/store/due.ts';
import { OperatorError, textOf } from '../../../errors.ts';
import { turn } from '../../../waiting.ts';
import { revise } from '../due/revise.ts';
import { broughtBack } from '../due/rewind.ts';
import type { Revision } from '../due/schedule.ts';
import { parseBatch } from '../log/batch-value.ts';
import type { Log } from '../log/log.ts';
import { parseRow } from '../log/rows.ts';
import { applyAgain, applyFact, projected } from './apply.ts';
import type { Projections } from './projections.ts';

/** So many changes wait at the most before they are written, where they may be. */
const MOST_WAITING = 50_000;
/** So often others have their turn, where they may have something to say: a row may have hundreds of entries. */
const TURN_EVERY_MS = 20;

/** Applies one row. @throws Error where it can't be read */
function applyRow(projections: Projections, number: number, text: string, dueFrom: number): void {
  const row = parseRow(text);
  if (row.kind === 'facts') {
    for (const [index, fact] of row.facts.entries()) {
      const isOfDue = fact.kind === 'due' || fact.kind === 'ended';
      if (!isOfDue || number >= dueFrom) applyFact(projections, fact, number, index);
    }
    return;
  }
  const batch = projected(projections, number, parseBatch(row.value), row.ahead);
  applyAgain(projections, batch, number >= dueFrom);
}

/** Whether what a row made due is still to come, as far as the records tell. */
function isToCome({ accounts, records, deliveries }: Projections, due: Due): boolean {
  // What was due of an account that another store has was moved there.
  if (accounts.get(due.account)?.handedOver === true) return false;
  // An end names its order by id and time. The sandbox's payouts are due later than their orders say, which come again
  // here: such an end may miss them. Of a transfer that has ended there is nothing left to order.
  if (due.kind === 'bank') return due.order.kind !== 'payout' || records.get(due.transaction)?.final !== true;
  if (due.kind === 'timer')
    return records.get(due.transaction)?.timers.some(({ name }) => name === due.name) === true;
  const record = deliveries.get(due.transaction, due.delivery);
  if (record === null || record.status === 'pending') return true;
  // What comes after a failed attempt is due by itself.
  return record.status === 'retrying' && (due.tries > 0 || record.failures === 0);
}

/**
 * Takes up what was written since, but for what it makes due: for those who only read, beside the one who writes.
 * @throws Error where a row can't be read
 */
export function follow(log: Log, projections: Projections): void {
  log.renew();
  for (const { number, text } of log.after(projections.mark)) {
    applyRow(projections, number, text, Number.POSITIVE_INFINITY);
    projections.upTo(number);
  }
}

export interface ReplayOptions {
  log: Log;
  projections: Projections;
  /** Ms since 1970. */
  now(): number;
  /** Nothing behind this row. */
  upTo: number;
  /** Stops it: what was written by then is behind the mark. Null: nothing else has a turn, which takes less time. */
  signal: AbortSignal | null;
  /** Hears now and then how many rows were taken up, of how many. */
  onProgress(rows: number, of: number): void;
}

/** @throws OperatorError where a row can't be read; the signal's reason */
export async function replay(options: ReplayOptions): Promise<void> {
  const { log, projections, now, upTo, signal, onProgress } = options;
  const { mark } = projections;
  const of = Math.min(log.last, upTo) - mark;
  const dueFrom = log.state()?.dueFrom ?? 0;
  let rows = 0;
  let hasWritten = false;
  let turnAt = performance.now();
  for (const { number, text } of log.after(mark)) {
    if (number > upTo) break;
    try {
      applyRow(projections, number, text, dueFrom);
    } catch (error) {
      const account = /"account":(?:\{"id":)?"([^"\\]*)"/.exec(text)?.[1];
      const whose = account === undefined ? '' : `, of ${account},`;
      throw new OperatorError(`row ${number} of the log${whose} can't be read: ${textOf(error)}`);
    }
    projections.upTo(number);
    rows += 1;
    if (signal !== null && performance.now() - turnAt >= TURN_EVERY_MS) {
      await turn();
      signal.throwIfAborted();
      turnAt = performance.now();
    }
    if (projections.waiting < MOST_WAITING || !projections.isWritable) continue;
    onProgress(rows, of);
    await projections.write();
    hasWritten = true;
  }
  // A clock that was wrong made things anew, too, that were brought back before: the log doesn't tell of that.
  const revision: Revision = (thing) => (isToCome(projections, thing.due) ? broughtBack(thing, now()) : null);
  if (rows > 0) await revise(projections, { revision, all: hasWritten });
}
