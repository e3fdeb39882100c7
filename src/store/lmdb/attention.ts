/**
 * Items for a person to look at, in the embedded store. Each known item has a row; what is on the list has another one
 * in its kind's own table, in the order of the list, so that a kind's items are paged and counted without reading others.
 */
import { ATTENTION_KINDS, type AttentionKind, type AttentionNote } from '../../engine/journal.ts';
import {
  type Append,
  type Attention,
  type AttentionFilter,
  type AttentionItem,
  type AttentionKey,
  type AttentionPlace,
  itemOf,
} from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import { fitsKey, type Tables } from './tables.ts';

/** Items of former builds have neither amount nor what they are about. */
interface Noted {
  item: AttentionNote & { since: string } & Partial<AttentionItem>;
  done: boolean;
}

type Tabled = Pick<Tables, 'attention' | 'listed'>;

function whole({ kind, id, what, next, since, about, amount }: Noted['item']): AttentionItem {
  return itemOf({ kind, id, what, next }, since, about, amount);
}

function known({ attention }: Tabled, { id, kind }: AttentionKey): Noted | null {
  const value = attention.get([id, kind]);
  return value === undefined ? null : JSON.parse(value);
}

function put({ attention, listed }: Tabled, item: AttentionItem): Promise<boolean>[] {
  const noted: Noted = { item, done: false };
  return [
    attention.put([item.id, item.kind], JSON.stringify(noted)),
    listed[item.kind].put([item.since, item.id], ''),
  ];
}

/** Puts an item in the place of the one before, done or not: what happens again is news again. */
export function putAnew(tables: Tabled, item: AttentionItem): Promise<boolean>[] {
  const before = known(tables, item);
  const writes = put(tables, item);
  if (before !== null && before.item.since !== item.since)
    writes.push(tables.listed[item.kind].remove([before.item.since, item.id]));
  return writes;
}

function remove(tables: Tabled, key: AttentionKey): void {
  const before = known(tables, key);
  if (before === null) return;
  void tables.attention.remove([key.id, key.kind]);
  void tables.listed[key.kind].remove([before.item.since, key.id]);
}

/** What an append notes and what it withdraws, issued with it. */
export function issueAttention(tables: Tabled, { attention, withdrawn }: Append): void {
  // Neither `noOverwrite` nor a condition of its own holds inside a conditional block of lmdb 3.5.6.
  for (const item of attention) if (known(tables, item) === null) void Promise.all(put(tables, item));
  for (const key of withdrawn) remove(tables, key);
}

export class LmdbAttention implements Attention {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The items of a kind, behind a place, that fit. */
  *#itemsOf(
    kind: AttentionKind,
    filter: AttentionFilter,
    after: AttentionPlace | null,
  ): Generator<AttentionItem> {
    const tables = this.#environment.tables;
    const { since: from = '', account, url } = filter;
    const isBehind = after !== null && after.since >= from;
    for (const [since, id] of tables.listed[kind].getKeys({ start: [isBehind ? after.since : from, ''] })) {
      if (isBehind && since === after.since && (kind < after.kind || (kind === after.kind && id <= after.id)))
        continue;
      const noted = known(tables, { kind, id });
      if (noted === null) continue;
      const item = whole(noted.item);
      if (account !== undefined && item.about.account !== account) continue;
      if (url === undefined || item.about.url === url) yield item;
    }
  }

  async page(filter: AttentionFilter, after: AttentionPlace | null, limit: number): Promise<AttentionItem[]> {
    this.#environment.fresh();
    const items: AttentionItem[] = [];
    for (const kind of filter.kind === undefined ? ATTENTION_KINDS : [filter.kind]) {
      let taken = 0;
      for (const item of this.#itemsOf(kind, filter, after)) {
        items.push(item);
        taken += 1;
        if (taken === limit) break;
      }
    }
    const place = ({ since, kind, id }: AttentionItem): string => `${since} ${kind} ${id}`;
    return items.sort((a, b) => (place(a) < place(b) ? -1 : 1)).slice(0, limit);
  }

  async count(filter: AttentionFilter, after: AttentionPlace | null): Promise<number> {
    this.#environment.fresh();
    let count = 0;
    for (const kind of filter.kind === undefined ? ATTENTION_KINDS : [filter.kind])
      for (const _ of this.#itemsOf(kind, filter, after)) count += 1;
    return count;
  }

  async counts(): Promise<Partial<Record<AttentionKind, number>>> {
    const { listed } = this.#environment.fresh();
    const counts: Partial<Record<AttentionKind, number>> = {};
    for (const kind of ATTENTION_KINDS) {
      const { entryCount } = listed[kind].getStats() as { entryCount: number };
      if (entryCount > 0) counts[kind] = entryCount;
    }
    return counts;
  }

  async find(id: string): Promise<AttentionItem[]> {
    if (!fitsKey(id)) return [];
    const tables = this.#environment.fresh();
    return ATTENTION_KINDS.flatMap((kind) => {
      const noted = known(tables, { kind, id });
      return noted === null || noted.done ? [] : [whole(noted.item)];
    });
  }

  async note(items: AttentionItem[]): Promise<void> {
    if (items.length === 0) return;
    await this.#environment.transaction((tables) => {
      for (const item of items) if (known(tables, item) === null) void Promise.all(put(tables, item));
    });
  }

  async dismiss(keys: readonly AttentionKey[]): Promise<void> {
    await this.#environment.transaction((tables) => {
      for (const { kind, id } of keys) {
        const noted = fitsKey(id) ? known(tables, { kind, id }) : null;
        if (noted === null || noted.done) continue;
        const item = whole(noted.item);
        void tables.attention.put([id, kind], JSON.stringify({ item, done: true } satisfies Noted));
        void tables.listed[kind].remove([item.since, id]);
      }
    });
  }

  async withdraw(keys: readonly AttentionKey[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#environment.transaction((tables) => {
      for (const key of keys) if (fitsKey(key.id)) remove(tables, key);
    });
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    const tables = this.#environment.fresh();
    return ids.map((id) => {
      const noted = ATTENTION_KINDS.map((kind) => known(tables, { kind, id })).filter((row) => row !== null);
      return noted.length > 0 && noted.every(({ done }) => done);
    });
  }
}
