/**
 * Orders that the bank refused although it may have had them before: it may show one only a moment later, so that a
 * refusal counts once it has stood for a while. How long it stands goes by a clock that nobody sets. Whoever didn't hear
 * it, since who did has died, lets it stand for as long from its own first look.
 */
import type { DueOrder } from '../engine/store/due.ts';
import { Lately } from '../passing.ts';

/** An order that is forgotten waits once more. */
const REMEMBERED_LEAST = 10_000;

function keyOf({ transaction, order }: DueOrder): string {
  const {
    kind,
    refundId = '',
    endToEndId = '',
    number = 1,
  } = order as Partial<Record<string, string | number>>;
  return `${transaction} ${kind} ${refundId}${endToEndId} ${number}`;
}

export class Refusals {
  readonly #heardAt = new Lately<number>(REMEMBERED_LEAST);
  readonly #elapsed: () => number;
  readonly #standsMs: number;

  /** `elapsed`: a clock that never steps, ms; `standsMs`: for how long a refusal has to stand. */
  constructor(elapsed: () => number, standsMs: number) {
    this.#elapsed = elapsed;
    this.#standsMs = standsMs;
  }

  /** The bank has refused it now. */
  heard(due: DueOrder): void {
    this.#heardAt.set(keyOf(due), this.#elapsed());
  }

  /** For how long its refusal has to stand still, ms. */
  leftMs(due: DueOrder): number {
    const now = this.#elapsed();
    const heardAt = this.#heardAt.get(keyOf(due));
    if (heardAt === undefined) this.heard(due);
    return Math.max(0, (heardAt ?? now) + this.#standsMs - now);
  }
}
