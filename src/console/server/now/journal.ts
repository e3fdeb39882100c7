/** The newest entries of all accounts: the journal's end, read backwards. */
import type { Batch, Entry } from '../../../engine/journal.ts';
import type { NewestPage } from '../../../engine/store/log.ts';
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

/** Under load a batch has hundreds of entries, and a few of them are enough. */
const FIRST_BATCHES = 3;

/** A batch's entries, the newest first, at most so many. */
function rowsOf({ account, seq, entries }: Batch, most: number): Row[] {
  const first = Math.max(0, entries.length - most);
  return entries
    .slice(first)
    .map((entry, index) => rowOf(account, `${account} ${seq} ${first + index}`, entry))
    .reverse();
}

/** At most so many entries; no more batches than that are read. */
export async function newestEntries(reads: StoreReads, limit: number): Promise<NewestEntries> {
  const rows: Row[] = [];
  let unreadable = 0;
  let from: string | null = null;
  for (const batches of [Math.min(FIRST_BATCHES, limit), limit - FIRST_BATCHES]) {
    if (batches <= 0 || rows.length >= limit) break;
    const page: NewestPage = await reads.journal.newest(from, batches);
    unreadable += page.unreadable;
    for (const { batch } of page.batches) rows.push(...rowsOf(batch, limit - rows.length));
    if (page.next === null) break;
    from = page.next;
  }
  const [names, amounts] = await Promise.all([
    accountNames(
      reads,
      rows.map(({ account }) => account),
    ),
    amountsOf(reads, rows),
  ]);
  return {
    unreadable,
    rows: rows.map((row) => ({
      ...row,
      accountName: names.get(row.account) ?? '',
      amount: row.amount ?? amounts.get(row.transaction ?? '') ?? null,
    })),
  };
}
