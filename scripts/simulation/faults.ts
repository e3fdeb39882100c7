/**
 * What the simulated store does to its callers: it delays, fails before or after its effect, or is away for a while. In
 * memory that happens around its methods, on MongoDB around each command.
 */
import { StoreUnavailable } from '../../src/engine/store.ts';
import type { FaultVerdict } from '../../test/support/memory-store/faults.ts';
import type { World } from './world.ts';

/** How often, of a thousand calls, the store misbehaves. */
export interface FaultRates {
  /** Fails and changes nothing. */
  before: number;
  /** Takes effect, but its answer is lost. */
  after: number;
  /** An append is told that another was first. */
  stale: number;
  /** A write takes longer than it may: an append, and on MongoDB any. */
  slow: number;
  /** Of the writes that go together some take effect. */
  parted: number;
}

const CALM: FaultRates = { before: 0, after: 0, stale: 0, slow: 0, parted: 0 };
const ROUGH: FaultRates = { before: 15, after: 25, stale: 40, slow: 4, parted: 40 };

/** A write is tried again at the latest so long after the store is back. */
export const OUTAGE_OVER_MS = 30_000;
const SLOWEST_MS = 10_000;

/** What a store is asked for that writes, as it is called in memory and on MongoDB. */
const WRITE = /^(append$|insert |update |delete )/;

/** How many of a thousand writes fail where some of those that go together do. */
const FAILING_OF_PARTED = 500;

/** While only its answers are lost, as many calls as this of a thousand take effect. */
const TAKEN_WHILE_AWAY = 300;

/** Faults around what a store is asked for, by its name; an append has its own. */
interface StoreFaults {
  before(method: string): Promise<FaultVerdict>;
  /** Whether each of the writes that go together fails, asked in turn; null: none does. */
  parted(method: string): (() => boolean) | null;
  after(method: string): Promise<void>;
}

/** The weather that all processes share, and what it has done so far. */
export class Weather {
  rates: FaultRates = ROUGH;
  /** How often each fault happened, by moment and method. */
  readonly counts = new Map<string, number>();
  readonly #world: World;
  #awayUntil = 0;
  #taken = 0;
  #roughUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** For up to a minute and a half nothing that the store is asked gets an answer. */
  beginOutage(): void {
    this.#count('outage');
    this.#taken = this.#world.random.pick([0, TAKEN_WHILE_AWAY]);
    this.#awayUntil = this.#world.now + 1_000 + this.#world.random.int(90_000);
    this.#roughUntil = Math.max(this.#roughUntil, this.#awayUntil + OUTAGE_OVER_MS);
  }

  /** Whether an outage, or an append that takes long, may still hold something up. */
  get isRough(): boolean {
    return this.#world.now < this.#roughUntil;
  }

  /** Does the work while no fault happens. */
  async pause(work: () => Promise<void>): Promise<void> {
    const { rates } = this;
    this.rates = CALM;
    await work();
    this.rates = rates;
  }

  clear(): void {
    this.rates = CALM;
    this.#awayUntil = 0;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** A moment of chance before and after each call of a process, which the world lets happen in any order. */
  faultsOf(owner: string, isAlive: () => boolean): StoreFaults {
    const world = this.#world;
    const { random } = world;
    const gate = (delayMs: number): Promise<void> =>
      new Promise((resolve) => {
        if (!isAlive()) return;
        if (delayMs > 0) world.after(delayMs, resolve, owner);
        else world.soon(owner, resolve);
      });
    return {
      before: async (method) => {
        const isSlow = WRITE.test(method) && random.perMille(this.rates.slow);
        if (isSlow) {
          this.#count(`slow ${method}`);
          this.#roughUntil = Math.max(this.#roughUntil, world.now + SLOWEST_MS);
        }
        await gate(isSlow ? 1_000 + random.int(SLOWEST_MS - 1_000) : 0);
        this.#fail('before', method, 1_000 - this.#taken);
        if (method !== 'append' || !random.perMille(this.rates.stale)) return undefined;
        this.#count('stale append');
        return 'stale';
      },
      parted: (method) => {
        if (!random.perMille(this.rates.parted)) return null;
        this.#count(`parted ${method}`);
        return () => random.perMille(FAILING_OF_PARTED);
      },
      after: async (method) => {
        await gate(0);
        this.#fail('after', method, 1_000);
      },
    };
  }

  #fail(moment: 'before' | 'after', method: string, whileAway: number): void {
    const isAway = this.#world.now < this.#awayUntil;
    if (!this.#world.random.perMille(isAway ? whileAway : this.rates[moment])) return;
    this.#count(`${moment} ${method}`);
    throw new StoreUnavailable(`${moment} ${method}`);
  }
}
