/** Ops are done with items of what needs a person. */
import { textOfTime } from '../domain/time.ts';
import {
  attentionPage,
  completed,
  dismissAttention,
  findAttention,
  type ListedPage,
} from '../engine/attention/list.ts';
import { fitsAll } from '../engine/attention/listing.ts';
import type { StuckRule } from '../engine/attention/stuck.ts';
import type { AttentionFilter, AttentionItem, AttentionPlace, DoneBy, Store } from '../engine/store.ts';
import { inTurn, turn } from '../waiting.ts';
import {
  type Acting,
  type OpsParts,
  type Recorded,
  recordAll,
  type TouchedOf,
  tell,
  touchedOf,
} from './acting.ts';

/** Who was done with what the store keeps no more, as far as this process has done it: the last ones. */
const lastDone = new WeakMap<Store, Map<string, DoneBy>>();
const MOST_KEPT = 1_000;

function keepDone(store: Store, ids: Iterable<string>, by: DoneBy): void {
  const kept = lastDone.get(store) ?? new Map<string, DoneBy>();
  lastDone.set(store, kept);
  for (const id of ids) {
    kept.delete(id);
    kept.set(id, by);
  }
  for (const id of kept.keys()) {
    if (kept.size <= MOST_KEPT) return;
    kept.delete(id);
  }
}

async function doneBy(store: Store, id: string): Promise<DoneBy | null> {
  return (await store.attention.doneBy(id)) ?? lastDone.get(store)?.get(id) ?? null;
}

/** No item has a longer id, and the store's keys are bounded. */
const MAX_ID = 400;
/** Items that are taken off the list together. */
const TOGETHER = 500;

/** The ids that were taken off the list, perhaps none, or the first that isn't on it: nothing was changed then. */
export type Finished =
  | { kind: 'done'; ids: string[] }
  /** `by`: who was done with it before, where somebody said so. */
  | { kind: 'notOnList'; id: string; by: DoneBy | null };

/** The items on the list that have an id, each with whose it is. */
export async function itemsWith(
  { store }: Pick<OpsParts, 'store'>,
  rule: StuckRule,
  id: string,
): Promise<AttentionItem[]> {
  if (id === '' || id.length > MAX_ID) return [];
  const items = await findAttention(store, rule, id);
  return Promise.all(items.map((item) => completed(store, item)));
}

/** All on the list that fits, page by page. */
async function* fitting(
  { store }: OpsParts,
  rule: StuckRule,
  filter: AttentionFilter,
): AsyncGenerator<readonly AttentionItem[]> {
  let after: AttentionPlace | null = null;
  for (;;) {
    const page: ListedPage = await attentionPage(store, rule, filter, after, TOGETHER, false);
    yield page.items;
    after = page.last;
    if (after === null) return;
    await turn();
  }
}

async function* inOnePage(items: readonly AttentionItem[]): AsyncGenerator<readonly AttentionItem[]> {
  yield items;
}

function keyOf({ kind, id }: AttentionItem): string {
  return `${kind}:${id}`;
}

/** Whether the entry of an action that comes again still has the item to take off: what was noted since is news. */
function isOwed({ about, since }: AttentionItem, recorded: ReadonlyMap<string, Recorded>): boolean {
  const entry = about.account === null ? undefined : recorded.get(about.account);
  return entry === undefined || entry.applied || since <= entry.at;
}

/** What an action is to take off the list: all of it by kind and id, and the ids of each account's and of nobody's. */
class Touched {
  readonly keys = new Set<string>();
  readonly accounts = new Map<string, string[]>();
  readonly nobodys: string[] = [];

  add(item: AttentionItem): void {
    const { account } = item.about;
    this.keys.add(keyOf(item));
    const known = account === null ? this.nobodys : this.accounts.get(account);
    if (known !== undefined) known.push(item.id);
    else if (account !== null) this.accounts.set(account, [item.id]);
  }

  byAccount(): Map<string, TouchedOf> {
    return new Map([...this.accounts].map(([account, ids]) => [account, touchedOf(ids)]));
  }
}

/**
 * Takes items off the list: those that ids name, as far as they fit, or without ids all that fit. What belongs to an
 * account has an entry there before; what stays known says itself who was done with it. One comes after the other: of
 * two who name the same item, the second finds it off the list.
 * @throws ActionRefused
 */
export function finish(
  parts: OpsParts,
  rule: StuckRule,
  ids: readonly string[],
  filter: AttentionFilter,
  acting: Acting,
): Promise<Finished> {
  return inTurn('attention', async (): Promise<Finished> => {
    const { store, now } = parts;
    const items: AttentionItem[] = [];
    for (const id of ids) {
      const found = await itemsWith(parts, rule, id);
      if (found.length === 0) return { kind: 'notOnList', id, by: await doneBy(store, id) };
      items.push(...found.filter((item) => fitsAll(item, filter)));
    }
    const [first] = ids;
    if (first !== undefined && items.length === 0) return { kind: 'notOnList', id: first, by: null };
    const pages = () => (first === undefined ? fitting(parts, rule, filter) : inOnePage(items));
    const touched = new Touched();
    for await (const page of pages()) for (const item of page) touched.add(item);
    const { account: _account, ...own } = filter;
    const intent = { action: 'done', asked: { ids, filter }, filter: own } as const;
    const recorded = await recordAll(parts, intent, touched.byAccount(), acting);
    const by = { ...acting.by, at: textOfTime(now()) };
    const done = new Set<string>();
    for await (const page of pages()) {
      const owed = page.filter((item) => touched.keys.has(keyOf(item)) && isOwed(item, recorded));
      await dismissAttention(store, owed, by);
      for (const { id } of owed) done.add(id);
    }
    keepDone(store, done, by);
    if (touched.keys.size > 0) tell(parts, 'done', touched.accounts.keys(), acting, touched.nobodys);
    return { kind: 'done', ids: [...done] };
  });
}
