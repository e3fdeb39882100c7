/**
 * Places for questions that may be under way at once. Who finds none waits, however long that is: those about a payment
 * that was hinted at go before the others, and among each kind accounts take turns.
 */
import { later } from '../../../waiting.ts';

/** Of so many turns one is the others', where both kinds wait: no flood of hints keeps charges from expiring. */
const TURNS = 4;

/** What lets in each that waits, by accounts; the first account's turn is next. */
type Waiting = Map<string, (() => void)[]>;

/** Whose turn it is; its account's next turn comes after all others'. */
function nextOf(waiting: Waiting): (() => void) | undefined {
  const [first] = waiting;
  if (first === undefined) return undefined;
  const [account, own] = first;
  const letIn = own.shift();
  waiting.delete(account);
  if (own.length > 0) waiting.set(account, own);
  return letIn;
}

export class Places {
  #free: number;
  #turns = 0;
  readonly #hinted: Waiting = new Map();
  readonly #others: Waiting = new Map();

  constructor(most: number) {
    this.#free = most;
  }

  /** Resolves once there is a place; whoever has got it releases it. */
  async acquire(account: string, isHinted: boolean): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const waiting = isHinted ? this.#hinted : this.#others;
    const own = waiting.get(account) ?? [];
    waiting.set(account, own);
    const { promise, resolve } = later<void>();
    own.push(resolve);
    await promise;
  }

  release(): void {
    this.#turns += 1;
    const isOthers = this.#turns % TURNS === 0;
    const letIn = isOthers
      ? (nextOf(this.#others) ?? nextOf(this.#hinted))
      : (nextOf(this.#hinted) ?? nextOf(this.#others));
    if (letIn === undefined) this.#free += 1;
    else letIn();
  }
}
