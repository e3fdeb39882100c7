/** Whose money the journals count goes along, and how far the bank's list was read. */
import { BANK_MARK, RECONCILED_MARKS } from '../engine/bank.ts';
import { MigrationRefused } from './refused.ts';
import type { Stores } from './stores.ts';

/** @throws MigrationRefused where the target is another bank's */
export async function carryBank({ source, target }: Stores): Promise<void> {
  const own = await source.marks.mark(BANK_MARK);
  if (own === null) return;
  const theirs = await target.marks.mark(BANK_MARK);
  if (theirs !== null && theirs !== own) {
    const message = 'the target was begun with another bank: one store, one bank';
    throw new MigrationRefused('TARGET_OF_ANOTHER_BANK', message);
  }
  if (theirs === null) await target.marks.keepMark(BANK_MARK, own);
  // What another store's walk has read, this one's has not: the one that was less far is gone on from.
  for (const name of Object.values(RECONCILED_MARKS)) {
    const [here, there] = await Promise.all([source.marks.mark(name), target.marks.mark(name)]);
    if (here !== null && (there === null || Number(here) < Number(there)))
      await target.marks.putMark(name, here);
  }
}
