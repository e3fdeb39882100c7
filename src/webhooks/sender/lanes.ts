import type { Connection, Origin } from './connection.ts';
import type { Send } from './port.ts';

/** What one account has on the way and waiting, over all its lanes. */
export interface Account {
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

/** An account's place in a ring. */
export interface Turns {
  readonly lanes: Lane[];
  queued: boolean;
}

/** An account of which nothing is known yet. */
export function newAccount(id: string): Account {
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
  /** Since when it times out, null while it answers. */
  chokedSince: number | null;
  usedAt: number;
}

/** One attempt under way. */
export interface Slot {
  readonly send: Send;
  readonly target: Target;
  /** Counts against the share of those that may well hang. */
  readonly suspect: boolean;
  readonly since: number;
}

/** One account's traffic to one origin: its targets take turns, its connections are shared by them. */
export class Lane implements Origin {
  readonly account: Account;
  readonly origin: string;
  readonly targets = new Map<string, Target>();
  /** Targets in which something waits, in the order of their turns. */
  readonly turns: Target[] = [];
  readonly idle: Connection[] = [];
  tlsSession: Buffer | undefined = undefined;
  limit: number;
  running = 0;
  /** Has answered since it was last silent. */
  proven = false;
  averageMs = 0;

  constructor(account: Account, origin: string, limit: number) {
    this.account = account;
    this.origin = origin;
    this.limit = limit;
  }

  get waiting(): number {
    let waiting = 0;
    for (const target of this.turns) waiting += target.waiting.length;
    return waiting;
  }

  target(url: string, path: string): Target {
    let target = this.targets.get(url);
    if (target === undefined) {
      target = { lane: this, url, path, waiting: [], running: 0, chokedSince: null, usedAt: 0 };
      this.targets.set(url, target);
    }
    return target;
  }
}
