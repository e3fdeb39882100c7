/** One group of rows on its way to the log. Facts of one group share a row. */
import { type Fact, factsRow } from './rows.ts';

/** The row that facts of a group lie in; its number is known once the group was issued. */
export interface FactsPlace {
  number: number;
  /** The place of the first of them in the row. */
  from: number;
}

/** A row of facts doesn't get much longer than so many facts. */
const MOST_FACTS = 256;

/** Facts about items for ops, which batches note and take away, too. */
const ORDERED: ReadonlySet<Fact['kind']> = new Set([
  ...(['noted', 'counted', 'discounted', 'dismissed', 'withdrawn'] as const),
]);

export class LogGroup {
  /** In order; their numbers follow each other. */
  readonly rows: string[] = [];
  readonly #next: () => number;
  #facts: Fact[] = [];
  #places: FactsPlace[] = [];
  /** Whether it matters what comes after the facts that wait. */
  #ordered = false;
  /** Number of the last row; 0 where there is none. */
  last = 0;

  /** `next` gives the number of the next row. */
  constructor(next: () => number) {
    this.#next = next;
  }

  /** Adds a batch's row; its number. */
  batch(row: string): number {
    // A batch may take away what a fact before it notes: they are read again in the order in which they came.
    if (this.#ordered) this.end();
    return this.#add(row);
  }

  /** Adds facts, in order. */
  facts(facts: readonly Fact[]): FactsPlace {
    const place = { number: 0, from: this.#facts.length };
    this.#places.push(place);
    for (const fact of facts) {
      this.#facts.push(fact);
      if (ORDERED.has(fact.kind)) this.#ordered = true;
    }
    if (this.#facts.length >= MOST_FACTS) this.end();
    return place;
  }

  /** Adds the facts that wait. */
  end(): void {
    if (this.#facts.length > 0) {
      const number = this.#add(factsRow(this.#facts));
      for (const place of this.#places) place.number = number;
    }
    this.#facts = [];
    this.#places = [];
    this.#ordered = false;
  }

  #add(row: string): number {
    this.rows.push(row);
    this.last = this.#next();
    return this.last;
  }
}
