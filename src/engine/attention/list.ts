/**
 * The list for ops. What is noted is stored; of what waits for the bank too long the list is made anew, by the rule of
 * whoever asks, since a command may have a rule of its own. Both are read in pages.
 */
import { parseEventOrDeliveryId } from '../../domain/events.ts';
import { isUuidV4 } from '../../domain/text.ts';
import { timeOfText } from '../../domain/time.ts';
import { inSlices, turn } from '../../waiting.ts';
import { upToDate } from '../chart.ts';
import type { TransactionRecord } from '../journal.ts';
import type {
  AttentionFilter,
  AttentionItem,
  AttentionPlace,
  BankWait,
  ChangePlace,
  DoneBy,
  Store,
} from '../store.ts';
import { compareItems, fitsAll } from './listing.ts';
import {
  BANK_WAITS,
  changedBefore,
  isExpiring,
  isMadeAnew,
  isPending,
  type StuckRule,
  stuckAmong,
  stuckMark,
  waitOf,
} from './stuck.ts';

/** The roles of the store that the list is made of. */
type Sources = Pick<Store, 'journal' | 'attention'>;

const PAGE = 500;
/** What a delivery died of is being written for so long at most after it was noted. */
const JUST_NOTED_MS = 60_000;

/** A part of the list, and how many items lie behind it, where they were counted. */
export interface AttentionPage {
  items: AttentionItem[];
  more: number;
}

/** A page, and the place behind which the next one begins; null: there was nothing. */
export type ListedPage = AttentionPage & { last: AttentionPlace | null };

/** What has waited too long at the bank, behind a place, the oldest first, without what ops are done with. */
async function* allStuck(
  { journal, attention }: Sources,
  wait: BankWait,
  rule: StuckRule,
  after: ChangePlace | null = null,
): AsyncGenerator<AttentionItem> {
  // Their charges come by their last change, which may be long after they were ordered.
  const refunds: AttentionItem[] = [];
  let place = after;
  for (;;) {
    const records = await journal.waiting(wait, place, changedBefore(wait, rule), PAGE);
    const items = stuckAmong(records, wait, rule);
    const done = await attention.dismissed(items.map(stuckMark));
    const stuck = items.filter((_, index) => done[index] !== true);
    if (wait === 'refund') refunds.push(...stuck);
    else yield* stuck;
    place = records.at(-1) ?? null;
    if (records.length < PAGE) return yield* refunds.sort(compareItems);
    // An embedded store answers at once: without a turn nobody else would be heard for all of them.
    await turn();
  }
}

/** Stuck items behind a place: the first so many, and how many more there are, where that is to be counted. */
async function stuckPage(
  store: Sources,
  rule: StuckRule,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
  isCounted: boolean,
): Promise<AttentionPage> {
  const items: AttentionItem[] = [];
  if (filter.kind !== undefined && filter.kind !== 'stuck') return { items, more: 0 };
  let count = 0;
  for (const wait of BANK_WAITS) {
    const start = after === null ? null : { updatedAt: after.since, id: '' };
    let taken = 0;
    let since = '';
    for await (const item of allStuck(store, wait, rule, start)) {
      if (!fitsAll(item, filter) || (after !== null && compareItems(item, after) <= 0)) continue;
      // Those of one time come in another order than the list's.
      if (!isCounted && taken >= limit && item.since !== since) break;
      taken += 1;
      since = item.since;
      count += 1;
      items.push(item);
      // Kept within bounds: the first ones of both kinds of waits are wanted, and their number.
      if (items.length >= 2 * limit + PAGE) items.sort(compareItems).splice(limit);
    }
  }
  items.sort(compareItems).splice(limit);
  return { items, more: isCounted ? count - items.length : 0 };
}

/** Items that are stored, behind a place: as many as are wanted, or all. */
async function notedItems(
  { attention }: Sources,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
): Promise<AttentionItem[]> {
  const items: AttentionItem[] = [];
  let place = after;
  while (items.length < limit) {
    const size = Math.min(limit, PAGE);
    const page = await attention.page(filter, place, size);
    items.push(...page.filter((item) => !isMadeAnew(item)));
    place = page.at(-1) ?? place;
    if (page.length < size) break;
    await turn();
  }
  return items.slice(0, limit);
}

/** What is stored; of most stuck ones the list is made anew. */
async function notedPage(
  store: Sources,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
  isCounted: boolean,
): Promise<AttentionPage> {
  const { attention } = store;
  const items = await notedItems(store, filter, after, limit);
  if (items.length < limit || !isCounted) return { items, more: 0 };
  const last = items.at(-1) ?? after;
  if (filter.kind !== undefined && filter.kind !== 'stuck')
    return { items, more: await attention.count(filter, last) };
  const stuck = { ...filter, kind: 'stuck' } as const;
  const others = filter.kind === undefined ? await attention.count(filter, last) : 0;
  const allStuck = filter.kind === undefined ? await attention.count(stuck, last) : 0;
  // Returns and charges that don't end are few.
  const returning = await notedItems(store, stuck, last, Number.POSITIVE_INFINITY);
  return { items, more: others - allStuck + returning.length };
}

/** A snapshot that reads again, after a deploy for one, needs nobody. */
async function isQuarantined({ journal }: Sources, id: string): Promise<boolean> {
  const record = await journal.transaction(id);
  if (record === null) return true;
  try {
    upToDate(record.snapshot);
    return false;
  } catch {
    return true;
  }
}

/** A delivery that was started anew is no dead one, unless it dies again. */
async function isDead({ journal }: Sources, id: string): Promise<boolean> {
  const parsed = parseEventOrDeliveryId(id);
  if (parsed === null) return true;
  const record = (await journal.deliveries(parsed.transaction)).find((delivery) => delivery.id === id);
  return record === undefined || record.status === 'dead' || record.status === 'rejected';
}

