/** Messages and first attempts of the last hour, from counts that the engine's thread has anyway and is asked for. */
import type { Tally } from '../../protocol.ts';

/** A count is asked for so often. */
export const EVERY_MS = 5_000;
const MINUTE_MS = 60_000;
const MINUTES = 60;

interface Sample extends Tally {
  at: number;
}

export class Rates {
  /** The oldest first, of little more than an hour. */
  readonly #samples: Sample[] = [];

  /** `at` is ms by a clock that only goes on. */
  take(at: number, tally: Tally): void {
    const last = this.#samples.at(-1);
    // A count that is below the one before is another run's.
    if (last !== undefined && tally.entries < last.entries) this.#samples.splice(0);
    this.#samples.push({ at, ...tally });
    const from = at - (MINUTES + 1) * MINUTE_MS;
    while (this.#samples.length > 2 && (this.#samples[1]?.at ?? at) < from) this.#samples.shift();
  }

  /** Messages in each minute up to the newest count; null before the first one. */
  perMinute(): (number | null)[] {
    const samples = this.#samples;
    const last = samples.at(-1);
    if (last === undefined) return Array.from({ length: MINUTES }, () => null);
    let index = 0;
    const countAt = (time: number): number | null => {
      while (index < samples.length && (samples[index]?.at ?? 0) <= time) index += 1;
      return samples[index - 1]?.entries ?? null;
    };
    const [first = last] = samples;
    const edges = Array.from({ length: MINUTES + 1 }, (_, nth) => {
      const time = last.at - (MINUTES - nth) * MINUTE_MS;
      return { time, count: countAt(time) };
    });
    return edges.slice(1).map(({ time, count }, nth) => {
      if (count === null) return null;
      // The minute in which the counting began is counted from there.
      const before = edges[nth]?.count ?? (time > first.at ? first.entries : null);
      return before === null ? null : count - before;
    });
  }

  /** Null before the first attempt. */
  firstAttempts(): { of: number; taken: number } | null {
    const last = this.#samples.at(-1);
    const first = this.#samples[0];
    if (last === undefined || first === undefined) return null;
    const of = last.firsts - first.firsts;
    return of === 0 ? null : { of, taken: last.firstsTaken - first.firstsTaken };
  }
}
