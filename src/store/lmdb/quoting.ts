/** Looks through all accounts for what some text is known as. */
import type { Lookup, QuotedPage, QuotedRow } from '../../engine/store/lookups.ts';
import { keyOf } from './projections/keys.ts';
import type { Projections } from './projections/projections.ts';

/** Asks so many accounts, those behind one; a question to each costs a key, and no value is read where nothing is found. */
export function quotedIn(
  { accounts, lookups }: Projections,
  wanted: readonly Lookup[],
  after: string,
  limit: number,
): QuotedPage {
  const rows: QuotedRow[] = [];
  const keys = wanted.map(({ name, key }) => [name, keyOf('', name, key)] as const);
  let asked = 0;
  let last = after;
  for (const account of accounts.keysBehind(after)) {
    if (asked === limit) return { rows, next: last };
    for (const [name, key] of keys) {
      const transaction = lookups.get(account + key);
      if (transaction !== null) rows.push({ name, transaction });
    }
    asked += 1;
    last = account;
  }
  return { rows, next: null };
}