async function isStuck({ journal }: Sources, item: AttentionItem): Promise<boolean> {
  // Whoever asks the bank about a return takes its item away.
  if (!isMadeAnew(item) && !isExpiring(item)) return true;
  const { id, since, about } = item;
  const record = await journal.transaction(about.transaction ?? id);
  if (isExpiring(item)) return record !== null && record.timers.length > 0;
  if (record !== null && record.id !== id) return isPending(record, id);
  // Where an account's time stands still, since it is ahead of the clock, a change bears the time of the one before.
  return record !== null && waitOf(record) !== null && record.updatedAt === since;
}

/** An account's head that is not ahead any more of the clock that it ran ahead of. */
async function isAhead({ journal }: Sources, account: string, now: number): Promise<boolean> {
  return timeOfText((await journal.head(account)).at) > now;
}

/** Whether the cause of an item is still there, as far as that can be looked up. */
export async function holds(store: Sources, item: AttentionItem, now: number): Promise<boolean> {
  switch (item.kind) {
    case 'quarantined':
      return isQuarantined(store, item.id);
    case 'dead':
      // It is noted before the delivery itself is written as dead.
      return now - timeOfText(item.since) < JUST_NOTED_MS || isDead(store, item.id);
    case 'stuck':
      return isStuck(store, item);
    case 'clock':
      return isAhead(store, item.id, now);
    default:
      return true;
  }
}

/**
 * A stuck one in the words that it was noted with, where who asks has not heard the bank: the process that asks the
 * bank noted what it said.
 */
async function worded(
  { attention }: Sources,
  item: AttentionItem,
  { says }: StuckRule,
): Promise<AttentionItem> {
  if (!isMadeAnew(item) || says(item.id) !== null) return item;
  const noted = (await attention.find(item.id)).find(
    ({ kind, since }) => kind === 'stuck' && since === item.since,
  );
  return noted === undefined ? item : { ...item, what: noted.what, code: noted.code, data: noted.data };
}

/** The item with account and amount of the transaction that it is about, which items of former builds do not name. */
export async function completed({ journal }: Sources, item: AttentionItem): Promise<AttentionItem> {
  if (item.amount !== null && item.about.account !== null) return item;
  const named = item.about.transaction ?? parseEventOrDeliveryId(item.id)?.transaction;
  const record = named === undefined ? null : await journal.transaction(named);
  if (record === null) return item;
  const about = { ...item.about, transaction: record.id, account: record.account };
  return { ...item, about, amount: item.amount ?? record.snapshot.context.amount };
}

/**
 * A part of what needs a person now, behind an item's place, oldest first. To count how many more there are takes as
 * long as there are many of them: whoever reads page after page asks without.
 */
export async function attentionPage(
  store: Sources,
  rule: StuckRule,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
  isCounted = true,
): Promise<ListedPage> {
  const [stuck, noted] = await Promise.all([
    stuckPage(store, rule, filter, after, limit, isCounted),
    notedPage(store, filter, after, limit, isCounted),
  ]);
  const merged = [...stuck.items, ...noted.items].sort(compareItems);
  const listed = merged.slice(0, limit);
  const more = merged.length - listed.length + stuck.more + noted.more;
  const held = await inSlices(listed, (item) => holds(store, item, rule.now));
  const holding = listed.filter((_, index) => held[index] === true);
  const items = await inSlices(holding, async (item) => completed(store, await worded(store, item, rule)));
  return { items, more, last: listed.at(-1) ?? null };
}

/** The items on the list that have an id. */
export async function findAttention(store: Sources, rule: StuckRule, id: string): Promise<AttentionItem[]> {
  const noted = (await store.attention.find(id)).filter((item) => !isMadeAnew(item));
  const record = await store.journal.transaction(id);
  const stuck = record === null ? await stuckRefunds(store, rule, id) : await stuckNow(store, rule, record);
  return [...noted, ...stuck].sort(compareItems);
}

/** A transaction that is stuck, unless ops are done with it. */
async function stuckNow(
  store: Sources,
  rule: StuckRule,
  record: TransactionRecord,
): Promise<AttentionItem[]> {
  const wait = waitOf(record);
  if (wait === null || wait === 'refund') return [];
  const items = stuckAmong([record], wait, rule);
  const done = await store.attention.dismissed(items.map(stuckMark));
  return items.filter((_, index) => done[index] !== true);
}

/** Stuck refunds are few: the one with that id is looked for among them. */
async function stuckRefunds(store: Sources, rule: StuckRule, id: string): Promise<AttentionItem[]> {
  if (!isUuidV4(id)) return [];
  for await (const item of allStuck(store, 'refund', rule)) if (item.id === id) return [item];
  return [];
}

/**
 * Whether an item need not stay known: nothing notes it again (a dead delivery that dies again is news), and its
 * account's journal says who was done with it.
 */
function isForgotten({ kind, id, about }: AttentionItem): boolean {
  if (about.account === null) return false;
  return kind === 'dead' || ((kind === 'refused' || kind === 'return') && /^(msg|ret)_/.test(id));
}

/** Takes items off the list; a stuck transaction comes back once it has changed and waits too long again. */
export async function dismissAttention(
  store: Sources,
  items: readonly AttentionItem[],
  by: DoneBy,
): Promise<void> {
  const marks = items.filter(isMadeAnew).map((item) => ({ ...item, id: stuckMark(item) }));
  if (marks.length > 0) await store.attention.note(marks);
  await store.attention.dismiss([...marks, ...items.filter((item) => !isForgotten(item))], by);
  await store.attention.withdraw(items.filter(isForgotten));
}
