/**
 * Questions that wait until they are asked again, by what they are about. A hint is asked about at once; where that comes
 * to nothing, and the same is asked again later anyway, it needs no wait of its own: hints and lists go on telling of it
 * for as long as the bank can't be asked.
 *
 * What this process has put off, it knows; of several processes each lets one wait at the most.
 */
import { DONE, type Outcome } from '../engine/claims/hands.ts';
import type { DueOrder } from '../engine/store/due.ts';

type Question = DueOrder<'ask'>;

/** More than this are not remembered: then one waits too many. */
const REMEMBERED_MOST = 10_000;

function keyOf({ transaction, order }: Question): string {
  return `${transaction} ${order.payment ?? ''} ${order.state ?? ''}`;
}

export interface PutOffOptions {
  /** The clock by which questions are due, ms. */
  now(): number;
  /** A clock that never steps, ms: a wait goes by it, whatever the other one is set to meanwhile. */
  elapsed(): number;
}

export class PutOff {
  readonly #options: PutOffOptions;
  readonly #waiting = new Map<string, { until: number; turn: number }>();

  constructor(options: PutOffOptions) {
    this.#options = options;
  }

  /** One has come: if it was put off before, it waits no longer. */
  come(question: Question): void {
    if (question.tries > 0) this.#waiting.delete(keyOf(question));
  }

  /** Whether it has to wait: nothing waits that is about the same, and asked as often. */
  mustWait(question: Question): boolean {
    const { now, elapsed } = this.#options;
    const present = elapsed();
    const { turn = 0 } = question.order;
    const key = keyOf(question);
    const other = this.#waiting.get(key);
    // One whose time has come may be in other hands, and at its end.
    if (other !== undefined && other.until > present && other.turn <= turn) return false;
    if (this.#waiting.size >= REMEMBERED_MOST) this.#forgetPast(present);
    const until = present + question.at - now();
    if (this.#waiting.size < REMEMBERED_MOST) this.#waiting.set(key, { until, turn });
    return true;
  }

  /** What becomes of it: it waits, or another does. Where its wait doesn't count somebody else has it, maybe at its end. */
  outcome(question: Question): Outcome {
    if (!this.mustWait(question)) return DONE;
    const onSettled = (counts: boolean): void => {
      if (!counts) this.#waiting.delete(keyOf(question));
    };
    return { next: question, onSettled };
  }

  #forgetPast(present: number): void {
    for (const [key, { until }] of this.#waiting) if (until <= present) this.#waiting.delete(key);
  }
}
