/** Knows of every append that is under way, and tells of one that takes longer than it may. One timer serves all. */
const MOST_MS = 5_000;

interface UnderWay {
  begun: number;
  onStalled(): void;
}

export class Stalls {
  /** Those that nobody was told of, in the order of their beginnings. */
  readonly #underWay = new Set<UnderWay>();
  #timer: NodeJS.Timeout | undefined;

  /** Follows an append that begins now. What is given back is called at its end; it gives how long that took, ms. */
  follow(onStalled: () => void): () => number {
    const one: UnderWay = { begun: performance.now(), onStalled };
    this.#underWay.add(one);
    this.#timer ??= setTimeout(() => this.#look(), MOST_MS);
    return () => {
      this.#underWay.delete(one);
      if (this.#underWay.size === 0) this.#rest();
      return performance.now() - one.begun;
    };
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    this.#rest();
    for (const one of this.#underWay) {
      // A timer may fire a little before its time.
      const left = one.begun + MOST_MS - performance.now();
      if (left > 1) {
        this.#timer = setTimeout(() => this.#look(), left);
        return;
      }
      this.#underWay.delete(one);
      one.onStalled();
    }
  }
}
