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
import { findNamed } from '../engine/finding/find.ts';
import { ATTENTION_KINDS } from '../engine/journal.ts';
import type {
  AttentionFilter,
  AttentionItem,
  AttentionKey,
  AttentionPlace,
  DoneBy,
  Store,
} from '../engine/store.ts';
import { inTurn, turn } from '../waiting.ts';
import {
  type Acting,
  type Intent,
  isRecorded,
  type OpsParts,
  type Recorded,
  recordAll,
  type TouchedOf,
  tell,
  touchedOf,
} from './acting.ts';

/** Items that are named: one by its kind and id, or all that have an id. */
export type Named = AttentionKey | string;

/** Who was done with what the store keeps no more, by kind and id, as far as this process has done it: the last ones. */
const lastDone = new WeakMap<Store, Map<string, DoneBy>>();
const MOST_KEPT = 1_000;

function keepDone(store: Store, keys: Iterable<string>, by: DoneBy): void {
  const kept = lastDone.get(store) ?? new Map<string, DoneBy>();
  lastDone.set(store, kept);
  for (const key of keys) {
    kept.delete(key);
    kept.set(key, by);
  }
  for (const key of kept.keys()) {
    if (kept.size <= MOST_KEPT) return;
    kept.delete(key);
  }
}

async function doneBy(store: Store, named: Named): Promise<DoneBy | null> {
  const id = idOf(named);
  const kind = typeof named === 'string' ? undefined : named.kind;
  const said = await store.attention.doneBy(id, kind);
  if (said !== null) return said;
  for (const each of kind === undefined ? ATTENTION_KINDS : [kind]) {
    const by = lastDone.get(store)?.get(keyOf({ kind: each, id }));
    if (by !== undefined) return by;
  }
  return null;
}

function keyOf({ kind, id }: AttentionKey): string {
  return `${kind}:${id}`;
}

function idOf(named: Named): string {
  return typeof named === 'string' ? named : named.id;
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

async function itemsNamed(parts: OpsParts, rule: StuckRule, named: Named): Promise<AttentionItem[]> {
  if (typeof named === 'string') return itemsWith(parts, rule, named);
  return (await itemsWith(parts, rule, named.id)).filter(({ kind }) => kind === named.kind);
}

/**
 * Whether an item is off the list by this very action, which comes again: its entry is in the journal of whose it was,
 * which the transaction tells that its id names.
 */
async function wasDone(parts: OpsParts, id: string, intent: Intent, acting: Acting): Promise<boolean> {
  const named = await findNamed(parts.store.journal, id);
  return named !== null && (await isRecorded(parts, named.record.account, intent, acting));
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

/** Whether the entry of an action that comes again still has the item to take off: what was noted since is news. */
function isOwed({ about, since }: AttentionItem, recorded: ReadonlyMap<string, Recorded>): boolean {
  const entry = about.account === null ? undefined : recorded.get(about.account);
  return entry === undefined || entry.applied || since <= entry.at;
}

interface Own {
  /** How many items: those of several kinds may have one id. */
  count: number;
  ids: Set<string>;
}

/** What an action is to take off the list: all of it by kind and id, and the ids of each account's and of nobody's. */
class Touched {
  readonly keys = new Set<string>();
  readonly accounts = new Map<string, Own>();
  readonly nobodys = new Set<string>();

  add(item: AttentionItem): void {
    const key = keyOf(item);
    if (this.keys.has(key)) return;
    this.keys.add(key);
    const { id, about } = item;
    if (about.account === null) {
      this.nobodys.add(id);
      return;
    }
    const own = this.accounts.get(about.account) ?? { count: 0, ids: new Set() };
    own.count += 1;
    own.ids.add(id);
    this.accounts.set(about.account, own);
  }

  byAccount(): Map<string, TouchedOf> {
    return new Map([...this.accounts].map(([account, { ids, count }]) => [account, touchedOf(ids, count)]));
  }
}

/**
 * Takes items off the list: those that are named, as far as they fit, or where none is named all that fit. What belongs
 * to an account has an entry there before; what stays known says itself who was done with it. One comes after the
 * other: of two who name the same item, the second finds it off the list. What comes again under its id is done.
 * @throws ActionRefused
 */
export function finish(
  parts: OpsParts,
  rule: StuckRule,
  ids: readonly Named[],
  filter: AttentionFilter,
  acting: Acting,
): Promise<Finished> {
  return inTurn('attention', async (): Promise<Finished> => {
    const { store, now } = parts;
    const { account: _account, ...own } = filter;
    const intent = { action: 'done', asked: { ids, filter }, filter: own } as const;
    const items: AttentionItem[] = [];
    let isAgain = false;
    for (const named of ids) {
      const found = await itemsNamed(parts, rule, named);
      isAgain ||= found.length === 0 && (await wasDone(parts, idOf(named), intent, acting));
      if (found.length === 0 && !isAgain)
        return { kind: 'notOnList', id: idOf(named), by: await doneBy(store, named) };
      items.push(...found.filter((item) => fitsAll(item, filter)));
    }
    const [first] = ids;
    if (first !== undefined && items.length === 0 && !isAgain)
      return { kind: 'notOnList', id: idOf(first), by: null };
    const pages = () => (first === undefined ? fitting(parts, rule, filter) : inOnePage(items));
    const touched = new Touched();
    for await (const page of pages()) for (const item of page) touched.add(item);
    const recorded = await recordAll(parts, intent, touched.byAccount(), acting);
    const by = { ...acting.by, at: textOfTime(now()) };
    const done = new Map<string, string>();
    for await (const page of pages()) {
      const owed = page.filter((item) => touched.keys.has(keyOf(item)) && isOwed(item, recorded));
      await dismissAttention(store, owed, by);
      for (const item of owed) done.set(keyOf(item), item.id);
    }
    keepDone(store, done.keys(), by);
    if (touched.keys.size > 0) tell(parts, 'done', touched.accounts.keys(), acting, [...touched.nobodys]);
    return { kind: 'done', ids: [...new Set(done.values())] };
  });
}
