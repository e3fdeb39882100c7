/** What the bank said last of orders that hadn't ended: for people, as far as this process has heard. */

/** More than wait for a bank at once; the oldest are forgotten first. */
const MOST = 10_000;

export class LastWords {
  readonly #words = new Map<string, string>();

  /** `id`: the cashout's, the refund's, or the end-to-end id of the payment that is given back. */
  heard(id: string, word: string): void {
    this.#words.delete(id);
    this.#words.set(id, word);
    if (this.#words.size <= MOST) return;
    for (const oldest of this.#words.keys()) {
      this.#words.delete(oldest);
      return;
    }
  }

  /** The bank knows it no more, or not yet: what it said before is no word on where it stands. */
  forget(id: string): void {
    this.#words.delete(id);
  }

  of(id: string): string | null {
    return this.#words.get(id) ?? null;
  }
}
