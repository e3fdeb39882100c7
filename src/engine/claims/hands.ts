/** Claims in hand: the work on them beside each other, and whose turn it is. */
import { later } from '../../waiting.ts';
import type { Claim, Due } from '../store/due.ts';
import { Room } from './room.ts';
import type { Settler } from './settler.ts';

/**
 * What became of a claimed thing: what is due instead, or null; `park` where its transaction is quarantined; `kept`
 * where its claim goes on, in other hands; `ended` where it ended in another write. `onSettled` hears whether what is due
 * instead counts, or another has the claim by now.
 */
export type Outcome = { next: Due | null; onSettled?: (counts: boolean) => void } | 'park' | 'kept' | 'ended';

export const DONE: Outcome = { next: null };

/**
 * The most in hand: where accounts have more in the store, what others have there is claimed behind that, as it is due.
 * Claims on a store that processes share are renewed again and again.
 */
const MOST_IN_HAND = { alone: 32_768, shared: 8_192 };

export function mostInHand(isShared = false): number {
  return isShared ? MOST_IN_HAND.shared : MOST_IN_HAND.alone;
}

/**
 * What comes fresh has a quarter of that: what waits in the store has been due for longer, and is most where accounts have
 * more than can be worked on.
 */
const FRESH_PART = 1 / 4;

/** The same where some of it comes fresh from its commit. */
export function partsInHand(isShared = false): { most: number; mostFresh: number } {
  const mostFresh = mostInHand(isShared) * FRESH_PART;
  return { most: mostInHand(isShared) - mostFresh, mostFresh };
}

export interface HandsOptions<Item> {
  settler: Settler;
  /** The most that is in hand of what sweeps claim. */
  most: number;
  /** The most of what comes fresh from its commit, besides: none where nothing is said. */
  mostFresh?: number;
  /** The most that is worked on at the same time; the rest waits for its turn. */
  atOnce: number;
  /** The clock by which `work` says what is due next, ms. */
  now(): number;
  /** None begins by itself: `begin` is told when, and how many. */
  isPaced?: boolean;
  /** Never rejects. */
  work(item: Item): Promise<Outcome>;
}

/** So many times what it leaves free an account has at the most: three quarters, where it is alone. */
const SHARE = 3;
/**
 * So many times the room for what is fresh that it leaves an account has in hand at the most, where more of its own comes
 * fresh: a third of that stays free. What was claimed for it counts, so that this comes before what it adds.
 */
const FRESH_SHARE = 2;

/** Of so many of an account's turns one is for what is fresh, as that has a quarter of the room, where both kinds wait. */
const TURNS = 4;

interface Waiting<Item> {
  item: Item;
  ended: () => void;
}

/** One account's things: those that wait for their turn, how many are worked on, and how many turns it has had. */
interface Queue<Item> {
  fresh: Waiting<Item>[];
  claimed: Waiting<Item>[];
  working: number;
  turns: number;
}

function newQueue<Item>(): Queue<Item> {
  return { fresh: [], claimed: [], working: 0, turns: 0 };
}

function waitingIn<Item>({ fresh, claimed }: Queue<Item>): number {
  return fresh.length + claimed.length;
}

/** Whichever's turn it is, or the other where none of it waits. */
function nextOf<Item>(queue: Queue<Item>): Waiting<Item> | undefined {
  const { fresh, claimed, turns } = queue;
  queue.turns += 1;
  const isFreshs = claimed.length === 0 || (fresh.length > 0 && turns % TURNS === 0);
  return (isFreshs ? fresh : claimed).shift();
}

/**
 * Works on claimed things beside each other and settles each when its work ends: none waits for another's end. Accounts
 * take turns, and each leaves a part of what is free to others: where all of its work hangs, theirs goes on. What is fresh
 * and what was claimed take turns, too: there is room again for others' of both kinds as soon as some of it has begun.
 */
export class Hands<Item extends { claim: Claim }> {
  /** For what sweeps claim: what comes fresh never takes it, however many accounts have more than can be worked on. */
  readonly room: Room;
  readonly fresh: Room;
  readonly #options: HandsOptions<Item>;
  readonly #queues = new Map<string, Queue<Item>>();
  /** Those in which something waits, in the order of their turns. */
  readonly #turns: Queue<Item>[] = [];
  readonly #inHand = new Set<Promise<void>>();
  #working = 0;
  #isClosed = false;

