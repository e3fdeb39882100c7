/**
 * Owns the order in which webhooks are attempted: who waits, who is on the way, who is put off. It knows neither
 * sockets nor HTTP.
 *
 * A lane is one account's traffic to one origin; a target is one exact URL in it.
 *
 * 1. A lane has at most `limit` attempts under way: 4 at first, one more for each whole answer while others wait,
 *    128 at most, halved by a network error, 4 again after a timeout. Where it has several targets, each leaves a
 *    quarter of that, and of what may wait, to the others: a slow one holds up none that is quick. One that has nothing
 *    under way and has waited for a second has one attempt beyond the limit, up to 128: several may hang at once.
 * 2. Accounts take turns, and no account takes more than it leaves free of the global bound, so a newcomer finds
 *    room beside those who fill it.
 * 3. Attempts in lanes that haven't answered yet, and probes, have at most half of the global bound; there too an
 *    account takes no more than what it leaves free.
 * 4. A target that timed out is choked: one probe at a time, everything else for it is put off, until
 *    anything but a timeout comes of an attempt.
 * 5. Waiting is bounded in number (for each lane, account and in all) and in time; the surplus is put off.
 */
import { onceThisEnds } from '../../waiting.ts';
import type { Ending } from './attempt.ts';
import { isLeftOut, Lane, newTraffic, Ring, type Slot, type Target, type Traffic } from './lanes.ts';
import type { QueueLimits } from './limits.ts';
import type { Send } from './port.ts';

/** Of what a lane has, where it has several targets. */
const A_TARGETS_SHARE = 3 / 4;

/** How many accounts one round looks at when those in front find no room. */
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
  /** Lanes in which something waits and a slot of their own is free, in the order of their turns. */
  readonly #proven = new Ring((traffic) => traffic.proven);
  readonly #unproven = new Ring((traffic) => traffic.unproven);
  #unprovenFirst = false;
  #running = 0;
  #waiting = 0;
  /** Under way in lanes that haven't proven themselves, and probes. */
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
    const target = lane.target(send.url, `${url.pathname}${url.search}`);
    const now = this.#effects.clock();
    target.usedAt = now;
    if (target.isChoked && (target.running > 0 || target.waiting.length > 0)) {
      this.#effects.putOff(send.token);
    } else if (this.#isFull(lane, target)) {
      this.#effects.putOff(send.token);
    } else {
      if (target.waiting.push({ send, since: now }) === 1) lane.turns.push(target);
      lane.traffic.waiting += 1;
      this.#waiting += 1;
      if (lane.running < lane.limit) this.#ring(lane).add(lane);
      this.#scheduleRound();
    }
  }

  /** The receiver has answered with a status: whatever was choked recovers. */
  answered(slot: Slot): void {
    slot.target.isChoked = false;
    this.#prove(slot.target.lane, true);
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
    if (lane.waiting > 0) this.#ring(lane).add(lane);
    this.#scheduleRound();
  }

  /** Puts off what has waited too long and frees what is idle; to be called about once a second. */
  sweep(): void {
    const now = this.#effects.clock();
    for (const account of this.#accounts.values()) {
      for (const lane of account.lanes.values()) {
        this.#sweepLane(lane, now);
        if (lane.turns.some((target) => isLeftOut(target, now))) this.#ring(lane).add(lane);
        if (lane.targets.size > 0) continue;
        account.lanes.delete(lane.origin);
        this.#ring(lane).delete(lane);
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
        lane.turns.length = 0;
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
      lane = new Lane(account, origin, this.#limits.startPerOrigin);
      account.lanes.set(origin, lane);
    }
    return lane;
  }

  #ring(lane: Lane): Ring {
    return lane.proven ? this.#proven : this.#unproven;
  }

  #prove(lane: Lane, proven: boolean): void {
    if (lane.proven === proven) return;
    const had = this.#ring(lane).delete(lane);
    lane.proven = proven;
    if (had) this.#ring(lane).add(lane);
  }

  #isFull(lane: Lane, target: Target): boolean {
    const free = this.#limits.maxWaiting - this.#waiting;
    if (free <= 0) return true;
    if (!hasShare(lane, this.#limits.maxWaitingPerOrigin, lane.waiting, target.waiting.length)) return true;
    return lane.traffic.waiting >= Math.max(1, free);
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
    const now = this.#effects.clock();
    let fruitless = 0;
    while (this.#running < this.#limits.maxInFlight && fruitless < TURNS_MAX) {
      const lane = ring.next();
      if (lane === undefined) return;
      const target = nextTarget(lane, this.#limits.maxPerOrigin, now);
      if (target === undefined) continue;
      if (this.#hasRoom(lane, target)) {
        this.#start(lane, target);
        fruitless = 0;
      } else {
        fruitless += 1;
      }
      if (target.waiting.length > 0) lane.turns.push(target);
      const { turns, running, limit } = lane;
      if (running < limit ? turns.length > 0 : turns.some((each) => isLeftOut(each, now)))
        this.#ring(lane).add(lane);
    }
  }

  #hasRoom({ proven, traffic }: Lane, target: Target): boolean {
    const { maxInFlight } = this.#limits;
    if (traffic.running >= Math.max(1, maxInFlight - this.#running)) return false;
    if (!isSuspect(proven, target)) return true;
    return traffic.suspects < Math.ceil(maxInFlight / 2) - this.#suspects;
  }

  #start(lane: Lane, target: Target): void {
    const item = target.waiting.shift();
    if (item === undefined) return;
    this.#left(lane);
    const suspect = isSuspect(lane.proven, target);
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
    const { lane } = target;
    if (ending === 'timeout') {
      lane.limit = this.#limits.startPerOrigin;
      this.#prove(lane, false);
      target.isChoked = true;
      removeTurn(target);
      for (const item of target.waiting.splice(0)) {
        this.#left(lane);
        this.#effects.putOff(item.send.token);
      }
      return;
    }
    target.isChoked = false;
    if (ending === 'failed') {
      lane.limit = Math.max(this.#limits.startPerOrigin, Math.floor(lane.limit / 2));
    } else if (ending === 'complete' && lane.waiting > 0 && lane.limit < this.#limits.maxPerOrigin) {
      lane.limit += 1;
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
    if (waiting.length === 0) removeTurn(target);
  }

  #left(lane: Lane): void {
    lane.traffic.waiting -= 1;
    this.#waiting -= 1;
  }
}

/** Whether a target that has `own` of what its lane has at most may take one more; `taken`: what all of them have. */
function hasShare({ targets }: Lane, most: number, taken: number, own: number): boolean {
  return taken < most && (targets.size === 1 || own < most * A_TARGETS_SHARE);
}

/** Takes out the target whose turn it is, of those that may start another attempt; `most`: of a lane, at any time. */
function nextTarget(lane: Lane, most: number, now: number): Target | undefined {
  const { turns, limit, running } = lane;
  const index = turns.findIndex(
    (target) => hasShare(lane, limit, running, target.running) || (running < most && isLeftOut(target, now)),
  );
  return index < 0 ? undefined : turns.splice(index, 1)[0];
}

function isSuspect(proven: boolean, target: Target): boolean {
  return !proven || target.isChoked;
}

function removeTurn(target: Target): void {
  const { turns } = target.lane;
  const index = turns.indexOf(target);
  if (index >= 0) turns.splice(index, 1);
}
