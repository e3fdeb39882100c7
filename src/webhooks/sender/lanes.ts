/** The queue's state of each account, origin and URL, and the ring that gives URLs their turns. */
import type { Send } from './port.ts';

/** One account's traffic: what it has on the way and waiting, over all its lanes. */
export interface Traffic {
  readonly id: string;
  readonly lanes: Map<string, Lane>;
  running: number;
  /** Of those running, the ones that may well hang. */
  suspects: number;
  waiting: number;
  /** Where its targets wait for their turn. */
  readonly proven: Turns;
  readonly unproven: Turns;
}

/** Where an account's targets wait for their turn in a ring. */
export interface Turns {
  readonly targets: Target[];
  queued: boolean;
}

/** The traffic of an account of which nothing is known yet. */
export function newTraffic(id: string): Traffic {
  const turns = () => ({ targets: [], queued: false });
  const counts = { running: 0, suspects: 0, waiting: 0 };
  return { id, lanes: new Map(), ...counts, proven: turns(), unproven: turns() };
}

/** An item in a queue; `since` is monotonic milliseconds. */
export interface Waiting {
  readonly send: Send;
  readonly since: number;
}

/** One exact URL of an account. */
export interface Target {
  readonly lane: Lane;
  readonly url: string;
  readonly path: string;
  readonly waiting: Waiting[];
  running: number;
  /** How many attempts it may have under way: rule 1 of the queue. */
  limit: number;
  /** Has answered since it was last silent. */
  proven: boolean;
  /** It times out: rule 5 of the queue. */
  isChoked: boolean;
  usedAt: number;
}

/** Takes a target out of those that wait; whether it was among them. */
export function removeFrom(targets: Target[], target: Target): boolean {
  const index = targets.indexOf(target);
  if (index >= 0) targets.splice(index, 1);
  return index >= 0;
}

/** One attempt under way. */
export interface Slot {
  readonly send: Send;
  readonly target: Target;
  /** Counts against the share of those that may well hang. */
  readonly suspect: boolean;
}

/** One account's traffic to one origin: its targets share places there. */
export class Lane {
  readonly traffic: Traffic;
  /** `https://example.com:8443`, as the URL parser writes it. */
  readonly origin: string;
  readonly targets = new Map<string, Target>();
  /** Targets that had no place when it was their turn, in that order: they have another once an attempt ends. */
  readonly held: Target[] = [];

  constructor(traffic: Traffic, origin: string) {
    this.traffic = traffic;
    this.origin = origin;
  }

  /** The target of a URL; a new one may begin so many attempts at first. */
  target(url: string, path: string, limit: number): Target {
    let target = this.targets.get(url);
    if (target === undefined) {
      const nothingKnown = { running: 0, proven: false, isChoked: false, usedAt: 0 };
      target = { lane: this, url, path, waiting: [], limit, ...nothingKnown };
      this.targets.set(url, target);
    }
    return target;
  }

  /** Whether a target has room for one more among so many places, of which each has taken as many as are counted. */
  hasPlace(target: Target, places: number, taken: (target: Target) => number): boolean {
    const own = Math.max(1, Math.floor(places / 2 / this.targets.size));
    let free = places;
    let common = places - own * this.targets.size;
    for (const each of this.targets.values()) {
      const count = taken(each);
      free -= count;
      common -= Math.max(0, count - own);
    }
    return free > 0 && (common > 0 || taken(target) < own);
  }
}

/**
 * Takes turns over accounts and, within each of them, over its targets: many URLs give nobody more turns.
 * Arrays, since small sets and maps that churn cost more than the rest of the queue together.
 */
export class Ring {
  readonly #turnsOf: (traffic: Traffic) => Turns;
  #accounts: Traffic[] = [];
  #head = 0;

  /** `turnsOf` says where an account's targets wait in this ring. */
  constructor(turnsOf: (traffic: Traffic) => Turns) {
    this.#turnsOf = turnsOf;
  }

  get isEmpty(): boolean {
    return this.#head === this.#accounts.length;
  }

  /** Puts a target behind the others of its account, and an account that isn't in yet behind the others. */
  add(target: Target): void {
    const { traffic } = target.lane;
    const { targets } = this.#turnsOf(traffic);
    if (!targets.includes(target)) targets.push(target);
    this.#enqueue(traffic);
  }

  /** Takes a target out; whether it was in. */
  delete(target: Target): boolean {
    return removeFrom(this.#turnsOf(target.lane.traffic).targets, target);
  }

  /** Takes out the target whose turn it is; its account's others have their turn after the other accounts. */
  next(): Target | undefined {
    while (this.#head < this.#accounts.length) {
      const account = this.#dequeue();
      if (account === undefined) return undefined;
      const { targets } = this.#turnsOf(account);
      const target = targets.shift();
      if (targets.length > 0) this.#enqueue(account);
      if (target !== undefined) return target;
    }
    return undefined;
  }

  clear(): void {
    for (let account = this.#dequeue(); account !== undefined; account = this.#dequeue()) {
      this.#turnsOf(account).targets.length = 0;
    }
  }

  #enqueue(traffic: Traffic): void {
    const turns = this.#turnsOf(traffic);
    if (turns.queued) return;
    turns.queued = true;
    this.#accounts.push(traffic);
  }

  #dequeue(): Traffic | undefined {
    const account = this.#accounts[this.#head];
    if (account === undefined) return undefined;
    this.#turnsOf(account).queued = false;
    this.#head += 1;
    if (this.#head >= 64 && this.#head * 2 >= this.#accounts.length) {
      this.#accounts = this.#accounts.slice(this.#head);
      this.#head = 0;
    }
    return account;
  }
}
