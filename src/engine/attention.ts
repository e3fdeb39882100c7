/**
 * The list for ops: notes that still hold, and cashouts that the bank stays silent about. The latter
 * follow from the records, so they are noted only to be done with.
 */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { upToDate } from './chart.ts';
import type { TransactionRecord } from './journal.ts';
import { type AttentionItem, itemOf, type Store } from './store.ts';

/** The roles of the store that the list is made of. */
type Sources = Pick<Store, 'journal' | 'attention'>;

/** The most stuck cashouts that are listed: where more are, it is the bank that is stuck. */
export const MAX_STUCK = 10_000;

/** When a cashout is stuck: it isn't final so many ms after its last change. */
export interface StuckRule {
  now: number;
  stuckAfterMs: number;
}

/** The id under which ops are done with a stuck cashout: once it has changed, it is another case. */
export function stuckMark(record: TransactionRecord): string {
  return `${record.id}@${record.updatedAt}`;
}

function stuckItem(record: TransactionRecord): AttentionItem {
  const { id, account, snapshot, updatedAt } = record;
  const what = `cashout ${id} has been ${snapshot.value} since ${updatedAt}: its outcome is not known`;
  const next = `ask the bank, then npx pixstate send ${id} SETTLE or FAIL; npx pixstate inspect ${id} shows it`;
  const about = { account, transaction: id };
  return itemOf({ kind: 'stuck', id, what, next }, updatedAt, about, snapshot.context.amount);
}

async function stuckItems(store: Sources, { now, stuckAfterMs }: StuckRule): Promise<AttentionItem[]> {
  const records = await store.journal.openCashouts(new Date(now - stuckAfterMs).toISOString(), MAX_STUCK);
  const done = await store.attention.dismissed(records.map(stuckMark));
  return records.filter((_, index) => done[index] !== true).map(stuckItem);
}

/** A snapshot that reads again, after a deploy for one, needs nobody. */
async function isQuarantined(store: Sources, id: string): Promise<boolean> {
  const record = await store.journal.transaction(id);
  if (record === null) return true;
  try {
    upToDate(record.snapshot);
    return false;
  } catch {
    return true;
  }
}

/** A delivery that was started anew is no dead one, unless it dies again. */
async function isDead(store: Sources, id: string): Promise<boolean> {
  const parsed = parseEventOrDeliveryId(id);
  if (parsed === null) return true;
  const record = (await store.journal.deliveries(parsed.transaction)).find((delivery) => delivery.id === id);
  return record === undefined || record.status === 'dead' || record.status === 'rejected';
}

async function holds(store: Sources, item: AttentionItem): Promise<boolean> {
  switch (item.kind) {
    case 'quarantined':
      return isQuarantined(store, item.id);
    case 'dead':
      return isDead(store, item.id);
    default:
      return item.kind !== 'stuck';
  }
}

/** All items that need a person now, oldest first. */
export async function attentionList(store: Sources, rule: StuckRule): Promise<AttentionItem[]> {
  const items = await stuckItems(store, rule);
  for (const item of await store.attention.list()) if (await holds(store, item)) items.push(item);
  return items.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}

/** Takes what has the id off the list; false where nothing has it. A stuck cashout comes back once it has changed. */
export async function dismissAttention(store: Sources, rule: StuckRule, id: string): Promise<boolean> {
  const stuck = (await stuckItems(store, rule)).some((item) => item.id === id);
  const record = stuck ? await store.journal.transaction(id) : null;
  if (record === null) return store.attention.dismiss(id);
  const mark = stuckMark(record);
  await store.attention.note([{ ...stuckItem(record), id: mark }]);
  await store.attention.dismiss(mark);
  await store.attention.dismiss(id);
  return true;
}
