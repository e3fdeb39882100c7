/** Knows of every append that is under way, and tells of one that takes longer than it may. One timer serves all. */
import { Numbered } from '../../passing.ts';

const MOST_MS = 5_000;

interface UnderWay {
  begun: number;
  onStalled(): void;
}

export class Stalls {
  /** Those that nobody was told of. */
  readonly #underWay = new Numbered<UnderWay>();
  #timer: NodeJS.Timeout | undefined;

  /** Follows an append that begins now. What is given back is called at its end; it gives how long that took, ms. */
  follow(onStalled: () => void): () => number {
    const begun = performance.now();
    const one = this.#underWay.put({ begun, onStalled });
    this.#timer ??= setTimeout(() => this.#look(), MOST_MS);
    return () => {
      this.#underWay.take(one);
      if (this.#underWay.size === 0) this.#rest();
      return performance.now() - begun;
    };
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    this.#rest();
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [number, one] of this.#underWay) {
      // A timer may fire a little before its time.
      const left = one.begun + MOST_MS - now;
      if (left > 1) {
        next = Math.min(next, left);
        continue;
      }
      this.#underWay.take(number);
      one.onStalled();
    }
    if (this.#underWay.size > 0) this.#timer ??= setTimeout(() => this.#look(), next);
  }
}
