/** What is stored of an account beside its journal, held against a replay of it. */
import type { Account } from '../../src/domain/account.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { lookupsOf } from '../../src/engine/lookups.ts';
import { project } from '../../src/engine/project.ts';
import type { MemoryState } from '../../test/support/memory-store/state.ts';
import type { Model } from './model.ts';
import { must } from './must.ts';

/** I7: records, balances and lookups are what a replay gives, to the byte. */
export function compareProjections(state: MemoryState, account: Account, model: Model): void {
  const records = new Map<string, TransactionRecord>();
  const lookups = new Map<string, string>();
  for (const { seq, entries } of state.journal(account.id, 1, Number.POSITIVE_INFINITY)) {
    for (const entry of entries) {
      const id = entry.transaction;
      if (id !== null) records.set(id, project(records.get(id) ?? null, account.id, seq, entry));
      for (const { name, key, value } of lookupsOf(entry)) lookups.set(`${name}:${key}`, value);
    }
  }
  const all = state.records('', Number.POSITIVE_INFINITY);
  const stored = all.filter((record) => record.account === account.id);
  must(stored.length === records.size, `${stored.length} records are stored, ${records.size} were replayed`);
  for (const record of stored) {
    must(
      canonicalJson(record) === canonicalJson(records.get(record.id)),
      `the record ${record.id} is no replay`,
    );
    must(record.snapshot.value === model.transactions.get(record.id)?.status, `the status of ${record.id}`);
  }
  const rows = state.lookups(account.id, null, Number.POSITIVE_INFINITY).rows;
  must(rows.length === lookups.size, 'lookups were lost');
  for (const { name, key, value } of rows)
    must(lookups.get(`${name}:${key}`) === value, `lookup ${name} ${key}`);
  must(canonicalJson(state.head(account.id).balances) === canonicalJson(model.legs), 'the head');
}
