/**
 * Claims in hand: how many there may be, the work on them beside each other, and their ends.
 */
import { again, later, turn } from '../waiting.ts';
import type { Claim, Due } from './store/due.ts';
import { type DueIndex, type Settlement, StoreUnavailable } from './store.ts';

const TRIES = 8;
const FIRST_PAUSE_MS = 50;

/** Does it again where the store can't be reached; @throws StoreUnavailable where it stays away for long. */
export function surely<Result>(work: () => Promise<Result>): Promise<Result> {
  return again(work, (error, attempt) => {
    const isAway = error instanceof StoreUnavailable && attempt < TRIES;
    return isAway ? FIRST_PAUSE_MS * 2 ** attempt : null;
  });
}

/** A bound on what is in hand; what is to be claimed is reserved first. */
export class Room {
  readonly #most: number;
  #free: number;

  constructor(most: number) {
    this.#most = most;
    this.#free = most;
  }

  get taken(): number {
    return this.#most - this.#free;
  }

  get free(): number {
    return Math.max(0, this.#free);
  }

  /** All of it or nothing; false where there is no room for all. */
  reserve(count: number): boolean {
    if (count > this.free) return false;
    this.#free -= count;
    return true;
  }

  /** As much as there is room for; how much that is. */
  reserveUpTo(count: number): number {
    const reserved = Math.min(count, this.free);
    this.#free -= reserved;
    return reserved;
  }

  /** What is in hand already. */
  occupy(count: number): void {
    this.#free -= count;
  }

  release(count: number): void {
    this.#free += count;
  }
}

/** What of a room sweeps may claim: the rest is left to what is fresh. */
export type ClaimRoom = Pick<Room, 'reserveUpTo' | 'release'>;

interface SettlingGroup {
  settlements: Settlement[];
  parked: Claim[];
  /** Are told once the write has come to its end. */
  onWritten: ((isWritten: boolean) => void)[];
  written: Promise<boolean>;
}

/**
 * Ends claims: those of one turn of the event loop, and those that come while a write is under way, in one write.
 * It is tried again where the store can't be reached.
 */
export class Settler {
  readonly #due: Pick<DueIndex, 'settle' | 'park'>;
  readonly #onTrouble: (error: unknown) => void;
  #group: SettlingGroup | null = null;
  #underWay: Promise<unknown> = Promise.resolve();

  /** `onTrouble` gets what kept a write from being done: what it was about is found again. */
  constructor(due: Pick<DueIndex, 'settle' | 'park'>, onTrouble: (error: unknown) => void) {
    this.#due = due;
    this.#onTrouble = onTrouble;
  }

  /** Resolves once the store was told; false where it could not be. */
  settle(settlement: Settlement): Promise<boolean> {
    const group = this.#present();
    group.settlements.push(settlement);
    return group.written;
  }

  /** As `settle`, without a promise for each: `ended` gets what that would resolve to, and doesn't throw. */
  settleThen(settlement: Settlement, ended: (isWritten: boolean) => void): void {
    const group = this.#present();
    group.settlements.push(settlement);
    group.onWritten.push(ended);
  }

  /** As `settle`. */
  park(claim: Claim): Promise<boolean> {
    const group = this.#present();
    group.parked.push(claim);
    return group.written;
  }

  #present(): SettlingGroup {
    if (this.#group === null) {
      const group: SettlingGroup = {
        settlements: [],
        parked: [],
        onWritten: [],
        written: Promise.resolve(false),
      };
      group.written = this.#write(group, this.#underWay);
      this.#underWay = group.written;
      this.#group = group;
    }
    return this.#group;
  }

  async #write(group: SettlingGroup, before: Promise<unknown>): Promise<boolean> {
    await turn();
    await before;
    this.#group = null;
    const isWritten = await this.#tell(group);
    for (const ended of group.onWritten) ended(isWritten);
    return isWritten;
  }

  async #tell({ settlements, parked }: SettlingGroup): Promise<boolean> {
    try {
      if (settlements.length > 0) await surely(() => this.#due.settle(settlements));
      if (parked.length > 0) await surely(() => this.#due.park(parked));
      return true;
    } catch (error) {
      this.#onTrouble(error);
      return false;
    }
  }

  /** Resolves once the store was told of all that came until now: each group waits for the one before. */
  async idle(): Promise<void> {
    await this.#underWay;
  }
}

/**
 * What became of a claimed thing: what is due instead, or null; `park` where its transaction is quarantined; `kept`
 * where its claim goes on, in other hands; `ended` where it ended in another write.
 */
