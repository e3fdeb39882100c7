/**
 * The list for ops. What is noted is stored; of what waits for the bank too long the list is made anew, by the rule of
 * whoever asks, since a command may have a rule of its own. Both are read in pages.
 */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { upToDate } from './chart.ts';
import type { TransactionRecord } from './journal.ts';
import {
  type AttentionFilter,
  type AttentionItem,
  type AttentionKey,
  type AttentionPlace,
  type BankWait,
  type ChangePlace,
  itemOf,
  type Store,
} from './store.ts';

/** Precautionary blocks of payments last as long: 72 hours. */
const ANALYSIS_MS = 72 * 3_600_000;

export const BANK_WAITS: readonly BankWait[] = ['cashout', 'analysis'];

/** What a transaction waits for at the bank; null: nothing. */
export function waitOf({ type, final, snapshot }: TransactionRecord): BankWait | null {
  if (type === 'cashout') return final ? null : 'cashout';
  return snapshot.value === 'in_analysis' ? 'analysis' : null;
}

/** How long a wait may last, in ms, before it counts as stuck. */
export function stuckAfter(wait: BankWait, stuckAfterMs: number): number {
  return wait === 'cashout' ? stuckAfterMs : Math.max(stuckAfterMs, ANALYSIS_MS);
}

/** The id under which ops are done with a stuck transaction: once it has changed, it is another case. */
export function stuckMark({ id, updatedAt }: TransactionRecord): string {
  return `${id}@${updatedAt}`;
}

/** The items about a stuck transaction that go with its next change. */
export function stuckKeys(record: TransactionRecord): AttentionKey[] {
  return [record.id, stuckMark(record)].map((id) => ({ kind: 'stuck', id }));
}

/** The item about a transaction whose wait has lasted too long. */
export function stuckItem(record: TransactionRecord): AttentionItem {
  const { id, account, type, snapshot, updatedAt } = record;
  const answers = type === 'cashout' ? 'SETTLE or FAIL' : 'APPROVE or REFUSE';
  const what = `${type} ${id} has been ${snapshot.value} since ${updatedAt}: its outcome is not known`;
  const next = `ask the bank, then npx pixstate send ${id} ${answers}; npx pixstate inspect ${id} shows it`;
  const about = { account, transaction: id };
  return itemOf({ kind: 'stuck', id, what, next }, updatedAt, about, snapshot.context.amount);
}

/** The roles of the store that the list is made of. */
type Sources = Pick<Store, 'journal' | 'attention'>;

const PAGE = 500;

/** When a transaction is stuck: it waits for the bank and has not changed for so many ms. */
export interface StuckRule {
  now: number;
  stuckAfterMs: number;
}

/** A part of the list, and how many items lie behind it. */
export interface AttentionPage {
  items: AttentionItem[];
  more: number;
}

/** A page, and the place behind which the next one begins; null: there was nothing. */
export type ListedPage = AttentionPage & { last: AttentionPlace | null };

function compare(a: AttentionPlace, b: AttentionPlace): number {
  for (const part of ['since', 'kind', 'id'] as const) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  }
  return 0;
}

function fits({ about, since }: AttentionItem, filter: AttentionFilter): boolean {
  return (
    (filter.account === undefined || about.account === filter.account) &&
    (filter.url === undefined || about.url === filter.url) &&
    (filter.since === undefined || since >= filter.since)
  );
}

/** What has waited too long at the bank, behind a place, oldest change first, without what ops are done with. */
export async function* stuckTransactions(
  { journal, attention }: Sources,
  wait: BankWait,
  rule: StuckRule,
  after: ChangePlace | null = null,
): AsyncGenerator<TransactionRecord> {
  const before = new Date(rule.now - stuckAfter(wait, rule.stuckAfterMs)).toISOString();
  let place = after;
  for (;;) {
    const records = await journal.waiting(wait, place, before, PAGE);
    const done = await attention.dismissed(records.map(stuckMark));
    for (const [index, record] of records.entries()) if (done[index] !== true) yield record;
    place = records.at(-1) ?? null;
    if (records.length < PAGE) return;
  }
}

/** Stuck items behind a place: the first so many, and how many more there are. */
async function stuckPage(
  store: Sources,
  rule: StuckRule,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
): Promise<AttentionPage> {
  const items: AttentionItem[] = [];
  if (filter.kind !== undefined && filter.kind !== 'stuck') return { items, more: 0 };
  let count = 0;
  for (const wait of BANK_WAITS) {
    const start = after === null ? null : { updatedAt: after.since, id: '' };
    for await (const record of stuckTransactions(store, wait, rule, start)) {
      const item = stuckItem(record);
      if (!fits(item, filter) || (after !== null && compare(item, after) <= 0)) continue;
      count += 1;
      items.push(item);
      // Kept within bounds: the first ones of both kinds of waits are wanted, and their number.
      if (items.length >= 2 * limit + PAGE) items.sort(compare).splice(limit);
    }
  }
  items.sort(compare).splice(limit);
  return { items, more: count - items.length };
}

