/** Moves what needs a person: open items, and which stuck cashouts ops were done with. */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { textOfTime } from '../domain/time.ts';
import { BANK_WAITS, stuckItems, stuckMark } from '../engine/attention/stuck.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { type AttentionItem, type AttentionPlace, itemOf, type Store } from '../engine/store.ts';
import { journalOf, type Stores } from './stores.ts';

/** The transaction that an item's id names; null where it names none. */
function transactionOf({ kind, id }: AttentionItem): string | null {
  if (kind === 'dead') return parseEventOrDeliveryId(id)?.transaction ?? null;
  return kind === 'quarantined' ? id : null;
}

/** Of the items those that the accounts' entries call for: their ids don't say whose they are. */
async function notedBy(
  source: Store,
  accounts: readonly string[],
  items: readonly AttentionItem[],
): Promise<AttentionItem[]> {
  const ids = new Set(items.map(({ id }) => id));
  const found = new Set<string>();
  if (ids.size === 0) return [];
  for (const account of accounts) {
    for await (const page of journalOf(source, account)) {
      for (const { attention } of page.flatMap(({ entries }) => entries)) {
        if (attention !== null && ids.has(attention.id)) found.add(attention.id);
      }
    }
  }
  return items.filter(({ id }) => found.has(id));
}

const PAGE = 500;

/** The items on a list, in pages: one page may be taken off the list before the next is read. */
async function* pagesOf({ attention }: Store): AsyncGenerator<AttentionItem[]> {
  let after: AttentionPlace | null = null;
  for (;;) {
    const page: AttentionItem[] = await attention.page({}, after, PAGE);
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1) ?? null;
  }
}

/** Of some items those of some accounts. Items of former builds don't say whose they are. */
async function ownOf(
  source: Store,
  accounts: readonly string[],
  items: readonly AttentionItem[],
): Promise<AttentionItem[]> {
  const own: AttentionItem[] = [];
  const unnamed: AttentionItem[] = [];
  const moved = new Set(accounts);
  for (const item of items) {
    const transaction = transactionOf(item);
    const record = transaction === null ? null : await source.journal.transaction(transaction);
    const account = item.about.account ?? record?.account ?? null;
    if (account === null) unnamed.push(item);
    else if (moved.has(account)) own.push(item);
  }
  return [...own, ...(await notedBy(source, accounts, unnamed))];
}

/** A stuck transaction that ops were done with stays so until it changes. */
async function moveMarks(
  { source, target }: Stores,
  accounts: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const at = textOfTime(now);
  for (const wait of BANK_WAITS) {
    let after: TransactionRecord | null = null;
    for (;;) {
      const page: TransactionRecord[] = await source.journal.waiting(wait, after, at, PAGE);
      const own = page.filter(({ account }) => accounts.has(account));
      const marks = own.flatMap((record) => stuckItems(record)).map(stuckMark);
      const [here, there] = await Promise.all([
        source.attention.dismissed(marks),
        target.attention.dismissed(marks),
      ]);
      const what = 'a stuck transaction that ops were done with before it was moved';
      const items = marks
        .filter((_, index) => here[index] === true && there[index] !== true)
        .map((id) => itemOf({ kind: 'stuck', id, what, next: 'nothing' }, at));
      if (items.length > 0) {
        await target.attention.note(items);
        await target.attention.dismiss(items);
      }
      if (page.length < PAGE) break;
      after = page.at(-1) ?? null;
    }
  }
}

/**
 * Moves the items of the accounts, or all there are: some belong to none. What the target knows stays as it is,
 * done or not.
 */
export async function moveAttention(
  stores: Stores,
  accounts: readonly string[],
  all: boolean,
  now: number,
): Promise<void> {
  const { source, target } = stores;
  await moveMarks(stores, new Set(accounts), now);
  for await (const page of pagesOf(source)) {
    const items = all ? page : await ownOf(source, accounts, page);
    if (items.length === 0) continue;
    await target.attention.note(items);
    await source.attention.withdraw(items);
  }
}
