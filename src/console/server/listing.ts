/** Lists of transactions, the newest first: the journal read backwards, from the entries that made them. */
import type { Context } from 'koa';
import { timeOfText } from '../../domain/time.ts';
import type { Batch, Entry, TransactionRecord } from '../../engine/journal.ts';
import type { StoreReads } from '../../engine/store.ts';
import { FAMILIES, type Family, familyOf } from '../shapes/families.ts';
import type { Kind, TransactionPage, TransactionRow } from '../shapes.ts';
import { accountNames } from './account/list.ts';
import { type Cursor, cursorAt, cursorIn, type Taker, walkBack } from './backwards.ts';
import { mask } from './masking.ts';
import { expectInOrder, limitOf, oneOf, textOf, timeOf } from './query.ts';

const KINDS: readonly Kind[] = ['pix-in', 'cashout'];

export interface ListWish {
  account: string | null;
  type: string | null;
  status: string | null;
  family: Family | null;
  /** Times of creation, ms since 1970, both included; null: any. */
  from: number | null;
  to: number | null;
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
      if (index < before && makes(entry) && this.#wants(entry))
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

  #wants({ type, at }: Entry): boolean {
    const { type: wanted, from, to } = this.#wish;
    const time = timeOfText(at);
    return (wanted === null || type === wanted) && time >= (from ?? time) && time <= (to ?? time);
  }

  #fits({ snapshot: { value } }: TransactionRecord): boolean {
    const { status, family } = this.#wish;
    return (status === null || value === status) && (family === null || familyOf(value) === family);
  }
}

/** Where a page begins: where the one before ended, or at the latest time that is asked for; null: nothing is so old. */
async function startOf(reads: StoreReads, { account, to, after }: ListWish): Promise<Cursor | null> {
  if (after !== null || to === null) return cursorIn('after', after);
  if (account !== null) return cursorAt(reads, account, to);
  const place = await reads.journal.placeUntil(to);
  return place === null ? null : { place, index: Number.POSITIVE_INFINITY };
}

/** What a request asks for. @throws ConsoleError */
export function listWish(ctx: Context): ListWish {
  const [account, status, after] = [textOf(ctx, 'account'), textOf(ctx, 'status'), textOf(ctx, 'after')];
  const [from, to] = [timeOf(ctx, 'from'), timeOf(ctx, 'to')];
  expectInOrder(from, to);
  const [type, family] = [oneOf(ctx, 'type', KINDS), oneOf(ctx, 'family', FAMILIES)];
  return { account, type, status, family, from, to, after, limit: limitOf(ctx) };
}

/** A page of transactions. @throws ConsoleError */
export async function listTransactions(reads: StoreReads, wish: ListWish): Promise<TransactionPage> {
  const start = await startOf(reads, wish);
  if (start === null) return { rows: [], lookedBackTo: null, unreadable: 0, after: null };
  const page = new Page(reads, wish);
  const { next, ...walked } = await walkBack(reads, wish.account, start, page, wish.from ?? undefined);
  return { rows: await rowsOf(reads, page.records), ...walked, after: next };
}
