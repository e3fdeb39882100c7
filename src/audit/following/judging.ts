/** One batch judged by the one before it in its account's journal (I1, I2, I3): all adds up where each does. */
import { isSameJson } from '../../domain/canonical-json.ts';
import { applyPostings, sumOfPostings } from '../../domain/money.ts';
import type { BatchFault } from '../../domain/sentences/item-codes.ts';
import type { Head } from '../../engine/journal.ts';
import type { LoggedBatch } from '../../engine/store/log.ts';
import { BATCH_PARTS } from '../replay.ts';

/** Something is off: in a batch, or in a row of the log that can't be read. */
export type Fault =
  | { kind: 'batch'; account: string; seq: number; fault: BatchFault }
  | { kind: 'row'; row: number; reason: string };

export const UNREADABLE = 'unreadable';

/** The batch before, whatever is wrong with it; null where it isn't there. What is wrong with one that can't be read has been told. */
export type Before = Head | typeof UNREADABLE | null;

/** What is wrong with a batch, where anything is. @throws where it isn't made like one */
export function faultIn(
  before: Before,
  { batch, isAsHashed, isFound }: Omit<LoggedBatch, 'number'>,
): BatchFault | null {
  const unbalanced = batch.entries.some(({ postings }) => sumOfPostings(postings) !== 0);
  if (!isFound) return 'place';
  if (!isAsHashed || Object.keys(batch).length !== BATCH_PARTS) return 'content';
  if (before === UNREADABLE) return unbalanced ? 'sum' : null;
  if (before === null) return 'missing';
  if (batch.previous !== before.hash) return 'chain';
  if (batch.at < before.at) return 'time';
  if (unbalanced) return 'sum';
  const posted = batch.entries.reduce(
    (sums, { postings }) => (postings.length === 0 ? sums : applyPostings(sums, postings)),
    before.balances,
  );
  return isSameJson(batch.balances, posted) ? null : 'balances';
}
