/** Ways through a store's journals and accounts: what is held of them is bounded, whatever there is. */
import type { Account } from '../../domain/account.ts';
import { timeOfText } from '../../domain/time.ts';
import type { Batch } from '../journal.ts';
import type { AccountTable, JournalReads } from '../store.ts';

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

/** The settings of all accounts, in the order of their ids, page by page. */
export async function* pagesOfAccounts(
  accounts: Pick<AccountTable, 'after'>,
  limit = ACCOUNTS,
): AsyncGenerator<Account[]> {
  for (let last = ''; ; ) {
    const page = await accounts.after(last, limit);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1)?.id ?? last;
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
