/** The numbers that a process gives to what it appends, by which its batches' documents are named. */

const NUMBER_LENGTH = 10;

/** Names a batch's document: what one process appended lies together, in order. */
export function documentId(incarnation: string, number: number): string {
  return `${incarnation}-${String(number).padStart(NUMBER_LENGTH, '0')}`;
}

/** The number that a process gave to a batch's document. */
export function numberOf(document: string): number {
  return Number(document.slice(-NUMBER_LENGTH));
}

/** The numbers that this process has given, and which of them are projected. */
export class Numbers {
  #last = 0;
  /** Those that are not projected yet. */
  readonly #underWay = new Set<number>();
  /** Those of them that nobody is at any more: something failed. */
  readonly #left = new Set<number>();

  next(): number {
    this.#last += 1;
    this.#underWay.add(this.#last);
    return this.#last;
  }

  /** A number's batch is projected, is noted as one that can't be, or was never committed. */
  done(number: number): void {
    this.#underWay.delete(number);
    this.#left.delete(number);
  }

  /** What became of a number's batch is to be found out. */
  leave(number: number): void {
    if (this.#underWay.has(number)) this.#left.add(number);
  }

  /** All batches of this process up to this number are done with. */
  get projected(): number {
    // In the order in which they were given: the first one is the lowest.
    const [lowest = this.#last + 1] = this.#underWay;
    return lowest - 1;
  }

  /** Whether all batches of this process are done with. */
  get areDone(): boolean {
    return this.#underWay.size === 0;
  }

  /** The lowest numbers that were left, at most so many. */
  left(limit: number): number[] {
    return [...this.#left].sort((a, b) => a - b).slice(0, limit);
  }
}
