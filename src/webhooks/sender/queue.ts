/**
 * Owns the order in which webhooks are attempted: who waits, who is on the way, who is put off. It knows neither
 * sockets nor HTTP.
 *
 * A lane is one account's traffic to one origin; a target is one exact URL in it.
 *
 * 1. A target has at most `limit` attempts under way: 4 at first, one more for each whole answer while others wait,
 *    halved by a network error, 4 again after a timeout.
 * 2. A lane has 128 places for attempts, and some for what waits. Half of them are its targets' own, in equal parts;
 *    the other half is for whoever comes first. So a target goes on by its own limit, whatever its siblings do.
 * 3. Accounts take turns, and no account takes more than it leaves free of the global bound, so a newcomer finds
 *    room beside those who fill it.
 * 4. Attempts to targets that haven't answered yet, and probes, have at most half of the global bound; there too an
 *    account takes no more than what it leaves free.
 * 5. A target that timed out is choked: one probe at a time, everything else for it is put off, until
 *    anything but a timeout comes of an attempt.
 * 6. Waiting is bounded in number (for each lane, account and in all) and in time; the surplus is put off.
 */
import { onceThisEnds } from '../../waiting.ts';
import type { Ending } from './attempt.ts';
import { Lane, newTraffic, Ring, removeFrom, type Slot, type Target, type Traffic } from './lanes.ts';
import type { QueueLimits } from './limits.ts';
import type { Send } from './port.ts';

/** How many targets one round looks at when those in front find no room. */
const TURNS_MAX = 64;

/** What a URL leads to. */
export type UrlParts = Pick<URL, 'origin' | 'pathname' | 'search'>;

/** The queue's effects; `start` may report back before it returns, `clock` is monotonic. */
export interface QueueEffects {
  start(slot: Slot): void;
  putOff(token: string): void;
  /** The lane has been idle: its connections and state can go. */
  release(lane: Lane): void;
  clock(): number;
}

/** Admits, orders and puts off. */
export class OriginQueue {
  readonly #limits: QueueLimits;
  readonly #effects: QueueEffects;
  readonly #accounts = new Map<string, Traffic>();
  /** Targets for which something waits are in one of these, in the order of their turns, or held in their lane. */
  readonly #proven = new Ring((traffic) => traffic.proven);
  readonly #unproven = new Ring((traffic) => traffic.unproven);
  #unprovenFirst = false;
  #running = 0;
  #waiting = 0;
  /** Under way to targets that haven't proven themselves, probes among them. */
  #suspects = 0;
  /** A round runs after the callbacks of a turn of the event loop, so that what came together starts together. */
  readonly #soonRound = onceThisEnds(() => this.#round());

  constructor(limits: QueueLimits, effects: QueueEffects) {
    this.#limits = limits;
    this.#effects = effects;
  }

