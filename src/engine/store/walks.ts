/** Ways through a store's journals: what is held of them is bounded, whatever there is. */
import { timeOfText } from '../../domain/time.ts';
import type { Batch } from '../journal.ts';
import type { JournalReads } from '../store.ts';

const ACCOUNTS = 500;

/** All accounts that have a journal or settings, in the order of their ids. */
export async function* accountsIn(journal: Pick<JournalReads, 'accountIds'>): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const ids = await journal.accountIds(after, ACCOUNTS);
    yield* ids;
    if (ids.length < ACCOUNTS) return;
    after = ids.at(-1) ?? after;
  }
}

function lastTime({ at, entries }: Batch): number {
  return timeOfText(entries.at(-1)?.at ?? at);
}

/**
 * The first of so many batches of an account that has an entry of this time (ms) or later; the one after them where
 * none has. It is searched for: the times of an account's entries never go back.
 */
export async function firstSince(
  batchAt: (seq: number) => Promise<Batch | undefined>,
  batches: number,
  from: number,
): Promise<number> {
  let low = 1;
  let high = batches + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const batch = await batchAt(middle);
    if (batch !== undefined && lastTime(batch) >= from) high = middle;
    else low = middle + 1;
  }
  return low;
}
