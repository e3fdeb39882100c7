/** Looks through all accounts for what some text is known as. */
import type { Lookup, QuotedPage, QuotedRow } from '../../engine/store/lookups.ts';
import { keyOf } from './projections/keys.ts';
import type { Projections } from './projections/projections.ts';
import { isSeldom, namesBehind, namesIn, quotersBehind } from './projections/quoters.ts';

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
  const seldom = seldomIn(projections, wanted, after, limit);
  /** By the names that an account finds anything by: few differ. */
  const keysBy = new Map<string, typeof keys>();
  const keysFor = (names: string): typeof keys => {
    const those = keysBy.get(names) ?? keys.filter(([name]) => namesIn(names).includes(name));
    keysBy.set(names, those);
    return those;
  };
  let asked = 0;
  let last = after;
  for (const [account, names] of namesBehind(projections, after)) {
    if (asked === limit) return { rows, next: last };
    for (const [name, key] of keysFor(names)) {
      if (isSeldom(name) && !seldom.has(account)) continue;
      const transaction = lookups.get(account + key);
      // What was written for no account is nobody's.
      if (transaction !== null && accounts.has(account)) rows.push({ name, transaction });
    }
    asked += 1;
    last = account;
  }
  return { rows, next: null };
}
