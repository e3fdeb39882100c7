/** What a batch is, whose projections may lack: what a crash cut off of it, or a move to this store left out. */
import { timeOfText } from '../../../domain/time.ts';
import type { Batch, TransactionRecord } from '../../../engine/journal.ts';
import { lookupsOf } from '../../../engine/lookups.ts';
import { attentionItems, dueOf, project } from '../../../engine/project.ts';
import type { Projecting } from '../changes.ts';
import { recordFromDocument, type TransactionDocument } from '../documents.ts';

/** What a crash cut off of a batch: as an append of the transactions that lack it, without claims. `clock`: ms since 1970. */
export function missingOf(
  batch: Batch,
  stored: ReadonlyMap<string, TransactionDocument>,
  clock: number,
): Projecting['append'] {
  const lacks = (id: string): boolean => (stored.get(id)?.seq ?? 0) < batch.seq;
  const records = new Map<string, TransactionRecord>();
  for (const entry of batch.entries) {
    const id = entry.transaction;
    if (id === null || !lacks(id)) continue;
    const known = stored.get(id);
    const before = records.get(id) ?? (known === undefined ? null : recordFromDocument(known));
    records.set(id, project(before, batch.account, batch.seq, entry));
  }
  // Positions stay those of the whole batch: they name what is due, and order what is looked up.
  const lookups = batch.entries.flatMap(lookupsOf);
  // A batch that lies ahead is of an account whose time does: what it makes due goes by the clock, as at its writer.
  const ahead = Math.max(0, timeOfText(batch.at) - clock);
  const due = batch.entries.flatMap((entry) => dueOf(batch.account, entry, ahead));
  const attention = batch.entries.flatMap((entry) => {
    const known = records.get(entry.transaction ?? '') ?? null;
    return attentionItems(batch.account, entry, known);
  });
  // What was stuck, and went on, is found by the look at the list.
  const kept = { due, attention, withdrawn: [], claimUntil: 0 };
  return { batch, records: [...records.values()], lookups, ...kept };
}
