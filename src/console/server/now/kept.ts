/** An answer that is everybody's for a moment: however many ask, it is made once. */

export class Kept<Value> {
  readonly #keepMs: number;
  readonly #elapsed: () => number;
  #kept: { key: string; value: Promise<Value>; until: number } | null = null;

  /** `elapsed` is ms that only go on. */
  constructor(keepMs: number, elapsed: () => number) {
    this.#keepMs = keepMs;
    this.#elapsed = elapsed;
  }

  /** What was made under this key lately, or is being made; a failure isn't kept. */
  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.#kept;
    if (known?.key === key && this.#elapsed() < known.until) return known.value;
    const value = make();
    const kept = { key, value, until: Number.POSITIVE_INFINITY };
    this.#kept = kept;
    value.then(
      () => {
        kept.until = this.#elapsed() + this.#keepMs;
      },
      () => {
        if (this.#kept === kept) this.#kept = null;
      },
    );
    return value;
  }
}
