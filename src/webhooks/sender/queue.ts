/**
 * Owns the order in which webhooks are attempted: who waits, who is on the way, who is put off. It knows neither
 * sockets nor HTTP.
 *
 * A lane is one account's traffic to one origin; a target is one exact URL in it.
 *
 * 1. A target has at most `limit` attempts under way: 4 at first, one more for each answer that is whole, or whose rest
 *    has had its time, while others wait, halved by a network error, 4 again after a timeout.
 * 2. A lane has 128 places for attempts, and some for what waits. Half of them are its targets' own, in equal parts;
 *    the other half is for whoever comes first. So a target goes on by its own limit, whatever its siblings do.
 * 3. Accounts take turns, and no account takes more than it leaves free of the global bound, so a newcomer finds
 *    room beside those who fill it.
 * 4. Attempts to targets that hang have three eighths of the global bound; with those to targets of which nothing is
 *    known half of it, and with those that answered before they rested three quarters. What hangs leaves room to what
 *    may, and that to what answers; there too an account takes no more than what it leaves free.
 * 5. A target that timed out hangs: one probe at a time, everything else for it is put off, until
 *    anything but a timeout comes of an attempt.
 * 6. Waiting is bounded in number for each lane, and in time; the surplus is put off. All in all no more waits than who
 *    hands it over has in hand.
 * 7. Whether a target answered or hung is remembered long after all else of it is gone. One of which nothing is known and
 *    behind which more waits in the store counts as one that hangs.
 */
import { Lately } from '../../passing.ts';
import { onceATurn, onceThisEnds } from '../../waiting.ts';
import type { Ending } from './attempt.ts';
import {
  hasRoom,
  Lane,
  newRings,
  newTraffic,
  noneRunning,
  type Ring,
  type Running,
  removeFrom,
  type Slot,
  STANDINGS,
  type Standing,
  type Target,
  type Traffic,
} from './lanes.ts';
import type { QueueLimits } from './limits.ts';
import type { Send } from './port.ts';

/** How many accounts one round looks at when those in front find no room; another round goes on with the next ones. */
const TURNS_MAX = 64;

const NONE = noneRunning();

