/** The queue's state of each account, origin and URL, and the ring that gives URLs their turns. */
import type { Send } from './port.ts';

/**
 * What is known of a target, the worst first: it hangs; nothing is known; it answered before it rested for a while; it
 * answers.
 */
export const STANDINGS = ['hangs', 'unknown', 'rested', 'answers'] as const;

export type Standing = (typeof STANDINGS)[number];

/** Attempts under way, by the standing that their targets had when they began. */
export type Running = Record<Standing, number>;

/** One account's traffic: what it has on the way, over all its lanes. */
export interface Traffic {
  readonly id: string;
  readonly lanes: Map<string, Lane>;
  readonly running: Running;
  /** Where its targets of each standing wait for their turn. */
  readonly turns: Readonly<Record<Standing, Turns>>;
}

/** Where an account's targets wait for their turn in a ring. */
export interface Turns {
  readonly targets: Target[];
  queued: boolean;
}

/** The traffic of an account of which nothing is known yet. */
export function newTraffic(id: string): Traffic {
  const none = () => ({ targets: [], queued: false });
  const turns = { hangs: none(), unknown: none(), rested: none(), answers: none() };
  return { id, lanes: new Map(), running: noneRunning(), turns };
}

export function noneRunning(): Running {
  return { hangs: 0, unknown: 0, rested: 0, answers: 0 };
}

/** How much of the global bound attempts to targets of a standing have, with those of each that is worse. */
const SHARES = { hangs: 3 / 8, unknown: 1 / 2, rested: 3 / 4, answers: 1 };

/**
 * Whether there is room for one more attempt to a target of a standing, of so many places, where all have so many under
 * way, and whoever is to have it so many of these: it takes no more than it leaves free.
 */
export function hasRoom(standing: Standing, places: number, running: Running, own: Running): boolean {
  let [taken, all, counts] = [0, 0, false];
  for (const each of STANDINGS) {
    taken += own[each];
    all += running[each];
    counts ||= each === standing;
    if (counts && taken >= Math.ceil(places * SHARES[each]) - all) return false;
  }
  return true;
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
  standing: Standing;
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
  /** Its target's, when it began. */
  readonly standing: Standing;
}

/** One account's traffic to one origin: its targets share places there. */
export class Lane {
  readonly traffic: Traffic;
  /** `https://example.com:8443`, as the URL parser writes it. */
  readonly origin: string;
  readonly targets = new Map<string, Target>();
  /** Targets that had no place when it was their turn, in that order: they have another once an attempt ends, or their parts grow. */
  readonly held: Target[] = [];

  constructor(traffic: Traffic, origin: string) {
    this.traffic = traffic;
    this.origin = origin;
  }

  /** Adds the target of a URL, of which that much is known; it may begin so many attempts at first. */
  add(url: string, path: string, limit: number, standing: Standing): Target {
    const target: Target = { lane: this, url, path, waiting: [], running: 0, limit, standing, usedAt: 0 };
    this.targets.set(url, target);
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
  readonly #standing: Standing;
  #accounts: Traffic[] = [];
  #head = 0;

  /** A ring for targets of one standing. */
  constructor(standing: Standing) {
    this.#standing = standing;
  }

  /** How many accounts are in. */
  get size(): number {
    return this.#accounts.length - this.#head;
  }

  /** Puts a target that is in no ring behind the others of its account, and an account that isn't in yet behind the others. */
  add(target: Target): void {
    const { traffic } = target.lane;
    traffic.turns[this.#standing].targets.push(target);
    this.#enqueue(traffic);
  }

  /** Takes a target out; whether it was in. */
  delete(target: Target): boolean {
    return removeFrom(target.lane.traffic.turns[this.#standing].targets, target);
  }

  /** Takes out the target whose turn it is; its account's others have their turn after the other accounts. */
  next(): Target | undefined {
    while (this.#head < this.#accounts.length) {
      const account = this.#dequeue();
      if (account === undefined) return undefined;
      const { targets } = account.turns[this.#standing];
      const target = targets.shift();
      if (targets.length > 0) this.#enqueue(account);
      if (target !== undefined) return target;
    }
    return undefined;
  }

  clear(): void {
    for (let account = this.#dequeue(); account !== undefined; account = this.#dequeue()) {
      account.turns[this.#standing].targets.length = 0;
    }
  }

  #enqueue(traffic: Traffic): void {
    const turns = traffic.turns[this.#standing];
    if (turns.queued) return;
    turns.queued = true;
    this.#accounts.push(traffic);
  }

  #dequeue(): Traffic | undefined {
    const account = this.#accounts[this.#head];
    if (account === undefined) return undefined;
    account.turns[this.#standing].queued = false;
    this.#head += 1;
    if (this.#head >= 64 && this.#head * 2 >= this.#accounts.length) {
      this.#accounts = this.#accounts.slice(this.#head);
      this.#head = 0;
    }
    return account;
  }
}

/** A ring for the targets of each standing. */
export function newRings(): Record<Standing, Ring> {
  return {
    hangs: new Ring('hangs'),
    unknown: new Ring('unknown'),
    rested: new Ring('rested'),
    answers: new Ring('answers'),
  };
}
