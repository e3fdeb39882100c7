/** Looks through all accounts for what some text is known as. */
import type { Lookup, QuotedPage, QuotedRow } from '../../engine/store/lookups.ts';
import { keyOf } from './projections/keys.ts';
import type { Projections } from './projections/projections.ts';
import { isSeldom, quotersBehind } from './projections/quoters.ts';

/** So many accounts behind one as may find something by lookups that hardly any have. */
function seldomIn(
  projections: Projections,
  wanted: readonly Lookup[],
  after: string,
  limit: number,
): Set<string> {
  const accounts = new Set<string>();
  for (const lookup of wanted.filter(({ name }) => isSeldom(name))) {
    let count = 0;
    for (const account of quotersBehind(projections, lookup, after)) {
      // No more accounts than that are asked.
      if (count === limit) break;
      accounts.add(account);
      count += 1;
    }
  }
  return accounts;
}

/** Asks so many accounts, those behind one; a question to each costs a key, and no value is read where nothing is found. */
export function quotedIn(
  projections: Projections,
  wanted: readonly Lookup[],
  after: string,
  limit: number,
): QuotedPage {
  const { accounts, lookups } = projections;
  const rows: QuotedRow[] = [];
  const keys = wanted.map(({ name, key }) => [name, keyOf('', name, key)] as const);
  const often = keys.filter(([name]) => !isSeldom(name));
  const seldom = seldomIn(projections, wanted, after, limit);
  let asked = 0;
  let last = after;
  for (const account of accounts.keysBehind(after)) {
    if (asked === limit) return { rows, next: last };
    for (const [name, key] of seldom.has(account) ? keys : often) {
      const transaction = lookups.get(account + key);
      if (transaction !== null) rows.push({ name, transaction });
    }
    asked += 1;
    last = account;
  }
  return { rows, next: null };
}
