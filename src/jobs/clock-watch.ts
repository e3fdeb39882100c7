/**
 * Watches the clock that due times go by. Where it was set back, or had been ahead in a former process, what became
 * due by the wrong time is brought back, and accounts whose last entry lies ahead are noted.
 */
import type { Engine } from '../engine/engine.ts';
import { SET_MS } from '../engine/store/due.ts';
import type { Store } from '../engine/store.ts';
import type { RecurringJob } from './recurring-job.ts';

export interface ClockWatchOptions {
  store: Pick<Store, 'due' | 'marks'>;
  engine: Pick<Engine, 'checkClock'>;
  /** The clock, ms since 1970. */
  now(): number;
  /** Tells ops in a sentence. */
  onNotice(text: string): void;
}

const LOOK_MS = 1_000;
/** How often the time is put down for the next process. */
const MARK_MS = 10_000;
const MARK = 'clock';
const REWINDS = 3;

export class ClockWatch {
  readonly #options: ClockWatchOptions;
  /** The clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt: number | null = null;
  #markedAt = Number.NEGATIVE_INFINITY;
  /** How many looks still bring back: what was being written when the clock was set comes after the first. */
  #rewinds = 0;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  get jobs(): RecurringJob[] {
    return [{ name: 'clock', everyMs: LOOK_MS, run: () => this.look() }];
  }

  async look(): Promise<void> {
    const { store, engine, now, onNotice } = this.#options;
    const ms = await this.#aheadBefore();
    if (ms > SET_MS) {
      this.#rewinds = REWINDS;
      const seconds = Math.round(ms / 1000);
      onNotice(`the clock was set back by ${seconds} s: what was due by the former time is brought back`);
    }
    if (this.#rewinds > 0) {
      await store.due.rewind(now());
      this.#rewinds -= 1;
      engine.checkClock();
    }
    // A process that dies soon after the clock was set forward leaves what it wrote by that time: the next one must know.
    if (performance.now() - this.#markedAt < MARK_MS && Math.abs(ms) <= SET_MS) return;
    await store.marks.putMark(MARK, String(now()));
    this.#markedAt = performance.now();
  }

  /** By how many ms the clock was ahead until now: at the last look, or at the last one of a former process. */
  async #aheadBefore(): Promise<number> {
    const { store, now } = this.#options;
    const setAt = now() - performance.now();
    const before = this.#setAt;
    if (before !== null) {
      this.#setAt = setAt;
      return before - setAt;
    }
    const mark = await store.marks.mark(MARK);
    this.#setAt = setAt;
    return mark === null ? 0 : Number(mark) - now();
  }
}
