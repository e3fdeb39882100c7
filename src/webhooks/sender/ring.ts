import type { Account, Lane, Turns } from './lanes.ts';

/**
 * Takes turns over accounts and, within each of them, over its lanes: many origins give nobody more turns.
 * Arrays, since small sets and maps that churn cost more than the rest of the queue together.
 */
export class Ring {
  readonly #turnsOf: (account: Account) => Turns;
  #accounts: Account[] = [];
  #head = 0;

  /** `turnsOf` is where an account keeps its place in this ring. */
  constructor(turnsOf: (account: Account) => Turns) {
    this.#turnsOf = turnsOf;
  }

  get isEmpty(): boolean {
    return this.#head === this.#accounts.length;
  }

  /** Puts a lane behind the others of its account, and an account that isn't in yet behind the others. */
  add(lane: Lane): void {
    const { lanes } = this.#turnsOf(lane.account);
    if (!lanes.includes(lane)) lanes.push(lane);
    this.#enqueue(lane.account);
  }

  /** Takes a lane out; whether it was in. */
  delete(lane: Lane): boolean {
    const { lanes } = this.#turnsOf(lane.account);
    const index = lanes.indexOf(lane);
    if (index < 0) return false;
    lanes.splice(index, 1);
    return true;
  }

  /** Takes out the lane whose turn it is; its account's other lanes have their turn after the other accounts. */
  take(): Lane | undefined {
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

  #enqueue(account: Account): void {
    const turns = this.#turnsOf(account);
    if (turns.queued) return;
    turns.queued = true;
    this.#accounts.push(account);
  }

  #dequeue(): Account | undefined {
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
