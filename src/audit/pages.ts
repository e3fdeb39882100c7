/** A store's journals page by page: what is held of them is bounded, whatever there is. */
import type { Batch } from '../engine/journal.ts';
import type { LookupRow } from '../engine/store/lookups.ts';
import { turn } from '../waiting.ts';
import type { AuditReads } from './patience.ts';

const LOOKUPS = 1_000;
/** How many entries a page of batches is to hold. */
const ENTRIES = 2_000;
const MOST_BATCHES = 500;
const FIRST_BATCHES = 4;
/** What is asked for side by side: a store answers single questions in bounded time, but not any number of them. */
const SIDE_BY_SIDE = 500;

/** Does the work for groups of the items, one group after the other. */
export async function inGroups<Item>(
  items: readonly Item[],
  work: (group: readonly Item[]) => Promise<void>,
  size = SIDE_BY_SIDE,
): Promise<void> {
  for (let from = 0; from < items.length; from += size) await work(items.slice(from, from + size));
}

/** An account's lookups as they are stored. */
export async function* lookupsIn(
  journal: Pick<AuditReads, 'lookups'>,
  account: string,
): AsyncGenerator<LookupRow[]> {
  for (let after: string | null = null; ; ) {
    const { rows, next }: { rows: LookupRow[]; next: string | null } = await journal.lookups(
      account,
      after,
      LOOKUPS,
    );
    yield rows;
    if (next === null) return;
    after = next;
  }
}

/** How many batches are read at once: as many as hold about so many entries. */
export class PageLength {
  #batches = FIRST_BATCHES;

  get batches(): number {
    return this.#batches;
  }

  /** Learns from a page what the next one is likely to hold. */
  learn(batches: readonly Batch[]): void {
    const entries = batches.reduce((sum, batch) => sum + (batch.entries?.length ?? 0), 0);
    const fitting = Math.floor((ENTRIES * batches.length) / Math.max(1, entries));
    this.#batches = Math.max(1, Math.min(MOST_BATCHES, 4 * this.#batches, fitting));
  }
}

/** The journal of an account from a batch on, to its present end. */
export async function* batchesIn(
  journal: Pick<AuditReads, 'batchesFrom'>,
  account: string,
  first: number,
): AsyncGenerator<Batch[]> {
  const length = new PageLength();
  for (let from = first; ; ) {
    const batches = await journal.batchesFrom(account, from, length.batches);
    const last = batches.at(-1);
    if (last === undefined) return;
    length.learn(batches);
    yield batches;
    // Timers and signals have their turn, also where the store answers at once.
    await turn();
    from = last.seq + 1;
  }
}