export type Outcome = { next: Due | null } | 'park' | 'kept' | 'ended';

export const DONE: Outcome = { next: null };

export interface HandsOptions<Item> {
  settler: Settler;
  /** The most that is in hand. */
  most: number;
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
 * So many times the room that it leaves an account has in hand at the most, where more of its own comes fresh: a third
 * stays free. Sweeps leave a quarter, so that what an account has waiting in the store comes before what it adds.
 */
const FRESH_SHARE = 2;
const LEFT_BY_SWEEPS = 1 / 4;

/** One account's things: those that wait for their turn, and how many are worked on. */
interface Queue<Item> {
  waiting: { item: Item; ended: () => void }[];
  working: number;
}

/**
 * Works on claimed things beside each other and settles each when its work ends: none waits for another's end. Accounts
 * take turns, and each leaves a part of what is free to others: where all of its work hangs, theirs goes on.
 */
export class Hands<Item extends { claim: Claim }> {
  readonly room: Room;
  readonly toClaim: ClaimRoom;
  readonly #options: HandsOptions<Item>;
  readonly #queues = new Map<string, Queue<Item>>();
  /** Those in which something waits, in the order of their turns. */
  readonly #turns: Queue<Item>[] = [];
  readonly #inHand = new Set<Promise<void>>();
  #working = 0;

  constructor(options: HandsOptions<Item>) {
    this.room = new Room(options.most);
    const left = Math.floor(options.most * LEFT_BY_SWEEPS);
    this.toClaim = {
      reserveUpTo: (count) => this.room.reserveUpTo(Math.max(0, Math.min(count, this.room.free - left))),
      release: (count) => this.room.release(count),
    };
    this.#options = options;
  }

  /** Keeps room for what an account makes due, all of it or nothing: others' finds room beside it. */
  reserve(account: string, count: number): boolean {
    if (count === 0) return true;
    const { waiting, working } = this.#queues.get(account) ?? { waiting: [], working: 0 };
    const held = waiting.length + working + count;
    return held <= FRESH_SHARE * (this.room.free - count) && this.room.reserve(count);
  }

  /** Takes them in hand; resolves once all of them are settled. */
  async take(items: readonly Item[]): Promise<void> {
    if (items.length === 0) return;
    this.room.occupy(items.length);
    let left = items.length;
    const { promise, resolve } = later<void>();
    const ended = (): void => {
      this.room.release(1);
      left -= 1;
      if (left > 0) return;
      this.#inHand.delete(promise);
      resolve();
    };
    for (const item of items) this.#add(item, ended);
    this.#inHand.add(promise);
    this.#next();
    await promise;
  }

  /** Resolves once nothing is in hand. */
  async idle(): Promise<void> {
    while (this.#inHand.size > 0) await Promise.all(this.#inHand);
  }

  #add(item: Item, ended: () => void): void {
    const { account } = item.claim.due;
    const queue = this.#queues.get(account) ?? { waiting: [], working: 0 };
    this.#queues.set(account, queue);
    if (queue.waiting.push({ item, ended }) === 1) this.#turns.push(queue);
  }

  get isAnyWaiting(): boolean {
    return this.#turns.length > 0;
  }

  /** When the earliest of those that wait for their turn fell due, ms; `Infinity` where none waits. */
  get earliest(): number {
    const firsts = this.#turns.flatMap(({ waiting }) => waiting.slice(0, 1));
    return firsts.reduce((at, { item }) => Math.min(at, item.claim.due.at), Number.POSITIVE_INFINITY);
  }

  /** Begins at most so many of those that wait, as their accounts' turns come; each resolves once it is settled. */
  begin(count: number): Promise<void>[] {
    const begun: Promise<void>[] = [];
    while (begun.length < count) {
      const free = this.#options.atOnce - this.#working;
      const index = free > 0 ? this.#turns.findIndex(({ working }) => working < SHARE * free) : -1;
      const [queue] = index < 0 ? [] : this.#turns.splice(index, 1);
      const next = queue?.waiting.shift();
      if (queue === undefined || next === undefined) break;
      if (queue.waiting.length > 0) this.#turns.push(queue);
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
    if (queue.working === 0 && queue.waiting.length === 0) this.#queues.delete(item.claim.due.account);
    this.#next();
    if (outcome === 'kept' || outcome === 'ended') return;
    if (outcome === 'park') await settler.park(item.claim);
    else await settler.settle({ claim: item.claim, next: outcome.next, clock });
  }
}
