/** Projections that were made again from a journal, put in the place of those that the embedded store has. */
import { canonicalJson } from '../../../domain/canonical-json.ts';
import type { Batch, TransactionRecord } from '../../../engine/journal.ts';
import { lookupsOf } from '../../../engine/lookups.ts';
import type { Lookup } from '../../../engine/store/lookups.ts';
import type { Rebuilt, Restoration } from '../../../engine/store/restoration.ts';
import type { Tables } from '../tables.ts';
import type { Waits } from '../waits.ts';

const LAST = Number.MAX_SAFE_INTEGER;

/** What later batches changed, and must stay: ids of transactions, and lookups as `name:key`. */
interface Later {
  transactions: ReadonlySet<string | null>;
  lookups: ReadonlySet<string>;
}

function nameOf({ name, key }: Lookup): string {
  return `${name}:${key}`;
}

function laterIn(batches: readonly Batch[]): Later {
  const entries = batches.flatMap((batch) => batch.entries);
  return {
    transactions: new Set(entries.map(({ transaction }) => transaction)),
    lookups: new Set(entries.flatMap(lookupsOf).map(nameOf)),
  };
}

/** The stored record; null where there is none, or no JSON. */
function storedRecord({ transactions }: Tables, id: string): TransactionRecord | null {
  const text = transactions.get(id);
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch {
    // A record that can't be read is replaced as a missing one is.
    return null;
  }
}

/** Issues the record where another one, or none, is stored. */
function issueRecord(tables: Tables, record: TransactionRecord): 'issued' | 'same' {
  const stored = storedRecord(tables, record.id);
  if (stored !== null && canonicalJson(stored) === canonicalJson(record)) return 'same';
  void tables.transactions.put(record.id, JSON.stringify(record));
  return 'issued';
}

function refusalsIn({ refusals }: Tables, transaction: string): number[] {
  return [...refusals.getKeys({ start: [transaction, 0], end: [transaction, LAST] })].map(([, seq]) => seq);
}

/** Issues the rows of refused messages: those that are missing, and the end of those that are too many. */
function issueRefusals(tables: Tables, { record: { id }, lookups }: Rebuilt): number {
  const wanted = new Set(lookups.filter(({ name }) => name === 'refusal').map(({ seq }) => seq));
  const stored = new Set(refusalsIn(tables, id));
  const missing = [...wanted].filter((seq) => !stored.has(seq));
  const surplus = [...stored].filter((seq) => !wanted.has(seq));
  for (const seq of missing) void tables.refusals.put([id, seq], '');
  for (const seq of surplus) void tables.refusals.remove([id, seq]);
  return missing.length + surplus.length;
}

function issueLookups(tables: Tables, { account, lookups }: Restoration, later: Later): number {
  const wrong = lookups.filter(
    (row) =>
      !later.lookups.has(nameOf(row)) && tables.lookups.get([account, row.name, row.key]) !== row.value,
  );
  for (const { name, key, value } of wrong) void tables.lookups.put([account, name, key], value);
  return wrong.length;
}

/** Issues the end of records and lookups that no entry tells of. */
function issueGone(tables: Tables, { account, gone }: Restoration, later: Later): number {
  const ids = gone.transactions.filter(
    (id) => !later.transactions.has(id) && tables.transactions.doesExist(id),
  );
  for (const id of ids) {
    void tables.transactions.remove(id);
    for (const seq of refusalsIn(tables, id)) void tables.refusals.remove([id, seq]);
  }
  const lookups = gone.lookups.filter((row) => !later.lookups.has(nameOf(row)));
  for (const { name, key } of lookups) void tables.lookups.remove([account, name, key]);
  return ids.length + lookups.length;
}

/** Issues all of it within a transaction, but for what later batches changed; how much was otherwise. */
export function issueRestoration(
  tables: Tables,
  waits: Waits,
  restoration: Restoration,
  batches: readonly Batch[],
): number {
  const later = laterIn(batches);
  const rebuilt = restoration.transactions.filter(({ record }) => !later.transactions.has(record.id));
  let changed = 0;
  for (const each of rebuilt) {
    if (issueRecord(tables, each.record) === 'issued') changed += 1;
    changed += issueRefusals(tables, each);
  }
  changed += waits.restore(rebuilt.map(({ record }) => record));
  return changed + issueLookups(tables, restoration, later) + issueGone(tables, restoration, later);
}
