/** Sees what is due and in nobody's hands, and changes it where it is not what it should be. */
import { DUE_KINDS } from '../../../engine/store/due.ts';
import { keyOf, ordered } from '../projections/keys.ts';
import type { Projections } from '../projections/projections.ts';
import type { Revision } from './schedule.ts';

/** Rows that are seen before others have their turn. */
const PAGE = 200;

export interface ReviseOptions {
  revision: Revision;
  /** Whether to see what lies in rows, too, of which nothing is in memory. */
  all: boolean;
}

/** How many things were changed, or ended. */
export async function revise(projections: Projections, { revision, all }: ReviseOptions): Promise<number> {
  const { schedule } = projections;
  let count = schedule.reviseNear(revision);
  if (!all) return count;
  // What lies in no row yet does then, or is in memory.
  await projections.write();
  for (const kind of DUE_KINDS) {
    let from = keyOf(kind, ordered(0));
    for (;;) {
      const rows = schedule.storedRows(kind, from, PAGE);
      for (const row of rows) count += schedule.reviseRow(row, revision);
      from = rows.at(-1)?.key ?? from;
      if (rows.length < PAGE) break;
      await projections.write();
    }
  }
  return count;
}
