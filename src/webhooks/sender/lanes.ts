/** The queue's state of each account, origin and URL, and the ring that gives them turns. */
import type { Send } from './port.ts';

/** One account's traffic: what it has on the way and waiting, over all its lanes. */
export interface Traffic {
  readonly id: string;
  readonly lanes: Map<string, Lane>;
  running: number;
  /** Of those running, the ones that may well hang. */
  suspects: number;
  waiting: number;
  /** Where its lanes wait for their turn. */
  readonly proven: Turns;
  readonly unproven: Turns;
}

/** Where an account's lanes wait for their turn in a ring. */
export interface Turns {
  readonly lanes: Lane[];
  queued: boolean;
}

/** The traffic of an account of which nothing is known yet. */
export function newTraffic(id: string): Traffic {
  const turns = () => ({ lanes: [], queued: false });
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
  /** It times out: rule 4 of the queue. */
  isChoked: boolean;
  usedAt: number;
}

/** A target that has waited for so long is left out. */
const LEFT_OUT_MS = 1_000;

/** Whether something waits for a target that has nothing under way, since others have all that its lane has. */
export function isLeftOut({ running, waiting }: Target, now: number): boolean {
  return running === 0 && now - (waiting[0]?.since ?? now) >= LEFT_OUT_MS;
}

/** One attempt under way. */
export interface Slot {
  readonly send: Send;
  readonly target: Target;
  /** Counts against the share of those that may well hang. */
  readonly suspect: boolean;
}

/** One account's traffic to one origin: its targets take turns. */
export class Lane {
  readonly traffic: Traffic;
  /** `https://example.com:8443`, as the URL parser writes it. */
  readonly origin: string;
  readonly targets = new Map<string, Target>();
  /** Targets in which something waits, in the order of their turns. */
  readonly turns: Target[] = [];
  limit: number;
  /** Has answered since it was last silent. */
  proven = false;

  constructor(traffic: Traffic, origin: string, limit: number) {
    this.traffic = traffic;
    this.origin = origin;
    this.limit = limit;
  }

  /** Attempts under way; those of a choked target hang, and count as the one that probes it. */
  get running(): number {
    let running = 0;
    for (const target of this.targets.values())
      running += target.isChoked ? Math.min(1, target.running) : target.running;
    return running;
  }

  get waiting(): number {
    let waiting = 0;
    for (const target of this.turns) waiting += target.waiting.length;
    return waiting;
  }

  target(url: string, path: string): Target {
    let target = this.targets.get(url);
    if (target === undefined) {
      target = { lane: this, url, path, waiting: [], running: 0, isChoked: false, usedAt: 0 };
      this.targets.set(url, target);
    }
    return target;
  }
}

/**
 * Takes turns over accounts and, within each of them, over its lanes: many origins give nobody more turns.
 * Arrays, since small sets and maps that churn cost more than the rest of the queue together.
 */
export class Ring {
  readonly #turnsOf: (traffic: Traffic) => Turns;
  #accounts: Traffic[] = [];
  #head = 0;

  /** `turnsOf` says where an account's lanes wait in this ring. */
  constructor(turnsOf: (traffic: Traffic) => Turns) {
    this.#turnsOf = turnsOf;
  }

  get isEmpty(): boolean {
    return this.#head === this.#accounts.length;
  }

  /** Puts a lane behind the others of its account, and an account that isn't in yet behind the others. */
  add(lane: Lane): void {
    const { lanes } = this.#turnsOf(lane.traffic);
    if (!lanes.includes(lane)) lanes.push(lane);
    this.#enqueue(lane.traffic);
  }

  /** Takes a lane out; whether it was in. */
  delete(lane: Lane): boolean {
    const { lanes } = this.#turnsOf(lane.traffic);
    const index = lanes.indexOf(lane);
    if (index < 0) return false;
    lanes.splice(index, 1);
    return true;
  }

  /** Takes out the lane whose turn it is; its account's other lanes have their turn after the other accounts. */
  next(): Lane | undefined {
    while (this.#head < this.#accounts.length) {
      const account = this.#dequeue();
      if (account === undefined) return undefined;
      const { lanes } = this.#turnsOf(account);
      const lane = lanes.shift();
      if (lanes.length > 0) this.#enqueue(account);
      if (lane !== undefined) return lane;
    }
    return undefined;
  }

  clear(): void {
    for (let account = this.#dequeue(); account !== undefined; account = this.#dequeue()) {
      this.#turnsOf(account).lanes.length = 0;
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
