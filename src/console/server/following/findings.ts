/** What was found to be off in the journal, until it is on the list of what needs a person. */
import type { Fault } from '../../../audit/following/judging.ts';
import type { AttentionItem } from '../../../engine/store.ts';
import { itemOfFault } from './faults.ts';

/** Of one run no more faults are noted: where they come in thousands, the first ones tell. */
const MOST_NOTED = 100;

export class Findings {
  readonly #note: (item: AttentionItem) => Promise<void>;
  readonly #found: AttentionItem[] = [];
  #noted = 0;

  /** `note` puts an item on the list. */
  constructor(note: (item: AttentionItem) => Promise<void>) {
    this.#note = note;
  }

  /** `now` in ms since 1970. */
  add(faults: readonly Fault[], now: number): void {
    this.#found.push(...faults.map((fault) => itemOfFault(fault, now)));
  }

  /** Puts what was found on the list; where that fails, it is to be tried again before anything else is read. */
  async tell(): Promise<void> {
    for (let item = this.#found[0]; item !== undefined; item = this.#found[0]) {
      if (this.#noted < MOST_NOTED) await this.#note(item);
      this.#noted += 1;
      this.#found.shift();
    }
  }

  /** All is on the list. What is too much to be told by this run is found again by the next one. */
  get isTold(): boolean {
    return this.#found.length === 0 && this.#noted <= MOST_NOTED;
  }
}
