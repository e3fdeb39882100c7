/** The newest entries of all accounts: the journal's end, read backwards. */
import type { Entry } from '../../../engine/journal.ts';
import type { StoreReads } from '../../../engine/store.ts';
import type { JournalRow, NewestEntries } from '../../shapes/now.ts';
import { accountNames } from '../account/list.ts';

/** A row before it is known whose it is, and of how much. */
type Row = Omit<JournalRow, 'accountName'>;

function rowOf(account: string, place: string, entry: Entry): Row {
  const { at, message, type, transaction, refusal, to, postings } = entry;
  const own = postings.find(({ leg }) => leg === 'available')?.amount ?? null;
  return {
    ...{ id: place, at, account, type, transaction },
    amount: transaction === null ? own : null,
    ...{ message: message.type, door: message.door, status: refusal === null ? to : null },
    isRefused: refusal !== null,
  };
}

async function amountsOf({ journal }: StoreReads, rows: readonly Row[]): Promise<Map<string, number>> {
  const ids = [...new Set(rows.flatMap(({ transaction }) => transaction ?? []))];
  const records = await Promise.all(ids.map((id) => journal.transaction(id)));
  return new Map(
    records.flatMap((record) => (record === null ? [] : [[record.id, record.snapshot.context.amount]])),
  );
}

/** At most so many entries; no more batches than that are read. */
export async function newestEntries(reads: StoreReads, limit: number): Promise<NewestEntries> {
  const { batches } = await reads.journal.newest(null, limit);
  const rows: Row[] = [];
  for (const { batch } of batches) {
    const { account, seq, entries } = batch;
    for (let index = entries.length - 1; index >= 0 && rows.length < limit; index--) {
      const entry = entries[index];
      if (entry !== undefined) rows.push(rowOf(account, `${account} ${seq} ${index}`, entry));
    }
  }
  const [names, amounts] = await Promise.all([
    accountNames(
      reads,
      rows.map(({ account }) => account),
    ),
    amountsOf(reads, rows),
  ]);
  return {
    rows: rows.map((row) => ({
      ...row,
      accountName: names.get(row.account) ?? '',
      amount: row.amount ?? amounts.get(row.transaction ?? '') ?? null,
    })),
  };
}