/** The kinds that are stored; of stuck ones the list is made anew. */
async function notedPage(
  { attention }: Sources,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
): Promise<AttentionPage> {
  if (filter.kind === 'stuck') return { items: [], more: 0 };
  const items: AttentionItem[] = [];
  let place = after;
  while (items.length < limit) {
    const page = await attention.page(filter, place, limit);
    items.push(...page.filter(({ kind }) => kind !== 'stuck'));
    place = page.at(-1) ?? place;
    if (page.length < limit) break;
  }
  items.splice(limit);
  const last = items.at(-1) ?? after;
  if (items.length < limit) return { items, more: 0 };
  const behind = await attention.count(filter, last);
  const stuck = filter.kind === undefined ? await attention.count({ ...filter, kind: 'stuck' }, last) : 0;
  return { items, more: behind - stuck };
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

async function isStuck({ journal }: Sources, { id, since }: AttentionItem): Promise<boolean> {
  const record = await journal.transaction(id);
  // Where an account's time stands still, since it is ahead of the clock, a change bears the time of the one before.
  return record !== null && waitOf(record) !== null && record.updatedAt === since;
}

/** An account's head that is not ahead any more of the clock that it ran ahead of. */
async function isAhead({ journal }: Sources, account: string, now: number): Promise<boolean> {
  return Date.parse((await journal.head(account)).at) > now;
}

/** Whether the cause of an item is still there, as far as that can be looked up. */
export async function holds(store: Sources, item: AttentionItem, now: number): Promise<boolean> {
  switch (item.kind) {
    case 'quarantined':
      return isQuarantined(store, item.id);
    case 'dead':
      return isDead(store, item.id);
    case 'stuck':
      return isStuck(store, item);
    case 'clock':
      return isAhead(store, item.id, now);
    default:
      return true;
  }
}

/** The item with account and amount of the transaction that it is about, which items of former builds do not name. */
async function completed({ journal }: Sources, item: AttentionItem): Promise<AttentionItem> {
  if (item.amount !== null && item.about.account !== null) return item;
  const named = item.about.transaction ?? parseEventOrDeliveryId(item.id)?.transaction;
  const record = named === undefined ? null : await journal.transaction(named);
  if (record === null) return item;
  const about = { ...item.about, transaction: record.id, account: record.account };
  return { ...item, about, amount: item.amount ?? record.snapshot.context.amount };
}

/** A part of what needs a person now, behind an item's place, oldest first. */
export async function attentionPage(
  store: Sources,
  rule: StuckRule,
  filter: AttentionFilter,
  after: AttentionPlace | null,
  limit: number,
): Promise<ListedPage> {
  const [stuck, noted] = await Promise.all([
    stuckPage(store, rule, filter, after, limit),
    notedPage(store, filter, after, limit),
  ]);
  const merged = [...stuck.items, ...noted.items].sort(compare);
  const listed = merged.slice(0, limit);
  const more = merged.length - listed.length + stuck.more + noted.more;
  const held = await Promise.all(listed.map((item) => holds(store, item, rule.now)));
  const holding = listed.filter((_, index) => held[index] === true);
  const items = await Promise.all(holding.map((item) => completed(store, item)));
  return { items, more, last: listed.at(-1) ?? null };
}

/** The items on the list that have an id. */
export async function findAttention(store: Sources, rule: StuckRule, id: string): Promise<AttentionItem[]> {
  const noted = (await store.attention.find(id)).filter(({ kind }) => kind !== 'stuck');
  const record = await store.journal.transaction(id);
  const wait = record === null ? null : waitOf(record);
  noted.sort(compare);
  if (record === null || wait === null) return noted;
  const isStuck = Date.parse(record.updatedAt) < rule.now - stuckAfter(wait, rule.stuckAfterMs);
  const [isDone] = isStuck ? await store.attention.dismissed([stuckMark(record)]) : [true];
  return isDone === true ? noted : [...noted, stuckItem(record)].sort(compare);
}

/** Whether nothing notes an item again, once it was noted: a dead delivery that dies again is news. */
function comesOnce({ kind, id }: AttentionItem): boolean {
  return kind === 'dead' || ((kind === 'refused' || kind === 'return') && /^(msg|ret)_/.test(id));
}

/** Takes items off the list; a stuck transaction comes back once it has changed and waits too long again. */
export async function dismissAttention(store: Sources, items: readonly AttentionItem[]): Promise<void> {
  const marks = items
    .filter(({ kind }) => kind === 'stuck')
    .map((item) => ({ ...item, id: `${item.id}@${item.since}` }));
  if (marks.length > 0) await store.attention.note(marks);
  await store.attention.dismiss([...marks, ...items.filter((item) => !comesOnce(item))]);
  await store.attention.withdraw(items.filter(comesOnce));
}
