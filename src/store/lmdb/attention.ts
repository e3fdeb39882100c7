/**
 * Items for a person to look at, in the embedded store. What is on the list is kept in its order, by kind, so that a
 * kind's items are paged and counted without reading others.
 */
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
import type { Environment } from './environment.ts';
import type { Fact } from './log/rows.ts';
import { known } from './projections/attention.ts';
import { endOf, fitsKey, keyOf } from './projections/keys.ts';
import type { Noted } from './projections/projections.ts';

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

  /** The items of a kind, behind a place, that fit. */
  *#itemsOf(
    kind: AttentionKind,
    filter: AttentionFilter,
    after: AttentionPlace | null,
  ): Generator<AttentionItem> {
    const { projections } = this.#environment;
    const { since: from = '', account, url } = filter;
    const isBehind = after !== null && after.since >= from;
    const start = keyOf(kind, isBehind ? after.since : from);
    for (const [key] of projections.listed.range(start, endOf(kind))) {
      const since = key.slice(kind.length + 1, kind.length + 1 + TIME_LENGTH);
      const id = key.slice(kind.length + TIME_LENGTH + 2);
      if (isBehind && since === after.since && (kind < after.kind || (kind === after.kind && id <= after.id)))
        continue;
      const noted = known(projections, { kind, id });
      if (noted === null) continue;
      const item = whole(noted.item);
      if (account !== undefined && item.about.account !== account) continue;
      if (url === undefined || item.about.url === url) yield item;
    }
  }

  async page(filter: AttentionFilter, after: AttentionPlace | null, limit: number): Promise<AttentionItem[]> {
    this.#environment.expectOpen();
    const items: AttentionItem[] = [];
    for (const kind of kindsOf(filter)) {
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
    this.#environment.expectOpen();
    let count = 0;
    for (const kind of kindsOf(filter)) for (const _ of this.#itemsOf(kind, filter, after)) count += 1;
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

  async doneBy(id: string): Promise<DoneBy | null> {
    const { projections } = this.#environment.opened;
    if (!fitsKey(id)) return null;
    for (const kind of ATTENTION_KINDS) {
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
