/** Places for what may be under way at once. Who finds none waits for one, behind those that came before. */
import { later } from '../../../waiting.ts';

export class Places {
  #free: number;
  /** Each lets one in; the first of them waits longest. */
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  /** Whether there was a place within so many ms; whoever has got one leaves it. */
  async enter(ms: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    const { promise, resolve } = later<boolean>();
    const letIn = (): void => resolve(true);
    this.#waiting.add(letIn);
    const timer = setTimeout(() => {
      this.#waiting.delete(letIn);
      resolve(false);
    }, ms);
    const isIn = await promise;
    clearTimeout(timer);
    return isIn;
  }

  leave(): void {
    const [letIn] = this.#waiting;
    if (letIn === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(letIn);
    letIn();
  }
}
