/** How much may be in hand. */

/** A bound on what is in hand; what is to be claimed is reserved first. */
export class Room {
  readonly #most: number;
  #free: number;
  #isClosed = false;

  constructor(most: number) {
    this.#most = most;
    this.#free = most;
  }

  get taken(): number {
    return this.#most - this.#free;
  }

  get free(): number {
    return this.#isClosed ? 0 : Math.max(0, this.#free);
  }

  /** All of it or nothing; false where there is no room for all. */
  reserve(count: number): boolean {
    if (count > this.free) return false;
    this.#free -= count;
    return true;
  }

  /** As much as there is room for; how much that is. */
  reserveUpTo(count: number): number {
    const reserved = Math.min(count, this.free);
    this.#free -= reserved;
    return reserved;
  }

  /** What is in hand already. */
  occupy(count: number): void {
    this.#free -= count;
  }

  release(count: number): void {
    this.#free += count;
  }

  /** From now on there is room for nothing. */
  close(): void {
    this.#isClosed = true;
  }
}
