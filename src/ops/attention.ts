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
import { Lately } from '../passing.ts';
import { inSlices, inTurn, turn } from '../waiting.ts';
import {
  type Acting,
  type Intent,
  isRecorded,
  markOf,
  type OpsParts,
  recordAll,
  recordedAt,
  type TouchedOf,
  tell,
  touchedOf,
} from './acting.ts';

/** Items that are named: one by its kind and id, or all that have an id. */
export type Named = AttentionKey | string;

/** What this process was lately done with in a store, by kind and id, and when what ops asked for first came. */
interface Lasting {
  by: Lately<DoneBy>;
  came: Lately<string>;
}

const lasting = new WeakMap<Store, Lasting>();
const LEAST_KEPT = 1_000;

function lastingOf(store: Store): Lasting {
  const known = lasting.get(store);
  if (known !== undefined) return known;
  const kept = { by: new Lately<DoneBy>(LEAST_KEPT), came: new Lately<string>(LEAST_KEPT) };
  lasting.set(store, kept);
  return kept;
}

/** Who was done with it: what belongs to an account the store may know no more, and this process has kept it. */
async function doneBy(store: Store, named: Named): Promise<DoneBy | null> {
  const id = idOf(named);
  const kind = typeof named === 'string' ? undefined : named.kind;
  const said = await store.attention.doneBy(id, kind);
  if (said !== null) return said;
  for (const each of kind === undefined ? ATTENTION_KINDS : [kind]) {
    const by = lastingOf(store).by.get(keyOf({ kind: each, id }));
    if (by !== undefined) return by;
  }
  return null;
}

async function whoDid(store: Store, named: Named): Promise<WhoDid | null> {
  const done = await doneBy(store, named);
  if (done === null) return null;
  const { act: _, ...who } = done;
  return who;
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

/** Who was done with an item, as it is told. */
export type WhoDid = Omit<DoneBy, 'act'>;

/** Who was done with an item, behind the words that it isn't on the list. */
export function whoText(by: WhoDid | null): string {
  return by === null ? '' : `; ${by.name} was done with it at ${by.at}`;
}

/** The ids that were taken off the list, perhaps none, or the first that isn't on it: nothing was changed then. */
export type Finished =
  | { kind: 'done'; ids: string[] }
  /** `by`: who was done with it before, where somebody said so. */
  | { kind: 'notOnList'; id: string; by: WhoDid | null };

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

/** Whether something is off the list by this very action, which comes again, as far as that is known. */
async function wasDone(parts: OpsParts, named: Named, intent: Intent, acting: Acting): Promise<boolean> {
  const { store } = parts;
  if ((await doneBy(store, named))?.act === markOf(intent, acting)) return true;
  const found = await findNamed(store.journal, idOf(named));
  return found !== null && (await isRecorded(parts, found.record.account, intent, acting));
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

/** What an action is to take off the list, by kind and id. */
class Touched {
  readonly #items = new Map<string, { id: string; since: string; account: string | null }>();

  add(item: AttentionItem): void {
    const { id, since, about } = item;
    this.#items.set(keyOf(item), { id, since, account: about.account });
  }

  has(item: AttentionKey): boolean {
    return this.#items.has(keyOf(item));
  }

  get size(): number {
    return this.#items.size;
  }

  /** Leaves out what is later than a time. */
  leaveLater(time: string): void {
    for (const [key, { since }] of this.#items) if (since > time) this.#items.delete(key);
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

/** When an action that comes again first came (ISO): what was noted since is news. Null: it never came. */
async function cameAt(
  parts: OpsParts,
  accounts: Iterable<string>,
  intent: Intent,
  acting: Acting,
): Promise<string | null> {
  const kept = lastingOf(parts.store).came.get(markOf(intent, acting));
  if (kept !== undefined) return kept;
  const times = await inSlices([...accounts], (id) => recordedAt(parts, id, intent, acting));
  return times.filter((at) => at !== null).sort()[0] ?? null;
}

/**
 * Takes items off the list: those that are named, as far as they fit, or where none is named all that fit. What belongs
 * to an account has an entry there before; what stays known says itself who was done with it. One comes after the
 * other: of two who name the same item, the second finds it off the list. What comes again under its id is done, and
 * takes off only what was there when it came first.
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
    const missing = ids.filter((_, index) => found[index]?.length === 0);
    const wereDone = await inSlices(missing, (named) => wasDone(parts, named, intent, acting));
    if (!wereDone.includes(true)) {
      const [gone] = missing;
      if (gone !== undefined) return { kind: 'notOnList', id: idOf(gone), by: await whoDid(store, gone) };
      if (first !== undefined && items.length === 0) return { kind: 'notOnList', id: idOf(first), by: null };
    }
    const pages = () => (first === undefined ? fitting(parts, rule, filter) : inOnePage(items));
    return { kind: 'done', ids: await takeOff(parts, pages, intent, acting) };
  });
}

/** Takes off the list what the pages have, as far as it was there when the action first came; the ids. */
async function takeOff(
  parts: OpsParts,
  pages: () => AsyncGenerator<readonly AttentionItem[]>,
  intent: Intent & { filter: object },
  acting: Acting,
): Promise<string[]> {
  const { store } = parts;
  const touched = new Touched();
  for await (const page of pages()) for (const item of page) touched.add(item);
  let { accounts, nobodys } = touched.byAccount();
  const came = await cameAt(parts, accounts.keys(), intent, acting);
  if (came !== null) {
    touched.leaveLater(came);
    ({ accounts, nobodys } = touched.byAccount());
  }
  const act = markOf(intent, acting);
  const by = { ...acting.by, at: textOfTime(parts.now()), act };
  const lately = lastingOf(store);
  lately.came.set(act, came ?? by.at);
  await recordAll(parts, intent, accounts, acting);
  const done = new Set<string>();
  for await (const page of pages()) {
    const owed = page.filter((item) => touched.has(item));
    await dismissAttention(store, owed, by);
    for (const item of owed) {
      lately.by.set(keyOf(item), by);
      done.add(item.id);
    }
  }
  if (touched.size > 0) tell(parts, 'done', accounts.keys(), acting, nobodys);
  return [...done];
}
