/** What the entries of a batch give to be found by, entry by entry, against what is stored. */
import type { Entry } from '../../engine/journal.ts';
import { nameOf } from '../../engine/lookups.ts';
import type { Lookup, LookupRow } from '../../engine/store/lookups.ts';
import { isCounted, isGivenBy } from '../given-lookups.ts';
import type { Open } from '../open-transactions.ts';
import type { AuditReads } from '../patience.ts';
import { expect } from './sound.ts';

/** Lookups of an account, by what they are found out by. */
export interface Counts {
  adjustment: number;
  refusal: number;
  other: number;
}

/** A batch, and where it is read. */
interface Place {
  journal: AuditReads;
  account: string;
  seq: number;
}

export class BatchLookups {
  readonly #place: Place;
  readonly #rows: readonly LookupRow[];
  readonly #stored: readonly (string | null)[];
  /** How many of the rows came before the present entry. */
  #passed = 0;

  /** `rows`: all that the batch's entries give, in order; `stored`: what is found under each of them. */
  constructor(place: Place, rows: readonly LookupRow[], stored: readonly (string | null)[]) {
    this.#place = place;
    this.#rows = rows;
    this.#stored = stored;
  }

  /**
   * Counts what the next entry gives: `open` is its transaction before it. It must be what is stored, unless it is given
   * again later.
   * @throws NotSound
   */
  async count(rows: readonly LookupRow[], open: Open | null, counts: Counts): Promise<void> {
    for (const row of rows) {
      const value = this.#stored[this.#passed] ?? null;
      this.#passed += 1;
      if (value !== row.value) await this.#expectLater(row, value);
      else if (isCounted(row)) counts[row.name] += 1;
      else if (open?.given.includes(nameOf(row)) !== true) counts.other += 1;
    }
  }

  /** A reference is the newest charge's; all else belongs to one transaction. */
  async #expectLater({ name, key }: Lookup, value: string | null): Promise<void> {
    expect(name === 'externalRef' && value !== null);
    const later = this.#rows.slice(this.#passed);
    if (later.some((row) => row.name === name && row.key === key)) return;
    const { journal, account, seq } = this.#place;
    const newer = await journal.transaction(value);
    expect(newer !== null && newer.account === account && (newer.seqs[0] ?? 0) > seq);
  }

  /** What a lookup found before the next entry; `open` is its transaction before it. */
  async before({ name, key }: Lookup, { transaction }: Entry, open: Open | null): Promise<string | null> {
    const isIt = (row: LookupRow): boolean => row.name === name && row.key === key;
    const known = this.#rows.slice(0, this.#passed).findLast(isIt);
    if (known !== undefined) return known.value;
    const { journal, account, seq } = this.#place;
    const { lookups } = await journal.read(account, { transactions: [], lookups: [{ name, key }] });
    const value = lookups[0] ?? null;
    // An adjustment's own entry is the only one that gives it.
    if (value === null || name === 'adjustment') return null;
    const row = { name, key, value };
    const wasGiven =
      value === transaction
        ? open?.given.includes(nameOf(row)) === true
        : await isGivenBy(this.#place, row, (own) => own < seq);
    return wasGiven ? value : null;
  }
}
