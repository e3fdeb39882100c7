/** Faults for tests: what a store can do to its callers, named by method and moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backlog } from '../../../src/engine/store/backlog.ts';
import type { Marks } from '../../../src/engine/store/marks.ts';
import {
  type AccountTable,
  type Attention,
  type DueIndex,
  type Journal,
  StoreUnavailable,
} from '../../../src/engine/store.ts';

/** A method of the port, whatever its role. */
export type StoreMethod =
  | keyof Journal
  | keyof DueIndex
  | keyof Attention
  | Exclude<keyof Backlog, 'put'>
  /** The accounts' table has a `put`, too. */
  | 'put behind'
  | keyof AccountTable
  | keyof Marks
  | 'ping'
  | 'close';

/** `stale`: an append is answered so and stores nothing; undefined: go on. Other methods ignore it. */
export type FaultVerdict = 'stale' | undefined;

/**
 * Hooks around every method but `close`. Each may throw StoreUnavailable, or wait and so delay the call; what `after`
 * throws loses the answer of something that took effect.
 */
export interface Faults {
  /** Before anything is read or written. */
  before?(method: StoreMethod, args: readonly unknown[]): FaultVerdict | Promise<FaultVerdict>;
  /** After it took effect, before the answer. */
  after?(method: StoreMethod, args: readonly unknown[]): void | Promise<void>;
}

/** Before the effect, or after it and before the answer. */
export type FaultMoment = 'before' | 'after';

interface Rule {
  method: StoreMethod;
  moment: FaultMoment;
  left: number;
  act: () => Promise<FaultVerdict>;
}

/**
 * Faults that a test lays out one by one. A call meets at most one rule a moment: the oldest that still counts.
 */
export class FaultPlan implements Faults {
  readonly #rules: Rule[] = [];

  /** The next `times` calls throw StoreUnavailable and change nothing. */
  fail(method: StoreMethod, times = 1): void {
    this.#add(method, 'before', times, refuse);
  }

  /** The next `times` calls take effect, but throw StoreUnavailable instead of answering. */
  loseAnswer(method: StoreMethod, times = 1): void {
    this.#add(method, 'after', times, refuse);
  }

  /** The next `times` appends are answered `stale`, whatever the head is. */
  stale(times = 1): void {
    this.#add('append', 'before', times, async () => 'stale');
  }

  /** The next `times` calls wait so many ms. */
  delay(method: StoreMethod, delayMs: number, times = 1, moment: FaultMoment = 'before'): void {
    this.#add(method, moment, times, async () => {
      await sleep(delayMs);
      return undefined;
    });
  }

  /** All calls wait until the function that this returns is called. */
  hang(method: StoreMethod, moment: FaultMoment = 'before'): () => void {
    let open = (): void => {};
    const opened = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    const rule = this.#add(method, moment, Number.POSITIVE_INFINITY, () => opened);
    return () => {
      rule.left = 0;
      open();
    };
  }

  before(method: StoreMethod): Promise<FaultVerdict> {
    return this.#meet(method, 'before');
  }

  async after(method: StoreMethod): Promise<void> {
    await this.#meet(method, 'after');
  }

  #add(method: StoreMethod, moment: FaultMoment, left: number, act: Rule['act']): Rule {
    const rule = { method, moment, left, act };
    this.#rules.push(rule);
    return rule;
  }

  async #meet(method: StoreMethod, moment: FaultMoment): Promise<FaultVerdict> {
    const rule = this.#rules.find(
      (each) => each.method === method && each.moment === moment && each.left > 0,
    );
    if (!rule) return undefined;
    rule.left -= 1;
    return rule.act();
  }
}

async function refuse(): Promise<never> {
  throw new StoreUnavailable('the store is away, as the test wants it');
}
