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
import { ATTENTION_KINDS } from '../engine/journal.ts';
import { sha256 } from '../engine/store/content.ts';
import type {
  AttentionFilter,
  AttentionItem,
  AttentionKey,
  AttentionPlace,
  DoneBy,
  Store,
} from '../engine/store.ts';
import { Lately } from '../passing.ts';
import { inSlices, inTurn, turn } from '../waiting.ts';
import {
  type Acting,
  type Intent,
  markOf,
  type OpsParts,
  recordAll,
  type TouchedOf,
  tell,
  touchedOf,
} from './acting.ts';

/** Items that are named: one by its kind and id, or all that have an id. */
export type Named = AttentionKey | string;

/** What this process was lately done with in a store, by kind and id. */
const lasting = new WeakMap<Store, Lately<DoneBy>>();
const LEAST_KEPT = 1_000;

function lastingOf(store: Store): Lately<DoneBy> {
  const known = lasting.get(store);
  if (known !== undefined) return known;
  const kept = new Lately<DoneBy>(LEAST_KEPT);
  lasting.set(store, kept);
  return kept;
}

/** Who was done with it: what belongs to an account the store may know no more, and this process has kept it. */
async function doneBy(store: Store, named: Named): Promise<DoneBy | null> {
  const id = idOf(named);
  const kind = typeof named === 'string' ? undefined : named.kind;
  const said = await store.attention.doneBy(id, kind);
  if (said !== null) {
    // A former build wrote more of it.
    const { name, reason, role, at } = said;
    return { name, reason, role, at };
  }
  for (const each of kind === undefined ? ATTENTION_KINDS : [kind]) {
    const by = lastingOf(store).get(keyOf({ kind: each, id }));
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
/** Items that one action takes off; of more the oldest. Its mark has some 17 bytes of each. */
const MOST_ITEMS = 100_000;
/** Letters of the hash that an action's mark names an item by. */
const NAME_LETTERS = 16;

/** Who was done with an item, behind the words that it isn't on the list. */
export function whoText(by: DoneBy | null): string {
  return by === null ? '' : `; ${by.name} was done with it at ${by.at}`;
}

/** The ids that were taken off the list, perhaps none, or the first that isn't on it: nothing was changed then. */
export type Finished =
  /** `again`: it had come before under its id. */
  | { kind: 'done'; ids: string[]; again: boolean }
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

/** What tells an item from all others, and from what comes on the list again under its kind and id. */
function nameOf(item: AttentionItem): string {
  return sha256(`${item.since} ${keyOf(item)}`).slice(0, NAME_LETTERS);
}

/** What an action is to take off the list, by its names. */
class Touched {
  readonly #items = new Map<string, { id: string; account: string | null }>();

  add(name: string, { id, about }: AttentionItem): void {
    this.#items.set(name, { id, account: about.account });
  }

  has(item: AttentionItem): boolean {
    return this.#items.has(nameOf(item));
  }

  get size(): number {
    return this.#items.size;
  }

  get names(): string[] {
    return [...this.#items.keys()];
  }

  /** Leaves out what has none of the names. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#items.keys()) if (!names.has(name)) this.#items.delete(name);
  }

  /** What it touches of each account, and the ids of what belongs to none; items of several kinds may have one id. */
  byAccount(): { accounts: Map<string, TouchedOf>; nobodys: string[] } {
    const nobodys = new Set<string>();
    const own = new Map<string, string[]>();
    for (const { id, account } of this.#items.values()) {
      const ids = account === null ? undefined : own.get(account);
      if (account === null) nobodys.add(id);
      else if (ids === undefined) own.set(account, [id]);
      else ids.push(id);
    }
    const accounts = new Map<string, TouchedOf>();
    for (const [id, ids] of own) accounts.set(id, touchedOf(new Set(ids), ids.length));
    return { accounts, nobodys: [...nobodys] };
  }
}

/** The names that an action's mark has; null: it comes for the first time. */
async function toldOf({ marks }: Store, mark: string): Promise<ReadonlySet<string> | null> {
  const text = await marks.mark(mark);
  return text === null ? null : new Set(text.split(' '));
}

/**
 * Takes items off the list: those that are named, as far as they fit, or where none is named all that fit. What belongs
 * to an account has an entry there before; what stays known says itself who was done with it. One comes after the
 * other: of two who name the same item, the second finds it off the list. The store has a mark of the action, which names
 * what was there when it first came, before anything else of it is done: what comes again under its id does the rest of
 * that, and nothing else.
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
    const { store } = parts;
    const { account: _account, ...own } = filter;
    const intent = { action: 'done', asked: { ids, filter }, filter: own } as const;
    const [first] = ids;
    const found = await inSlices(ids, (named) => itemsNamed(parts, rule, named));
    const items = found.flat().filter((item) => fitsAll(item, filter));
    const mark = `done:${sha256(markOf(intent, acting))}`;
    const told = await toldOf(store, mark);
    if (told === null) {
      const gone = ids.find((_, index) => found[index]?.length === 0);
      if (gone !== undefined) return { kind: 'notOnList', id: idOf(gone), by: await doneBy(store, gone) };
      if (first !== undefined && items.length === 0) return { kind: 'notOnList', id: idOf(first), by: null };
    }
    const pages = () => (first === undefined ? fitting(parts, rule, filter) : inOnePage(items));
    const touched = await touchedBy(store, pages, mark, told);
    return { kind: 'done', ids: await takeOff(parts, pages, touched, intent, acting), again: told !== null };
  });
}

/** What the pages have of what an action was told of when it first came; where that is now, its mark is there after this. */
async function touchedBy(
  store: Store,
  pages: () => AsyncGenerator<readonly AttentionItem[]>,
  mark: string,
  told: ReadonlySet<string> | null,
): Promise<Touched> {
  const touched = new Touched();
  for await (const page of pages()) {
    for (const item of page) {
      const name = nameOf(item);
      if (told?.has(name) ?? touched.size < MOST_ITEMS) touched.add(name, item);
    }
  }
  if (told !== null) return touched;
  await store.marks.keepMark(mark, touched.names.join(' '));
  // The same may have come to another server, whose mark was first.
  touched.keepOnly((await toldOf(store, mark)) ?? new Set());
  return touched;
}

/** Takes off the list what an action touches, page by page; the ids. */
async function takeOff(
  parts: OpsParts,
  pages: () => AsyncGenerator<readonly AttentionItem[]>,
  touched: Touched,
  intent: Intent & { filter: object },
  acting: Acting,
): Promise<string[]> {
  const { store } = parts;
  const { accounts, nobodys } = touched.byAccount();
  const by = { ...acting.by, at: textOfTime(parts.now()) };
  const lately = lastingOf(store);
  await recordAll(parts, intent, accounts, acting);
  const done = new Set<string>();
  for await (const page of pages()) {
    const owed = page.filter((item) => touched.has(item));
    await dismissAttention(store, owed, by);
    for (const item of owed) {
      lately.set(keyOf(item), by);
      done.add(item.id);
    }
  }
  if (touched.size > 0) tell(parts, 'done', accounts.keys(), acting, nobodys);
  return [...done];
}
