/**
 * Items for a person to look at, in the embedded store. What is on the list is kept in its order, by kind, so that a
 * kind's items, and a transaction's, are paged and counted without reading others.
 */
import { compareItems, fitsAll } from '../../engine/attention/listing.ts';
import { ATTENTION_KINDS, type AttentionKind } from '../../engine/journal.ts';
import {
  type Attention,
  type AttentionFilter,
  type AttentionItem,
  type AttentionKey,
  type AttentionPlace,
  type DoneBy,
  itemOf,
} from '../../engine/store.ts';
import { turn } from '../../waiting.ts';
import type { Environment } from './environment.ts';
import type { Fact } from './log/rows.ts';
import { known } from './projections/attention.ts';
import { endOf, fitsKey, keyOf } from './projections/keys.ts';
import type { Noted } from './projections/projections.ts';

/** Items that are counted before others are heard. */
const COUNTED_A_TURN = 500;
/** Of a time in ISO 8601, UTC, with ms. */
const TIME_LENGTH = 24;

function whole({ since, about, amount, ...note }: Noted['item']): AttentionItem {
  return itemOf(note, since, about, amount);
}

type ToldFact = Fact & { kind: 'noted' | 'discounted' | 'dismissed' | 'withdrawn' };

function keyIn(fact: ToldFact): AttentionKey {
  return fact.kind === 'noted' ? fact.item : fact.key;
}

/** Whether a fact changes what is known. */
function isNews(kept: Parameters<typeof known>[0], fact: ToldFact): boolean {
  const noted = known(kept, keyIn(fact));
  if (fact.kind === 'noted') return noted === null;
  return noted !== null && !(fact.kind === 'dismissed' && noted.done);
}

function kindsOf({ kind }: AttentionFilter): readonly AttentionKind[] {
  return kind === undefined ? ATTENTION_KINDS : [kind];
}