  constructor(options: HandsOptions<Item>) {
    this.room = new Room(options.most);
    this.fresh = new Room(options.mostFresh ?? 0);
    this.#options = options;
  }

  /** Nothing is to begin any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Keeps room for what an account makes due fresh, all of it or nothing: others' finds room beside it. */
  reserve(account: string, count: number): boolean {
    if (count === 0) return true;
    const queue = this.#queues.get(account) ?? newQueue<Item>();
    const held = waitingIn(queue) + queue.working + count;
    return held <= FRESH_SHARE * (this.fresh.free - count) && this.fresh.reserve(count);
  }

  /** Takes them in hand, claimed or fresh from their commit; resolves once all of them are settled. */
  async take(items: readonly Item[], isFresh = false): Promise<void> {
    if (items.length === 0 || this.#isClosed) return;
    const room = isFresh ? this.fresh : this.room;
    room.occupy(items.length);
    let left = items.length;
    const { promise, resolve } = later<void>();
    const ended = (): void => {
      room.release(1);
      left -= 1;
      if (left > 0) return;
      this.#inHand.delete(promise);
      resolve();
    };
    for (const item of items) this.#add({ item, ended }, isFresh);
    this.#inHand.add(promise);
    this.#next();
    await promise;
  }

  /** Resolves once nothing is in hand. */
  async idle(): Promise<void> {
    while (this.#inHand.size > 0) await Promise.all(this.#inHand);
  }

  /** What hasn't begun is left to whoever claims it next, as is what comes yet; resolves once nothing is in hand. */
  close(): Promise<void> {
    this.#isClosed = true;
    for (const room of [this.room, this.fresh]) room.close();
    for (const { fresh, claimed } of this.#turns.splice(0))
      for (const { ended } of [...fresh.splice(0), ...claimed.splice(0)]) ended();
    return this.idle();
  }

  #add(waiting: Waiting<Item>, isFresh: boolean): void {
    const { account } = waiting.item.claim.due;
    const queue = this.#queues.get(account) ?? newQueue();
    this.#queues.set(account, queue);
    (isFresh ? queue.fresh : queue.claimed).push(waiting);
    if (waitingIn(queue) === 1) this.#turns.push(queue);
  }

  get isAnyWaiting(): boolean {
    return this.#turns.length > 0;
  }

  /** When the earliest of those that wait for their turn fell due, ms; `Infinity` where none waits. */
  get earliest(): number {
    let earliest = Number.POSITIVE_INFINITY;
    // All of them: what fell due long before may be claimed behind what is fresh.
    for (const { fresh, claimed } of this.#turns)
      for (const waiting of [fresh, claimed])
        for (const { item } of waiting) earliest = Math.min(earliest, item.claim.due.at);
    return earliest;
  }

  /** Begins at most so many of those that wait, as their accounts' turns come; each resolves once it is settled. */
  begin(count: number): Promise<void>[] {
    const begun: Promise<void>[] = [];
    while (begun.length < count) {
      const free = this.#options.atOnce - this.#working;
      const index = free > 0 ? this.#turns.findIndex(({ working }) => working < SHARE * free) : -1;
      const [queue] = index < 0 ? [] : this.#turns.splice(index, 1);
      const next = queue && nextOf(queue);
      if (queue === undefined || next === undefined) break;
      if (waitingIn(queue) > 0) this.#turns.push(queue);
      this.#working += 1;
      queue.working += 1;
      begun.push(this.#workOn(next.item, queue).then(next.ended));
    }
    return begun;
  }

  #next(): void {
    if (this.#options.isPaced !== true) void this.begin(Number.POSITIVE_INFINITY);
  }

  async #workOn(item: Item, queue: Queue<Item>): Promise<void> {
    const { settler, work, now } = this.#options;
    const outcome = await work(item);
    const clock = now();
    this.#working -= 1;
    queue.working -= 1;
    if (queue.working === 0 && waitingIn(queue) === 0) this.#queues.delete(item.claim.due.account);
    this.#next();
    if (outcome === 'kept' || outcome === 'ended') return;
    if (outcome === 'park') {
      await settler.park(item.claim);
      return;
    }
    const { next, onSettled } = outcome;
    const ended = onSettled && ((_: boolean, counts: boolean): void => onSettled(counts));
    await settler.settle({ claim: item.claim, next, clock }, ended);
  }
}
