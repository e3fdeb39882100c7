/** What is stored of an account beside its journal, held against a replay of it. */
import type { Account } from '../../src/domain/account.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { lookupsOf } from '../../src/engine/lookups.ts';
import { project } from '../../src/engine/project.ts';
import type { Model } from './model.ts';
import { must } from './must.ts';
import type { Stored } from './stored.ts';

/** I7: records, balances and lookups are what a replay gives, to the byte. */
export function compareProjections(stored: Stored, account: Account, model: Model): void {
  const records = new Map<string, TransactionRecord>();
  const lookups = new Map<string, string>();
  for (const { seq, entries } of stored.journal(account.id, 1, Number.POSITIVE_INFINITY)) {
    for (const entry of entries) {
      const id = entry.transaction;
      if (id !== null) records.set(id, project(records.get(id) ?? null, account.id, seq, entry));
      for (const { name, key, value } of lookupsOf(entry)) lookups.set(`${name}:${key}`, value);
    }
  }
  const all = stored.records('', Number.POSITIVE_INFINITY);
  const own = all.filter((record) => record.account === account.id);
  must(own.length === records.size, `${own.length} records are stored, ${records.size} were replayed`);
  for (const record of own) {
    must(
      canonicalJson(record) === canonicalJson(records.get(record.id)),
      `the record ${record.id} is no replay`,
    );
    must(record.snapshot.value === model.transactions.get(record.id)?.status, `the status of ${record.id}`);
  }
  const rows = stored.lookups(account.id, null, Number.POSITIVE_INFINITY).rows;
  must(rows.length === lookups.size, 'lookups were lost');
  for (const { name, key, value } of rows)
    must(lookups.get(`${name}:${key}`) === value, `lookup ${name} ${key}`);
  must(canonicalJson(stored.head(account.id).balances) === canonicalJson(model.legs), 'the head');
}
