/** Moves what needs a person: open items, and which stuck cashouts ops were done with. */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { MAX_STUCK, stuckMark } from '../engine/attention.ts';
import { type AttentionItem, itemOf, type Store } from '../engine/store.ts';
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

/** The open items of some accounts. */
async function itemsOf(source: Store, accounts: readonly string[]): Promise<AttentionItem[]> {
  const own: AttentionItem[] = [];
  const unnamed: AttentionItem[] = [];
  const moved = new Set(accounts);
  for (const item of await source.attention.list()) {
    const transaction = transactionOf(item);
    const record = transaction === null ? null : await source.journal.transaction(transaction);
    if (record === null) unnamed.push(item);
    else if (moved.has(record.account)) own.push(item);
  }
  return [...own, ...(await notedBy(source, accounts, unnamed))];
}

/** A stuck cashout that ops were done with stays so until it changes. */
async function moveMarks(
  { source, target }: Stores,
  accounts: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const at = new Date(now).toISOString();
  const open = await source.journal.openCashouts(at, MAX_STUCK);
  const marks = open.filter(({ account }) => accounts.has(account)).map(stuckMark);
  const [here, there] = await Promise.all([
    source.attention.dismissed(marks),
    target.attention.dismissed(marks),
  ]);
  for (const id of marks.filter((_, index) => here[index] === true && there[index] !== true)) {
    const what = 'a stuck cashout that ops were done with before it was moved';
    await target.attention.note([itemOf({ kind: 'stuck', id, what, next: 'nothing' }, at)]);
    await target.attention.dismiss(id);
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
  const items = all ? await source.attention.list() : await itemsOf(source, accounts);
  if (items.length === 0) return;
  await target.attention.note(items);
  for (const { id } of items) await source.attention.dismiss(id);
}
