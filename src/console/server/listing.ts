/** Lists of transactions, the newest first: the journal read backwards, from the entries that made them. */
import type { Batch, Entry, TransactionRecord } from '../../engine/journal.ts';
import type { StoreReads } from '../../engine/store.ts';
import type { TransactionPage, TransactionRow } from '../shapes.ts';
import { accountNames } from './account/list.ts';
import { cursorIn, type Taker, walkBack } from './backwards.ts';
import { mask } from './masking.ts';

export interface ListWish {
  account: string | null;
  type: string | null;
  status: string | null;
  /** Where the page before ended. */
  after: string | null;
  limit: number;
}

/** A transaction's first entry. */
interface Made {
  account: string;
  id: string;
}

function makes({ from, refusal, transaction, snapshot }: Entry): boolean {
  return from === null && refusal === null && transaction !== null && snapshot !== null;
}

function rowOf(record: TransactionRecord, names: ReadonlyMap<string, string>): TransactionRow {
  const { id, account, type, snapshot, updatedAt } = record;
  const { amount, externalRef, createdAt } = snapshot.context;
  return {
    ...{ id, account, accountName: names.get(account) ?? '', type, status: snapshot.value },
    ...{ amount, externalRef, createdAt, updatedAt },
  };
}

/** Transactions as rows of a list. */
export async function rowsOf(
  reads: StoreReads,
  records: readonly TransactionRecord[],
): Promise<TransactionRow[]> {
  const names = await accountNames(
    reads,
    records.map(({ account }) => account),
  );
  return records.map((record) => mask(rowOf(record, names), record.snapshot.context));
}

/** Gathers the rows of one page. */
class Page implements Taker {
  readonly records: TransactionRecord[] = [];
  readonly #wish: ListWish;
  readonly #reads: StoreReads;

  constructor(reads: StoreReads, wish: ListWish) {
    this.#reads = reads;
    this.#wish = wish;
  }

  /** Takes a batch from its end to its beginning; the index of the first entry that found no room, or null. */
  async take(batch: Batch, before: number): Promise<number | null> {
    const made: (Made & { index: number })[] = [];
    for (const [index, entry] of batch.entries.entries()) {
      const isWanted = this.#wish.type === null || entry.type === this.#wish.type;
      if (index < before && isWanted && makes(entry))
        made.unshift({ account: batch.account, id: entry.transaction ?? '', index });
    }
    const wants = { transactions: made.map(({ id }) => id), lookups: [] };
    const { transactions } =
      made.length === 0 ? { transactions: [] } : await this.#reads.journal.read(batch.account, wants);
    for (const [nth, { index }] of made.entries()) {
      const record = transactions[nth] ?? null;
      if (record === null || !this.#fits(record)) continue;
      if (this.records.length === this.#wish.limit) return index + 1;
      this.records.push(record);
    }
    return null;
  }

  #fits({ snapshot }: TransactionRecord): boolean {
    return this.#wish.status === null || snapshot.value === this.#wish.status;
  }
}

/** A page of transactions. @throws ConsoleError */
export async function listTransactions(reads: StoreReads, wish: ListWish): Promise<TransactionPage> {
  const page = new Page(reads, wish);
  const { next, ...walked } = await walkBack(reads, wish.account, cursorIn('after', wish.after), page);
  return { rows: await rowsOf(reads, page.records), ...walked, after: next };
}
