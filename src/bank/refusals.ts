/**
 * Orders that the bank refused although it may have had them before: it may show one only a moment later, so that a
 * refusal counts once it has stood for a while. How long it stands goes by a clock that nobody sets. Whoever didn't hear
 * it, since who did has died, lets it stand for as long from its own first look.
 */
import type { DueOrder } from '../engine/store/due.ts';

/** Who was refused so long ago has come to its end, perhaps in another process: until then each is remembered. */
const OVER_MS = 24 * 60 * 60_000;

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
  /** The longest ago first. */
  readonly #heardAt = new Map<string, number>();
  readonly #elapsed: () => number;
  readonly #standsMs: number;

  /** `elapsed`: a clock that never steps, ms; `standsMs`: for how long a refusal has to stand. */
  constructor(elapsed: () => number, standsMs: number) {
    this.#elapsed = elapsed;
    this.#standsMs = standsMs;
  }

  /** The bank has refused it now. */
  heard(due: DueOrder): void {
    const now = this.#elapsed();
    this.#heardAt.delete(keyOf(due));
    this.#heardAt.set(keyOf(due), now);
    for (const [key, heardAt] of this.#heardAt) {
      if (heardAt > now - OVER_MS) break;
      this.#heardAt.delete(key);
    }
  }

  /** For how long its refusal has to stand still, ms. */
  leftMs(due: DueOrder): number {
    const now = this.#elapsed();
    const heardAt = this.#heardAt.get(keyOf(due));
    if (heardAt === undefined) this.heard(due);
    return Math.max(0, (heardAt ?? now) + this.#standsMs - now);
  }
}
