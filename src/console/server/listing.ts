/**
 * Lists of transactions, the newest first: the journal read backwards, from the entries that made them. A page is
 * bounded by what it may read, and says how far it looked.
 */
import type { Batch, Entry, TransactionRecord } from '../../engine/journal.ts';
import type { NewestPage } from '../../engine/store/log.ts';
import type { StoreReads } from '../../engine/store.ts';
import { turn } from '../../waiting.ts';
import type { TransactionPage, TransactionRow } from '../shapes.ts';
import { ConsoleError } from './errors.ts';
import { mask } from './masking.ts';

export interface ListWish {
  account: string | null;
  type: string | null;
  status: string | null;
  /** Where the page before ended. */
  after: string | null;
  limit: number;
}

/** Before an entry: of the batch at this place, those with a smaller index are still to come. */
interface Cursor {
  place: string | null;
  index: number;
}

/** A transaction's first entry. */
interface Made {
  account: string;
  id: string;
}

const MOST_BATCHES = 500;
const MOST_MS = 50;
/** Batches that are read together. */
const TOGETHER = 20;
const PLACE = /^[\x20-\x7e]{1,200}$/;

/** @throws ConsoleError */
function cursorIn(after: string | null): Cursor {
  if (after === null) return { place: null, index: Number.POSITIVE_INFINITY };
  const at = after.lastIndexOf('~');
  const [place, index] = [after.slice(0, at), after.slice(at + 1)];
  if (at < 1 || !PLACE.test(place) || !/^\d{1,9}$/.test(index))
    throw new ConsoleError('INVALID_REQUEST', 'after must be what the page before gave.');
  return { place, index: Number(index) };
}

function cursorText({ place, index }: Cursor): string {
  return `${place}~${index}`;
}

/** An account's journal from a batch on backwards. */
async function newestOf({ journal }: StoreReads, account: string, from: string | null): Promise<NewestPage> {
  const last = from === null ? (await journal.head(account)).seq : Number(from);
  if (!Number.isSafeInteger(last)) throw new ConsoleError('INVALID_REQUEST', 'after is none of this list.');
  const first = Math.max(1, last - TOGETHER + 1);
  const seqs = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  const batches = (await journal.batches(account, seqs)).reverse();
  return {
    batches: batches.map((batch) => ({ place: String(batch.seq), batch })),
    next: first > 1 ? String(first - 1) : null,
  };
}

function makes({ from, refusal, transaction, snapshot }: Entry): boolean {
  return from === null && refusal === null && transaction !== null && snapshot !== null;
}

async function accountNames(reads: StoreReads, ids: readonly string[]): Promise<Map<string, string>> {
  const accounts = await Promise.all([...new Set(ids)].map((id) => reads.accounts.get(id)));
  return new Map(accounts.flatMap((account) => (account === null ? [] : [[account.id, account.name]])));
}

function rowOf(record: TransactionRecord, names: ReadonlyMap<string, string>): TransactionRow {
  const { id, account, type, snapshot, updatedAt } = record;
  const { amount, externalRef, createdAt } = snapshot.context;
  return {
    ...{ id, account, accountName: names.get(account) ?? '', type, status: snapshot.value },
    ...{ amount, externalRef, createdAt, updatedAt },
  };
}

/** Gathers the rows of one page. */
class Page {
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

/** Walks backwards until the page is full, enough was read, or all was. */
async function walk(
  reads: StoreReads,
  wish: ListWish,
  page: Page,
): Promise<Pick<TransactionPage, 'lookedBackTo' | 'after'>> {
  const { account } = wish;
  const endsAt = performance.now() + MOST_MS;
  let cursor = cursorIn(wish.after);
  let lookedBackTo: string | null = null;
  for (let batches = 0; ; ) {
    const read =
      account === null
        ? await reads.journal.newest(cursor.place, TOGETHER)
        : await newestOf(reads, account, cursor.place);
    for (const { place, batch } of read.batches) {
      const before =
        place === cursor.place || cursor.place === null ? cursor.index : Number.POSITIVE_INFINITY;
      const index = await page.take(batch, before);
      lookedBackTo = batch.at;
      if (index !== null) return { lookedBackTo, after: cursorText({ place, index }) };
    }
    if (read.next === null) return { lookedBackTo: null, after: null };
    cursor = { place: read.next, index: Number.POSITIVE_INFINITY };
    batches += TOGETHER;
    if (batches >= MOST_BATCHES || performance.now() > endsAt)
      return { lookedBackTo, after: cursorText({ place: read.next, index: 999_999_999 }) };
    await turn();
  }
}

/** A page of transactions. @throws ConsoleError */
export async function listTransactions(reads: StoreReads, wish: ListWish): Promise<TransactionPage> {
  const page = new Page(reads, wish);
  const end = await walk(reads, wish, page);
  const names = await accountNames(
    reads,
    page.records.map(({ account }) => account),
  );
  const rows = page.records.map((record) => mask(rowOf(record, names)));
  return { rows, ...end };
}
