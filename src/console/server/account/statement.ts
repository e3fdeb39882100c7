/**
 * An account's statement, the newest first: what changed its balance, with the balance after it, or all that came by
 * one door. A page begins at the present, at a time, or where the page before ended.
 */
import type { Balances } from '../../../domain/money.ts';
import type { Batch, Entry } from '../../../engine/journal.ts';
import { changeOf } from '../../../engine/statement/rows.ts';
import type { StoreReads } from '../../../engine/store.ts';
import type { Did, DoorName, StatementPage, StatementRow } from '../../shapes/account.ts';
import { type Cursor, cursorAt, cursorIn, readableFrom, seqIn, type Taker, walkBack } from '../backwards.ts';
import { mask } from '../masking.ts';
import { timeIn } from '../query.ts';

export interface StatementWish {
  account: string;
  /** A time, or where the page before ended; null: the present. */
  before: string | null;
  /** Only what came by this door, whether it changed the balance or not. */
  door: DoorName | null;
  limit: number;
}

/** A row before it is known how its transaction is referred to. */
type Row = Omit<StatementRow, 'externalRef'>;

/** What an entry without a message was for; null for a message. Entries of all builds are read. */
function didOf({ type, data }: Entry['message']): Did | null {
  if (type !== 'OPS') return null;
  const { action, data: given = {} } = data as { action: string; data?: Record<string, unknown> };
  const { count, url, transaction, after: _after, ...named } = given;
  const about = action === 'settings' ? Object.keys(named).join(', ') : (url ?? transaction ?? null);
  return {
    action,
    count: typeof count === 'number' ? count : null,
    about: typeof about === 'string' ? about : null,
  };
}

function rowOf(seq: number, entry: Entry, amount: number, balance: number): Row {
  const { at, message, type, transaction, refusal, to } = entry;
  const { type: what, door, by = null } = message;
  return {
    by: mask(by),
    did: didOf(message),
    ...{ seq, at, door, message: what, type, transaction, amount, balance },
    status: refusal === null ? to : null,
    isRefused: refusal !== null,
  };
}

class Page implements Taker {
  readonly rows: Row[] = [];
  readonly #wish: StatementWish;

  constructor(wish: StatementWish) {
    this.#wish = wish;
  }

  async take({ seq, entries, balances }: Batch, before: number): Promise<number | null> {
    let balance = balances.available;
    for (const [index, entry] of [...entries.entries()].reverse()) {
      const change = changeOf(entry);
      if (index < before && this.#wants(entry, change)) {
        if (this.rows.length === this.#wish.limit) return index + 1;
        this.rows.push(rowOf(seq, entry, change, balance));
      }
      balance -= change;
    }
    return null;
  }

  #wants({ message }: Entry, change: number): boolean {
    return this.#wish.door === null ? change !== 0 : message.door === this.#wish.door;
  }
}

/** Each leg's sum where a cursor stands; behind a batch that can't be read, as it was before the one after. */
async function balancesAt(reads: StoreReads, account: string, { place, index }: Cursor): Promise<Balances> {
  const seq = place === null ? null : seqIn(place);
  const batch = seq === null ? undefined : await readableFrom(reads, account, seq);
  if (batch === undefined) return (await reads.journal.head(account)).balances;
  const balances = { ...batch.balances };
  for (const { postings } of batch.entries.slice(batch.seq === seq ? index : 0))
    for (const { leg, amount } of postings) balances[leg] -= amount;
  return balances;
}

/** Rows with how their transactions are referred to, without what is masked of them; `idOf`: a row's transaction. */
export async function withReferences<Row>(
  { journal }: StoreReads,
  account: string,
  rows: readonly Row[],
  idOf: (row: Row) => string | null,
): Promise<(Row & Pick<StatementRow, 'externalRef'>)[]> {
  const ids = [...new Set(rows.flatMap((row) => idOf(row) ?? []))];
  const { transactions } = await journal.read(account, { transactions: ids, lookups: [] });
  const references = new Map(
    transactions.flatMap((record) => {
      if (record === null) return [];
      const { context } = record.snapshot;
      return [[record.id, mask({ externalRef: context.externalRef }, context).externalRef]];
    }),
  );
  return rows.map((row) => ({ ...row, externalRef: references.get(idOf(row) ?? '') ?? null }));
}

/** @throws ConsoleError */
export async function statementPage(reads: StoreReads, wish: StatementWish): Promise<StatementPage> {
  const { account, before } = wish;
  const time = before === null ? null : timeIn(before);
  const cursor = time === null ? cursorIn('before', before) : await cursorAt(reads, account, time);
  const page = new Page(wish);
  const balances = await balancesAt(reads, account, cursor);
  const { next, ...walked } = await walkBack(reads, account, cursor, page);
  return {
    balances,
    rows: await withReferences(reads, account, page.rows, ({ transaction }) => transaction),
    ...walked,
    before: next,
  };
}