/** Of how many targets that had nothing to do lately it is remembered whether they answer, at least. */
const REMEMBERED = 10_000;

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
  readonly #rings = newRings();
  /** Each standing has the first turn in another round. */
  readonly #order: Standing[] = [...STANDINGS];
  readonly #running = noneRunning();
  /** Of targets that are gone, by account and URL. */
  readonly #remembered = new Lately<Standing>(REMEMBERED);
  /** A round runs after the callbacks of a turn of the event loop, so that what came together starts together. */
  readonly #soonRound = onceThisEnds(() => this.#round());
  readonly #nextRound = onceATurn(() => this.#round());
  /** How many accounts of each ring, one after the other, have found no room. */
  readonly #roomless = noneRunning();

  constructor(limits: QueueLimits, effects: QueueEffects) {
    this.#limits = limits;
    this.#effects = effects;
  }

  /** Takes one item: it will be started or put off. The scheme of its URL is http or https. */
  add(send: Send, url: UrlParts): void {
    const target = this.#target(send, url);
    const now = this.#effects.clock();
    target.usedAt = now;
    if (target.standing === 'hangs' && (target.running > 0 || target.waiting.length > 0)) {
      this.#effects.putOff(send.token);
    } else if (this.#isFull(target)) {
      this.#effects.putOff(send.token);
    } else {
      if (target.waiting.push({ send, since: now }) === 1) this.#ring(target).add(target);
      this.#scheduleRound();
    }
  }

  /** The receiver has answered with a status: what hung recovers. */
  answered(slot: Slot): void {
    this.#stands(slot.target, 'answers');
    this.#scheduleRound();
  }

  /** The attempt's slot is free again. */
  ended({ target, standing }: Slot, ending: Ending): void {
    const { lane } = target;
    const now = this.#effects.clock();
    this.#running[standing] -= 1;
    lane.traffic.running[standing] -= 1;
    target.running -= 1;
    target.usedAt = now;
    this.#learn(target, ending);
    this.#letGo(lane);
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
    for (const standing of this.#order) this.#rings[standing].clear();
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

  #target({ account: id, url, isLook = false }: Send, { origin, pathname, search }: UrlParts): Target {
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
    const known = lane.targets.get(url);
    if (known !== undefined) return known;
    const standing = this.#remembered.get(nameOf(id, url)) ?? (isLook ? 'hangs' : 'unknown');
    return lane.add(url, `${pathname}${search}`, this.#limits.startPerUrl, standing);
  }

  #ring({ standing }: Target): Ring {
    return this.#rings[standing];
  }

  #stands(target: Target, standing: Standing): void {
    if (target.standing === standing) return;
    const had = this.#ring(target).delete(target);
    target.standing = standing;
    if (had) this.#ring(target).add(target);
  }

  #isFull(target: Target): boolean {
    return !target.lane.hasPlace(target, this.#limits.maxWaitingPerOrigin, ({ waiting }) => waiting.length);
  }

  /** Whether its lane has a place for one more attempt to it. */
  #hasPlace(target: Target): boolean {
    if (target.running >= target.limit) return false;
    return target.lane.hasPlace(target, this.#limits.maxPerOrigin, ({ running }) => running);
  }

  #scheduleRound(): void {
    for (const standing of STANDINGS) this.#roomless[standing] = 0;
    if (this.#order.some((standing) => this.#rings[standing].size > 0)) this.#soonRound();
  }

  #round(): void {
    this.#order.push(...this.#order.splice(0, 1));
    for (const standing of this.#order) this.#roundOf(standing);
  }

  #roundOf(standing: Standing): void {
    const ring = this.#rings[standing];
    let turns = 0;
    // Once all have been looked at nothing is left to find, until something ends, comes, or stands otherwise.
    while (turns < TURNS_MAX && this.#hasRoom(standing, NONE) && this.#roomless[standing] < ring.size) {
      const target = ring.next();
      if (target === undefined) return;
      if (!this.#hasPlace(target)) {
        target.lane.held.push(target);
        this.#roomless[standing] = 0;
        continue;
      }
      if (this.#hasRoom(standing, target.lane.traffic.running)) {
        this.#start(target);
        turns = 0;
        this.#roomless[standing] = 0;
      } else {
        turns += 1;
        this.#roomless[standing] += 1;
        ring.add(target);
      }
    }
    if (turns === TURNS_MAX) this.#nextRound();
  }

  /** Whether whoever has so many attempts under way may take room for one more, to a target of a standing. */
  #hasRoom(standing: Standing, own: Running): boolean {
    return hasRoom(standing, this.#limits.maxInFlight, this.#running, own);
  }

  #start(target: Target): void {
    const item = target.waiting.shift();
    if (item === undefined) return;
    const { lane, standing } = target;
    this.#running[standing] += 1;
    lane.traffic.running[standing] += 1;
    target.running += 1;
    // Before it starts: where that ends at once, the rest stands as its target does then, and a round looks at it.
    if (target.waiting.length > 0) this.#ring(target).add(target);
    this.#effects.start({ send: item.send, target, standing });
  }

  #learn(target: Target, ending: Ending): void {
    const { startPerUrl, maxPerOrigin } = this.#limits;
    if (ending === 'timeout') {
      target.limit = startPerUrl;
      this.#noneWaits(target);
      this.#stands(target, 'hangs');
      for (const item of target.waiting.splice(0)) this.#effects.putOff(item.send.token);
      return;
    }
    if (target.standing === 'hangs') this.#stands(target, 'unknown');
    if (ending === 'failed') {
      target.limit = Math.max(startPerUrl, Math.floor(target.limit / 2));
    } else if (ending !== 'cut' && target.waiting.length > 0 && target.limit < maxPerOrigin) {
      target.limit += 1;
    }
  }

  /** There may be a place for those that had none. */
  #letGo({ held }: Lane): void {
    for (const target of held.splice(0)) this.#ring(target).add(target);
  }

  #sweepLane(lane: Lane, now: number): void {
    const { idleMs, maxWaitMs } = this.#limits;
    const before = lane.targets.size;
    for (const target of lane.targets.values()) {
      this.#putOffStale(target, now - maxWaitMs);
      if (target.running > 0 || target.waiting.length > 0 || now - target.usedAt < idleMs) continue;
      lane.targets.delete(target.url);
      const standing = target.standing === 'answers' ? 'rested' : target.standing;
      this.#remembered.set(nameOf(lane.traffic.id, target.url), standing);
    }
    // The parts of those that stay have grown.
    if (lane.targets.size < before) this.#letGo(lane);
  }

  #putOffStale(target: Target, before: number): void {
    const { waiting } = target;
    let [oldest] = waiting;
    while (oldest !== undefined && oldest.since < before) {
      waiting.shift();
      this.#effects.putOff(oldest.send.token);
      [oldest] = waiting;
    }
    if (waiting.length === 0) this.#noneWaits(target);
  }

  #noneWaits(target: Target): void {
    if (!this.#ring(target).delete(target)) removeFrom(target.lane.held, target);
  }
}

function nameOf(account: string, url: string): string {
  return `${account} ${url}`;
}
