/** Makes hints durable: each that is about a transaction of ours becomes an order to ask the bank about it. */
import { quotedRows } from '../../../engine/finding/find.ts';
import type { TransactionRecord } from '../../../engine/journal.ts';
import { question } from '../../../engine/store/due.ts';
import type { Lookup } from '../../../engine/store/lookups.ts';
import type { DueIndex, JournalReads, Settlement } from '../../../engine/store.ts';
import { inTurn } from '../../../waiting.ts';
import type { Hint } from '../profile.ts';

export interface IncomingOptions {
  journal: Pick<JournalReads, 'transaction' | 'quoted'>;
  due: Pick<DueIndex, 'settle'>;
  now(): number;
  /** Elements that no transaction of ours explains: reconciliation finds what is behind them. */
  onDropped(count: number): void;
}

/** So many transactions are looked up at a time. */
const LOOKED_UP_TOGETHER = 50;
/** Every account is asked for what names no id of ours: of a callback's elements for so many, reconciliation finds the others. */
const QUOTED_MOST = 20;

/** A transaction's id from ours at the bank; null where it can be none of ours. */
export function transactionIdOf(id: string): string | null {
  const parts = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i.exec(id);
  return parts === null ? null : parts.slice(1).join('-').toLowerCase();
}

/** The transaction of one of our ids at the bank; null where there is none. */
export async function recordAt(
  journal: Pick<JournalReads, 'transaction'>,
  id: string | null,
): Promise<TransactionRecord | null> {
  const transaction = id === null ? null : transactionIdOf(id);
  return transaction === null ? null : journal.transaction(transaction);
}

/** Our ids at the bank that an element names. */
function candidates(hints: readonly Hint[]): string[] {
  return hints.flatMap((hint) => {
    if (hint.kind === 'charge') return [hint.txid];
    return hint.kind === 'sending' ? [hint.id] : [];
  });
}

/** A transaction that there is news of, and the payment (end-to-end id) that the news is about, where that is known. */
export interface News {
  record: TransactionRecord;
  payment: string | null;
}

/** An order to ask the bank about a transaction so long after the clock (ms). */
export function asking(
  { account, id }: Pick<TransactionRecord, 'account' | 'id'>,
  clock: number,
  about: Parameters<typeof question>[3],
  afterMs = 0,
): Settlement {
  return { claim: null, next: question(account, id, clock + afterMs, about), clock };
}

/** Orders to ask the bank about these now; durable once it resolves. */
export async function askAbout(
  { due, now }: Pick<IncomingOptions, 'due' | 'now'>,
  news: readonly News[],
): Promise<void> {
  if (news.length === 0) return;
  const clock = now();
  await due.settle(
    news.map(({ record, payment }) => asking(record, clock, payment === null ? {} : { payment })),
  );
}

/** Of charges, the payment that an element names; transfers are asked about by their own ids. */
function newsOf(record: TransactionRecord, hints: readonly Hint[]): News {
  const hint = record.type === 'pix-in' ? hints.find(({ kind }) => kind === 'payment') : undefined;
  return { record, payment: hint?.kind === 'payment' ? hint.endToEndId : null };
}

/** What accounts know an element's payments and returns by. */
function lookupsFor(hints: readonly Hint[]): Lookup[] {
  return hints.flatMap((hint): Lookup[] => {
    if (hint.kind === 'payment')
      return (['payment', 'returned', 'reference'] as const).map((name) => ({ name, key: hint.endToEndId }));
    const id = hint.kind === 'return' ? transactionIdOf(hint.id) : null;
    return id === null ? [] : [{ name: 'refund', key: id }];
  });
}

/** The transactions of any account that are known by these. */
async function quotedBy(
  journal: IncomingOptions['journal'],
  lookups: readonly Lookup[],
): Promise<TransactionRecord[]> {
  const ids = new Set<string>();
  for await (const rows of quotedRows(journal, lookups))
    for (const { transaction } of rows) ids.add(transaction);
  const records = await Promise.all([...ids].map((id) => journal.transaction(id)));
  return records.filter((record) => record !== null);
}

/** The transactions that some elements name by ids of ours, and the elements that name none. */
async function named(
  journal: IncomingOptions['journal'],
  elements: readonly Hint[][],
): Promise<{ news: News[]; others: Hint[][] }> {
  const found = await Promise.all(
    elements.map(async (hints) => {
      const records = await Promise.all(candidates(hints).map((id) => recordAt(journal, id)));
      return { hints, records: records.filter((record) => record !== null) };
    }),
  );
  const others = found.filter(({ records }) => records.length === 0).map(({ hints }) => hints);
  const news = found.flatMap(({ hints, records }) => records.map((record) => newsOf(record, hints)));
  return { news, others };
}

/** Nobody waits for the rest of a callback any more: it will come again. */
export class CallbackLeft extends Error {}

/** Takes a callback's hints, as long as somebody waits for that; resolves once they are durable. @throws CallbackLeft */
export type Take = (elements: Hint[][], isAwaited: () => boolean) => Promise<void>;

export function taking(options: IncomingOptions): Take {
  const { journal, onDropped } = options;
  return async (elements, isAwaited) => {
    const expectAwaited = (): void => {
      if (!isAwaited()) throw new CallbackLeft('nobody waits for the callback any more');
    };
    const found = new Map<string, News>();
    const keep = (news: News): void => void found.set(`${news.record.id} ${news.payment ?? ''}`, news);
    const left: Hint[][] = [];
    for (let from = 0; from < elements.length; from += LOOKED_UP_TOGETHER) {
      const { news, others } = await named(journal, elements.slice(from, from + LOOKED_UP_TOGETHER));
      news.forEach(keep);
      left.push(...others);
    }
    let dropped = Math.max(0, left.length - QUOTED_MOST);
    for (const hints of left.slice(0, QUOTED_MOST)) {
      const lookups = lookupsFor(hints);
      // One at a time of all callbacks: each asks every account, and a page of these is a turn of the event loop.
      const records = await inTurn('quoted by callbacks', async () => {
        expectAwaited();
        return lookups.length === 0 ? [] : quotedBy(journal, lookups);
      });
      for (const record of records) keep(newsOf(record, hints));
      if (records.length === 0) dropped += 1;
    }
    await askAbout(options, [...found.values()]);
    if (dropped > 0) onDropped(dropped);
  };
}
