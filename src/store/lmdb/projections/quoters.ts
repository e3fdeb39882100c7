/**
 * What a question to all accounts asks none of them for in vain: an account has a row of the lookups by which it finds
 * anything at all, which is written when it has its first of a kind, and what hardly any account has leads to those that
 * do. Only what gives such a seldom lookup pays for its row, never a transaction's creation.
 */
import { sha256 } from '../../../engine/store/content.ts';
import type { Lookup, LookupName } from '../../../engine/store/lookups.ts';
import { ALL, endOf, keyOf } from './keys.ts';
import type { Projections } from './projections.ts';

const SELDOM: ReadonlySet<LookupName> = new Set(['refund', 'refundKey', 'return', 'returned'] as const);

export function isSeldom(name: LookupName): boolean {
  return SELDOM.has(name);
}

type Kept = Pick<Projections, 'quoters' | 'names'>;

/** [name, digest of the key]: keys have blanks. */
function partsOf({ name, key }: Lookup): [string, string] {
  return [name, sha256(key).slice(0, 32)];
}

/** The names of a row. */
export function namesIn(row: string): string[] {
  return row.split(' ');
}

/** The account finds something by this. */
export function keepQuoter({ quoters, names }: Kept, account: string, lookup: Lookup): void {
  const { name } = lookup;
  if (isSeldom(name)) quoters.put(keyOf(...partsOf(lookup), account), '');
  const known = names.get(account);
  if (known === null) names.put(account, name);
  else if (!namesIn(known).includes(name)) names.put(account, [...namesIn(known), name].sort().join(' '));
}

/** Whether the account is found by this, as far as it has to be. */
export function hasQuoter({ quoters, names }: Kept, account: string, lookup: Lookup): boolean {
  const isNamed = namesIn(names.get(account) ?? '').includes(lookup.name);
  return isNamed && (!isSeldom(lookup.name) || quoters.has(keyOf(...partsOf(lookup), account)));
}

/** The account finds nothing by this any more, but may by another one of that name. */
export function dropQuoter({ quoters }: Kept, account: string, lookup: Lookup): void {
  if (isSeldom(lookup.name)) quoters.remove(keyOf(...partsOf(lookup), account));
}

/** Accounts behind one that may find something by a lookup that is seldom, in their order. */
export function* quotersBehind(
  { quoters }: Pick<Projections, 'quoters'>,
  lookup: Lookup,
  after: string,
): Generator<string> {
  const parts = partsOf(lookup);
  const start = keyOf(...parts, '');
  for (const [key] of quoters.range(start + after, endOf(...parts))) {
    const account = key.slice(start.length);
    if (account !== after) yield account;
  }
}

/** Accounts behind one that find anything, in their order, with the names that they find it by. */
export function* namesBehind(
  { names }: Pick<Projections, 'names'>,
  after: string,
): Generator<[account: string, names: string]> {
  for (const row of names.range(after, ALL[1])) if (row[0] !== after) yield row;
}