export class LmdbAttention implements Attention {
  readonly #environment: Environment;
  /** Writes under way. */
  #telling = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Of keys in the order of a list, that have a time, the items behind a place that fit. */
  *#itemsOf(
    keys: Iterable<AttentionPlace>,
    filter: AttentionFilter,
    after: AttentionPlace | null,
  ): Generator<AttentionItem> {
    const { projections } = this.#environment;
    for (const key of keys) {
      if (after !== null && compareItems(key, after) <= 0) continue;
      const noted = known(projections, key);
      if (noted === null) continue;
      const item = whole(noted.item);
      if (fitsAll(item, filter)) yield item;
    }
  }

  /** The keys of a kind, from a time on. */
  *#ofKind(kind: AttentionKind, from: string): Generator<AttentionPlace> {
    const { listed } = this.#environment.projections;
    for (const [key] of listed.range(keyOf(kind, from), endOf(kind))) {
      const since = key.slice(kind.length + 1, kind.length + 1 + TIME_LENGTH);
      yield { kind, since, id: key.slice(kind.length + TIME_LENGTH + 2) };
    }
  }

  /** The keys of what is about a transaction, from a time on. */
  *#about(transaction: string, from: string): Generator<AttentionPlace> {
    const { about } = this.#environment.projections;
    for (const [key] of about.range(keyOf(transaction, from), endOf(transaction))) {
      const since = key.slice(transaction.length + 1, transaction.length + 1 + TIME_LENGTH);
      const named = key.slice(transaction.length + TIME_LENGTH + 2);
      const kind = ATTENTION_KINDS.find((each) => named.startsWith(`${each} `));
      if (kind !== undefined) yield { kind, since, id: named.slice(kind.length + 1) };
    }
  }

  /** What fits, in lists that are each in the order of the whole. */
  #lists(filter: AttentionFilter, after: AttentionPlace | null): Generator<AttentionItem>[] {
    const { since = '', transaction } = filter;
    const from = after !== null && after.since >= since ? after.since : since;
    const keys =
      transaction === undefined
        ? kindsOf(filter).map((kind) => this.#ofKind(kind, from))
        : [fitsKey(transaction) ? this.#about(transaction, from) : []];
    return keys.map((each) => this.#itemsOf(each, filter, after));
  }

  async page(filter: AttentionFilter, after: AttentionPlace | null, limit: number): Promise<AttentionItem[]> {
    this.#environment.expectOpen();
    const items: AttentionItem[] = [];
    for (const list of this.#lists(filter, after)) {
      let taken = 0;
      for (const item of list) {
        items.push(item);
        taken += 1;
        if (taken === limit) break;
      }
    }
    return items.sort(compareItems).slice(0, limit);
  }

  async count(filter: AttentionFilter, after: AttentionPlace | null): Promise<number> {
    let count = 0;
    for (const kind of kindsOf(filter)) {
      let place = after;
      for (;;) {
        const page = await this.page({ ...filter, kind }, place, COUNTED_A_TURN);
        count += page.length;
        place = page.at(-1) ?? null;
        if (page.length < COUNTED_A_TURN) break;
        await turn();
      }
    }
    return count;
  }

  async counts(): Promise<Partial<Record<AttentionKind, number>>> {
    const { projections } = this.#environment.opened;
    const counts: Partial<Record<AttentionKind, number>> = {};
    for (const kind of ATTENTION_KINDS) {
      const count = projections.counts.get(kind) ?? 0;
      if (count > 0) counts[kind] = count;
    }
    return counts;
  }

  async find(id: string): Promise<AttentionItem[]> {
    const { projections } = this.#environment.opened;
    if (!fitsKey(id)) return [];
    return ATTENTION_KINDS.flatMap((kind) => {
      const noted = known(projections, { kind, id });
      return noted === null || noted.done ? [] : [whole(noted.item)];
    });
  }

  async note(items: AttentionItem[]): Promise<void> {
    await this.#tell(items.map((item) => ({ kind: 'noted', item })));
  }

  async dismiss(keys: readonly AttentionKey[], by?: DoneBy): Promise<void> {
    const said = by === undefined ? {} : { by };
    await this.#tell(keys.map(({ kind, id }) => ({ kind: 'dismissed', key: { kind, id }, ...said })));
  }

  async doneBy(id: string, only?: AttentionKind): Promise<DoneBy | null> {
    const { projections } = this.#environment.opened;
    if (!fitsKey(id)) return null;
    for (const kind of only === undefined ? ATTENTION_KINDS : [only]) {
      const noted = known(projections, { kind, id });
      if (noted?.done === true && noted.by !== undefined) return noted.by;
    }
    return null;
  }

  async discount({ kind, id }: AttentionKey, by: number): Promise<void> {
    await this.#tell([{ kind: 'discounted', key: { kind, id }, by }]);
  }

  async withdraw(keys: readonly AttentionKey[]): Promise<void> {
    await this.#tell(keys.map(({ kind, id }) => ({ kind: 'withdrawn', key: { kind, id } })));
  }

  /** Those that change nothing aren't written, unless others are on their way that they may be about. */
  async #tell(facts: readonly ToldFact[]): Promise<void> {
    const { projections } = this.#environment.opened;
    const isAlone = this.#telling === 0;
    const news = facts.filter((fact) => fitsKey(keyIn(fact).id) && (!isAlone || isNews(projections, fact)));
    if (news.length === 0) return;
    this.#telling += 1;
    try {
      await this.#environment.facts(() => ({ facts: news, result: null }));
    } finally {
      this.#telling -= 1;
    }
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    const { projections } = this.#environment.opened;
    return ids.map((id) => {
      const noted = ATTENTION_KINDS.map((kind) => known(projections, { kind, id })).filter(
        (row) => row !== null,
      );
      return noted.length > 0 && noted.every(({ done }) => done);
    });
  }
}
