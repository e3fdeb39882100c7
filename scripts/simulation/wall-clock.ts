/**
 * The clock on the wall, that the processes and the store go by: the embedded store's machine has one, and so has a
 * database. It steps by up to an hour either way, and then it is wrong until it is put right.
 */
import type { World } from './world.ts';

const HOUR_MS = 3_600_000;

interface Step {
  /** The world's time, ms since 1970. */
  at: number;
  /** By so much the clock was set forward; negative: back. Milliseconds. */
  byMs: number;
}

export class WallClock {
  readonly #world: World;
  readonly #steps: Step[] = [];
  #wrongMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** What it shows, ms since 1970. */
  get now(): number {
    return this.#world.now + this.#wrongMs;
  }

  get steps(): number {
    return this.#steps.length;
  }

  /** Somebody sets it: mostly it is wrong then, by up to an hour. */
  step(): void {
    const { random } = this.#world;
    this.#set(random.perMille(300) ? 0 : random.int(2 * HOUR_MS + 1) - HOUR_MS);
  }

  putRight(): void {
    this.#set(0);
  }

  #set(wrongMs: number): void {
    const byMs = wrongMs - this.#wrongMs;
    if (byMs !== 0) this.#steps.push({ at: this.#world.now, byMs });
    this.#wrongMs = wrongMs;
  }

  /** By how much it was set forward, in all, between two times of the world, ms. */
  forwardBetween(from: number, to: number): number {
    return this.#steps
      .filter(({ at, byMs }) => at >= from && at <= to && byMs > 0)
      .reduce((sum, { byMs }) => sum + byMs, 0);
  }
}
