/** Charges under protest (MED), which somebody has to decide: the oldest first, as rows that only they have pay for. */
import { isUuidV4 } from '../../../domain/text.ts';
import { END_OF_TIME } from '../../../engine/attention/stuck.ts';
import type { ChangePlace, StoreReads } from '../../../engine/store.ts';
import type { Protests } from '../../shapes/now.ts';
import { ConsoleError } from '../errors.ts';
import { rowsOf } from '../listing.ts';
import { timeIn } from '../query.ts';

/** @throws ConsoleError */
function placeIn(after: string): ChangePlace {
  const [updatedAt = '', id = '', ...more] = after.split('~');
  if (timeIn(updatedAt) !== null && isUuidV4(id) && more.length === 0) return { updatedAt, id };
  throw new ConsoleError('INVALID_REQUEST', 'after must be what the page before gave.');
}

/** A page of them, behind the one before (null: from the oldest change on). @throws ConsoleError */
export async function listProtests(
  reads: StoreReads,
  after: string | null,
  limit: number,
): Promise<Protests> {
  const place = after === null ? null : placeIn(after);
  const records = await reads.journal.waiting('protest', place, END_OF_TIME, limit + 1);
  const shown = records.slice(0, limit);
  const last = records.length > limit ? shown.at(-1) : undefined;
  return {
    rows: await rowsOf(reads, shown),
    after: last === undefined ? null : `${last.updatedAt}~${last.id}`,
  };
}