  /** Takes one item: it will be started or put off. The scheme of its URL is http or https. */
  add(send: Send, url: UrlParts): void {
    const lane = this.#lane(send.account, url.origin);
    const target = lane.target(send.url, `${url.pathname}${url.search}`, this.#limits.startPerUrl);
    const now = this.#effects.clock();
    target.usedAt = now;
    if (target.isChoked && (target.running > 0 || target.waiting.length > 0)) {
      this.#effects.putOff(send.token);
    } else if (this.#isFull(target)) {
      this.#effects.putOff(send.token);
    } else {
      if (target.waiting.push({ send, since: now }) === 1) this.#ring(target).add(target);
      lane.traffic.waiting += 1;
      this.#waiting += 1;
      this.#scheduleRound();
    }
  }

  /** The receiver has answered with a status: whatever was choked recovers. */
  answered(slot: Slot): void {
    slot.target.isChoked = false;
    this.#prove(slot.target, true);
  }

  /** The attempt's slot is free again. */
  ended(slot: Slot, ending: Ending): void {
    const { target } = slot;
    const { lane } = target;
    const now = this.#effects.clock();
    this.#running -= 1;
    lane.traffic.running -= 1;
    target.running -= 1;
    target.usedAt = now;
    if (slot.suspect) {
      this.#suspects -= 1;
      lane.traffic.suspects -= 1;
    }
    this.#learn(target, ending);
    for (const held of lane.held.splice(0)) this.#ring(held).add(held);
    this.#scheduleRound();
  }

  /** Puts off what has waited too long and frees what is idle; to be called about once a second. */
  sweep(): void {
    const now = this.#effects.clock();
    for (const account of this.#accounts.values()) {
      for (const lane of account.lanes.values()) {
        this.#sweepLane(lane, now);
        if (lane.targets.size > 0) continue;
        account.lanes.delete(lane.origin);
        this.#effects.release(lane);
      }
      if (account.lanes.size === 0) this.#accounts.delete(account.id);
    }
    this.#scheduleRound();
  }

  /** Forgets everything that waits and releases every lane. */
  clear(): void {
    this.#proven.clear();
    this.#unproven.clear();
    for (const account of this.#accounts.values()) {
      for (const lane of account.lanes.values()) {
        // Attempts under way still report to their lane: nothing may follow them.
        lane.held.length = 0;
        for (const target of lane.targets.values()) target.waiting.length = 0;
        this.#effects.release(lane);
      }
    }
    this.#accounts.clear();
  }

  #lane(id: string, origin: string): Lane {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      account = newTraffic(id);
      this.#accounts.set(id, account);
    }
    let lane = account.lanes.get(origin);
    if (lane === undefined) {
      lane = new Lane(account, origin);
      account.lanes.set(origin, lane);
    }
    return lane;
  }

  #ring(target: Target): Ring {
    return target.proven ? this.#proven : this.#unproven;
  }

  #prove(target: Target, proven: boolean): void {
    if (target.proven === proven) return;
    const had = this.#ring(target).delete(target);
    target.proven = proven;
    if (had) this.#ring(target).add(target);
  }

  #isFull(target: Target): boolean {
    const { lane } = target;
    const free = this.#limits.maxWaiting - this.#waiting;
    if (free <= 0 || lane.traffic.waiting >= Math.max(1, free)) return true;
    return !lane.hasPlace(target, this.#limits.maxWaitingPerOrigin, ({ waiting }) => waiting.length);
  }

  /** Whether its lane has a place for one more attempt to it. */
  #hasPlace(target: Target): boolean {
    if (target.running >= target.limit) return false;
    return target.lane.hasPlace(target, this.#limits.maxPerOrigin, ({ running }) => running);
  }

  #scheduleRound(): void {
    if (!this.#proven.isEmpty || !this.#unproven.isEmpty) this.#soonRound();
  }

  #round(): void {
    this.#unprovenFirst = !this.#unprovenFirst;
    if (this.#unprovenFirst) this.#roundOf(this.#unproven);
    this.#roundOf(this.#proven);
    if (!this.#unprovenFirst) this.#roundOf(this.#unproven);
  }

  #roundOf(ring: Ring): void {
    let fruitless = 0;
    while (this.#running < this.#limits.maxInFlight && fruitless < TURNS_MAX) {
      const target = ring.next();
      if (target === undefined) return;
      if (!this.#hasPlace(target)) {
        target.lane.held.push(target);
        continue;
      }
      if (this.#hasRoom(target)) {
        this.#start(target);
        fruitless = 0;
      } else {
        fruitless += 1;
      }
      if (target.waiting.length > 0) this.#ring(target).add(target);
    }
  }

  #hasRoom({ proven, lane: { traffic } }: Target): boolean {
    const { maxInFlight } = this.#limits;
    if (traffic.running >= Math.max(1, maxInFlight - this.#running)) return false;
    return proven || traffic.suspects < Math.ceil(maxInFlight / 2) - this.#suspects;
  }

  #start(target: Target): void {
    const item = target.waiting.shift();
    if (item === undefined) return;
    const { lane } = target;
    this.#left(lane);
    const suspect = !target.proven;
    this.#running += 1;
    lane.traffic.running += 1;
    target.running += 1;
    if (suspect) {
      this.#suspects += 1;
      lane.traffic.suspects += 1;
    }
    this.#effects.start({ send: item.send, target, suspect });
  }

  #learn(target: Target, ending: Ending): void {
    const { startPerUrl, maxPerOrigin } = this.#limits;
    if (ending === 'timeout') {
      target.limit = startPerUrl;
      target.isChoked = true;
      this.#noneWaits(target);
      this.#prove(target, false);
      for (const item of target.waiting.splice(0)) {
        this.#left(target.lane);
        this.#effects.putOff(item.send.token);
      }
      return;
    }
    target.isChoked = false;
    if (ending === 'failed') {
      target.limit = Math.max(startPerUrl, Math.floor(target.limit / 2));
    } else if (ending === 'complete' && target.waiting.length > 0 && target.limit < maxPerOrigin) {
      target.limit += 1;
    }
  }

  #sweepLane(lane: Lane, now: number): void {
    const { idleMs, maxWaitMs, chokedMs } = this.#limits;
    for (const target of lane.targets.values()) {
      this.#putOffStale(target, now - maxWaitMs);
      if (target.running > 0 || target.waiting.length > 0) continue;
      const keptMs = target.isChoked ? Math.max(idleMs, chokedMs) : idleMs;
      if (now - target.usedAt >= keptMs) lane.targets.delete(target.url);
    }
  }

  #putOffStale(target: Target, before: number): void {
    const { lane, waiting } = target;
    let [oldest] = waiting;
    while (oldest !== undefined && oldest.since < before) {
      waiting.shift();
      this.#left(lane);
      this.#effects.putOff(oldest.send.token);
      [oldest] = waiting;
    }
    if (waiting.length === 0) this.#noneWaits(target);
  }

  #noneWaits(target: Target): void {
    if (!this.#ring(target).delete(target)) removeFrom(target.lane.held, target);
  }

  #left(lane: Lane): void {
    lane.traffic.waiting -= 1;
    this.#waiting -= 1;
  }
}
