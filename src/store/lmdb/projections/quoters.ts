/**
 * Which accounts find something by lookups that hardly any of them have: a question to all accounts asks those alone.
 * Only what gives such a lookup pays for the row, never a transaction's creation.
 */
import { sha256 } from '../../../engine/journal.ts';
import type { Lookup, LookupName } from '../../../engine/store/lookups.ts';
import { endOf, keyOf } from './keys.ts';
import type { Projections } from './projections.ts';

const SELDOM: ReadonlySet<LookupName> = new Set(['refund', 'refundKey', 'return', 'returned'] as const);

export function isSeldom(name: LookupName): boolean {
  return SELDOM.has(name);
}

/** [name, digest of the key]: keys have blanks. */
function partsOf({ name, key }: Lookup): [string, string] {
  return [name, sha256(key).slice(0, 32)];
}

/** The account finds something by this. */
export function keepQuoter({ quoters }: Pick<Projections, 'quoters'>, account: string, lookup: Lookup): void {
  if (isSeldom(lookup.name)) quoters.put(keyOf(...partsOf(lookup), account), '');
}

/** Whether the account is found by this, as far as it has to be. */
export function hasQuoter(
  { quoters }: Pick<Projections, 'quoters'>,
  account: string,
  lookup: Lookup,
): boolean {
  return !isSeldom(lookup.name) || quoters.has(keyOf(...partsOf(lookup), account));
}

export function dropQuoter({ quoters }: Pick<Projections, 'quoters'>, account: string, lookup: Lookup): void {
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
