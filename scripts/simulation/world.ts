/**
 * The simulation's time and order of events. While it is installed, `setTimeout`, `setImmediate` and
 * `performance.now` are its own: nothing waits for real time, and which of the things that may happen now is next, its random stream decides.
 *
 * 1. One thing happens at a time, and all that follows from it at once (microtasks) happens before the next.
 * 2. Time only moves to the next timer, and only when nothing else can happen, or when it is told to.
 */
import type { Random } from './random.ts';

/** Whose event it is: what a process that died still had to do never happens. */
export type Owner = string | null;

interface Waiting {
  owner: Owner;
  run: () => void;
}

/** Something that happens at its time. */
export interface Timer {
  at: number;
  order: number;
  run: () => void;
  owner: Owner;
  unref(): Timer;
}

const realTimers = { setTimeout, clearTimeout, setImmediate };
const realChance = process.hrtime.bigint;
/** What of the work outside would only come after so long (ms) would come amid something else. */
const OUTSIDE_MS = 3_000;

/** Between two commands to a server nothing is in hand for less than so many turns of the event loop. */
const CALM_TURNS = 3;

function immediate(): Promise<void> {
  return new Promise((resolve) => realTimers.setImmediate(resolve));
}

export class World {
  /** Milliseconds since 1970, by a clock that is always right. */
  now: number;
  readonly random: Random;
  #ready: Waiting[] = [];
  #timers: Timer[] = [];
  #order = 0;
  /** Whether something that isn't simulated has something in hand. */
  isBusy: () => boolean = () => false;

  constructor(random: Random, now: number) {
    this.random = random;
    this.now = now;
  }

  /** Takes over the timers and the monotonic clock of this process; the function that is returned gives them back. */
  install(): () => void {
    Object.defineProperty(performance, 'now', { value: () => this.now, configurable: true });
    // Whoever needs a little chance takes it from there.
    process.hrtime.bigint = () => BigInt(this.random.int(1_000_000));
    this.#takeTimers();
    return () => {
      Object.assign(globalThis, realTimers);
      Reflect.deleteProperty(performance, 'now');
      process.hrtime.bigint = realChance;
    };
  }

  #takeTimers(): void {
    Object.assign(globalThis, {
      setTimeout: (run: () => void, delayMs = 0) => this.after(delayMs, run),
      clearTimeout: (timer: Timer) => this.cancel(timer),
      setImmediate: (run: () => void) => this.soon(null, run),
    });
  }

  /** Waits for work that isn't simulated, by the real timers; nothing else happens meanwhile. */
  async outside<Result>(work: () => Promise<Result>): Promise<Result> {
    const later = (run: () => void, ms = 0): NodeJS.Timeout =>
      realTimers.setTimeout(ms > OUTSIDE_MS ? () => {} : run, ms).unref();
    Object.assign(globalThis, { ...realTimers, setTimeout: later });
    try {
      return await work();
    } finally {
      this.#takeTimers();
    }
  }

  /** May happen from now on. */
  soon(owner: Owner, run: () => void): void {
    this.#ready.push({ owner, run });
  }

  /** Happens once so much time has passed. */
  after(delayMs: number, run: () => void, owner: Owner = null): Timer {
    this.#order += 1;
    const at = this.now + Math.ceil(delayMs);
    const timer: Timer = { at, order: this.#order, run, owner, unref: () => timer };
    this.#timers.push(timer);
    return timer;
  }

  /** It never happens. */
  cancel(timer: Timer): void {
    this.#timers = this.#timers.filter((each) => each !== timer);
    // One whose time has come, but not its turn, doesn't run either.
    this.#ready = this.#ready.filter((each) => each !== timer);
  }

  /** What this owner still had to do never happens. */
  drop(owner: string): void {
    this.#ready = this.#ready.filter((each) => each.owner !== owner);
    this.#timers = this.#timers.filter((each) => each.owner !== owner);
  }

  /** Time passes; what becomes due meanwhile may happen from now on. */
  advance(ms: number): void {
    this.now += ms;
    const due = this.#timers
      .filter(({ at }) => at <= this.now)
      .sort((a, b) => a.at - b.at || a.order - b.order);
    this.#timers = this.#timers.filter(({ at }) => at > this.now);
    this.#ready.push(...due);
  }

  /** Time passes from timer to timer, and all that comes of each happens before the next. */
  async pass(ms: number): Promise<void> {
    for (const until = this.now + ms; ; ) {
      await this.quiet();
      const next = Math.min(...this.#timers.map(({ at }) => at));
      this.advance(Math.max(0, Math.min(next, until) - this.now));
      if (next > until) return;
    }
  }

  /** Lets one thing happen; false where there is none. */
  async turn(): Promise<boolean> {
    if (this.#ready.length === 0) {
      const next = Math.min(...this.#timers.map(({ at }) => at));
      if (next === Number.POSITIVE_INFINITY) return false;
      this.advance(Math.max(0, next - this.now));
    }
    const [chosen] = this.#ready.splice(this.random.int(this.#ready.length), 1);
    chosen?.run();
    await this.#settled();
    return true;
  }

  /** Lets everything happen that can without time passing. */
  async quiet(): Promise<void> {
    for (let turns = 0; this.#ready.length > 0; turns += 1) {
      if (turns > 200_000) throw new Error('it never comes to rest');
      await this.turn();
    }
  }

  /** Until all that followed from it at once has happened. */
  async #settled(): Promise<void> {
    await immediate();
    if (!this.isBusy()) return;
    for (let calm = 0; calm < CALM_TURNS; calm = this.isBusy() ? 0 : calm + 1) await immediate();
  }
}
