/** What the bank said last of orders that hadn't ended: for people, as far as this process has heard. */
import { Lately } from '../../passing.ts';

/** More than wait for a bank at once. */
const LEAST = 10_000;

export class LastWords {
  readonly #words = new Lately<string>(LEAST);

  /** `id`: the cashout's, the refund's, or the end-to-end id of the payment that is given back. */
  heard(id: string, word: string): void {
    this.#words.set(id, word);
  }

  /** The bank knows it no more, or not yet: what it said before is no word on where it stands. */
  forget(id: string): void {
    this.#words.delete(id);
  }

  of(id: string): string | null {
    return this.#words.get(id) ?? null;
  }
}
