/**
 * When what waits is sent. A command costs the database what it costs, whatever it carries: while groups are under
 * way, those that would make a smaller one wait for more to come, or for an end; but never for long, since what is
 * under way may hang.
 */

const LONGEST_WAIT_MS = 8;

export class Groups {
  readonly #again: () => void;
  #underWay = 0;
  #timer: NodeJS.Timeout | null = null;
  #isLate = false;

  /** `again` is called whenever it may be time to send. */
  constructor(again: () => void) {
    this.#again = again;
  }

  /** Whether a group of so many is to be sent now. */
  admits(waiting: number): boolean {
    if (waiting === 0) return false;
    if (this.#isLate || waiting >= this.#underWay) {
      this.#isLate = false;
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      return true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#isLate = true;
      this.#again();
    }, LONGEST_WAIT_MS);
    return false;
  }

  /** Counts a group of so many as under way until `work` has come to its end. */
  follow(count: number, work: Promise<unknown>): void {
    this.#underWay += count;
    const end = (): void => {
      this.#underWay -= count;
      this.#again();
    };
    work.then(end, end);
  }
}
