/** Projections that were made again from a journal, put in the place of those that the embedded store has. */
import { canonicalJson } from '../../../domain/canonical-json.ts';
import type { Batch, TransactionRecord } from '../../../engine/journal.ts';
import { lookupsOf, nameOf } from '../../../engine/lookups.ts';
import type { Rebuilt, Restoration } from '../../../engine/store/restoration.ts';
import { putLookup, waitKeys } from './apply.ts';
import { endOf, keyOf, ordered } from './keys.ts';
import type { Projections } from './projections.ts';
import { dropQuoter, hasQuoter } from './quoters.ts';

/** What later batches changed, and must stay: ids of transactions, and lookups as `name:key`. */
interface Later {
  transactions: ReadonlySet<string | null>;
  lookups: ReadonlySet<string>;
}

function laterIn(batches: readonly Batch[]): Later {
  const entries = batches.flatMap((batch) => batch.entries);
  return {
    transactions: new Set(entries.map(({ transaction }) => transaction)),
    lookups: new Set(entries.flatMap(lookupsOf).map(nameOf)),
  };
}

/** The stored record; null where there is none, or no JSON. */
function storedRecord({ records }: Projections, id: string): TransactionRecord | null {
  try {
    return records.get(id);
  } catch {
    // A record that can't be read is replaced as a missing one is.
    return null;
  }
}

/** Puts the record where another one, or none, is stored. */
function restoreRecord(projections: Projections, record: TransactionRecord): number {
  const stored = storedRecord(projections, record.id);
  if (stored !== null && canonicalJson(stored) === canonicalJson(record))
    return restoreWaits(projections, record);
  projections.records.putWhole(record);
  restoreWaits(projections, record);
  return 1;
}

/** Has the record be found by what it waits for; how much was missing. */
function restoreWaits({ waits }: Projections, record: TransactionRecord): number {
  const missing = waitKeys(record).filter((key) => waits.get(key) === null);
  for (const key of missing) waits.put(key, '');
  return missing.length;
}

function refusalsIn({ refusals }: Projections, transaction: string): number[] {
  const keys = [...refusals.range(keyOf(transaction, ''), endOf(transaction))];
  return keys.map(([key]) => Number(key.slice(transaction.length + 1)));
}

/** Restores the rows of refused messages: those that are missing, and the end of those that are too many. */
function restoreRefusals(projections: Projections, { record: { id }, lookups }: Rebuilt): number {
  const wanted = new Set(lookups.filter(({ name }) => name === 'refusal').map(({ seq }) => seq));
  const stored = new Set(refusalsIn(projections, id));
  const missing = [...wanted].filter((seq) => !stored.has(seq));
  const surplus = [...stored].filter((seq) => !wanted.has(seq));
  for (const seq of missing) projections.refusals.put(keyOf(id, ordered(seq)), '');
  for (const seq of surplus) projections.refusals.remove(keyOf(id, ordered(seq)));
  return missing.length + surplus.length;
}

function restoreLookups(projections: Projections, { account, lookups }: Restoration, later: Later): number {
  const wrong = lookups.filter(
    (row) =>
      !later.lookups.has(nameOf(row)) &&
      (projections.lookups.get(keyOf(account, row.name, row.key)) !== row.value ||
        !hasQuoter(projections, account, row)),
  );
  for (const row of wrong) putLookup(projections, account, row);
  return wrong.length;
}

/** Ends records and lookups that no entry tells of. */
function endGone(projections: Projections, { account, gone }: Restoration, later: Later): number {
  const ids = gone.transactions.filter((id) => !later.transactions.has(id) && projections.records.has(id));
  for (const id of ids) {
    projections.records.remove(id);
    for (const seq of refusalsIn(projections, id)) projections.refusals.remove(keyOf(id, ordered(seq)));
  }
  const lookups = gone.lookups.filter((row) => !later.lookups.has(nameOf(row)));
  for (const row of lookups) {
    projections.lookups.remove(keyOf(account, row.name, row.key));
    dropQuoter(projections, account, row);
  }
  return ids.length + lookups.length;
}

/** Puts all of it in place, but for what later batches changed; how much was otherwise. */
export function restore(
  projections: Projections,
  restoration: Restoration,
  batches: readonly Batch[],
): number {
  const later = laterIn(batches);
  const rebuilt = restoration.transactions.filter(({ record }) => !later.transactions.has(record.id));
  let changed = 0;
  for (const each of rebuilt)
    changed += restoreRecord(projections, each.record) + restoreRefusals(projections, each);
  return changed + restoreLookups(projections, restoration, later) + endGone(projections, restoration, later);
}
