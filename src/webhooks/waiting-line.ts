/**
 * What waits behind targets that don't keep up: in the store, outside the due index, until a look at the target shows
 * that it answers.
 *
 * 1. A look takes one delivery from behind its target. While that times out, the next look comes later and later;
 *    once anything else comes of it, more are taken, twice as many each time, as fast as they end.
 * 2. What is to wait goes into the store together: that of one turn, and what comes while a write is under way.
 * 3. That many wait behind a target that hangs is told to ops beside it all; where that fails, it is told again later.
 * 4. A look that nobody ends, and what its process had taken, is found again by others.
 */
import { textOfTime } from '../domain/time.ts';
import { itemFor } from '../engine/attention/item.ts';
import type { Room } from '../engine/claims/room.ts';
import { surely } from '../engine/claims/settler.ts';
import type { Engine } from '../engine/engine.ts';
import { type Backlog, type PutBehind, targetId } from '../engine/store/backlog.ts';
import type { ClaimOf } from '../engine/store/due.ts';
import type { AttentionItem } from '../engine/store.ts';
import { type Later, later, pause, turn } from '../waiting.ts';
import type { TargetState, Targets } from './targets.ts';

export interface WaitingLineOptions {
  backlog: Backlog;
  targets: Targets;
  room: Room;
  attention: Pick<Engine, 'note' | 'withdraw'>;
  now(): number;
  /** Starts what was taken from behind a target; resolves once all of it is counted as in hand. */
  start(claims: readonly ClaimOf<'delivery'>[]): Promise<void>;
  /** Something went wrong; what it was about is found again. */
  onTrouble(error: unknown): void;
}

/** The most that goes behind its targets in one write. */
const PUT_TOGETHER = 1_000;
/** Looks that a process has at the same time: as many as the sender has requests to URLs that hang. */
const MOST_LOOKS = 192;
/** The most of one target that is taken from behind it and hasn't ended. */
const WIDEST = 512;
/** The most that is taken at a time. */
const TAKE_TOGETHER = 64;
/** A target that hangs and behind which more wait is somebody's case. */
const MANY = 1_000;
/** Until what could not be put behind its target is put there again. */
const AGAIN_MS = 1_000;
/** When no room is left. */
const NO_ROOM_MS = 1_000;

function hangingItem({ target }: TargetState, now: number): AttentionItem {
  const { account, url } = target;
  const since = textOfTime(now);
  const data = { waiting: MANY };
  return itemFor('URL_HANGS', { id: targetId(target), since, about: { account, url }, data });
}

interface Waiting {
  state: TargetState;
  claim: ClaimOf<'delivery'>;
}

/** What goes behind its targets in one write. */
interface Group {
  waiting: Waiting[];
  isUnderWay: boolean;
  written: Later<void>;
}

export class WaitingLine {
  readonly #options: WaitingLineOptions;
  /** What waits to be put behind its target, as it is written together. */
  #groups: Group[] = [];
  #putting: Promise<void> | null = null;
  /** Resolves once ops are told of all that they are to be told now. */
  #told: Promise<unknown> = Promise.resolve();
  readonly #lookedAfter = new Set<TargetState>();
  /** Resolves once those whose time had come are looked after: how many more may be is known then. */
  #lookedFor: Promise<void> = Promise.resolve();
  /** Whoever asks for a look before it begins has the same one. */
  #nextLook: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: WaitingLineOptions) {
    this.#options = options;
  }

  /** Ends a claim and puts its delivery behind its target. */
  put(state: TargetState, claim: ClaimOf<'delivery'>): void {
    state.hold();
    let group = this.#groups.at(-1);
    if (group === undefined || group.isUnderWay || group.waiting.length >= PUT_TOGETHER) {
      group = { waiting: [], isUnderWay: false, written: later() };
      this.#groups.push(group);
    }
    group.waiting.push({ state, claim });
    this.#putting ??= this.#putAll();
  }

  /** Resolves once what waits now is put behind its target. More may come all the time, and isn't waited for. */
  async allPut(): Promise<void> {
    await this.#groups.at(-1)?.written.promise;
  }

  async #putAll(): Promise<void> {
    await turn();
    for (let group = this.#groups[0]; group !== undefined; group = this.#groups[0]) {
      group.isUnderWay = true;
      try {
        await this.#putTogether(group.waiting);
      } catch (error) {
        this.#options.onTrouble(error);
        // They are in nobody's hands but ours: what is not written stays in line, and counts as in hand.
        if (!this.#isClosed) {
          await pause(AGAIN_MS);
          continue;
        }
      }
      this.#groups.shift();
      this.#options.room.release(group.waiting.length);
      group.written.resolve();
    }
    this.#putting = null;
  }

  async #putTogether(waiting: readonly Waiting[]): Promise<void> {
    const { backlog, now } = this.#options;
    const byTarget = new Map<TargetState, ClaimOf<'delivery'>[]>();
    for (const { state, claim } of waiting) {
      const claims = byTarget.get(state);
      if (claims === undefined) byTarget.set(state, [claim]);
      else claims.push(claim);
    }
    const states = [...byTarget.keys()];
    // What is only too much at once is taken up again as soon as there is room.
    const waits = [...byTarget].map(([state, claims]): PutBehind => {
      return { target: state.target, claims, lookAt: now() + (state.isChoked ? state.delayMs : 0) };
    });
    const counts = await surely(() => backlog.put(waits));
    if (states.some(({ isChoked, isLookedAfter }) => !isChoked && !isLookedAfter)) void this.look();
    for (const [index, state] of states.entries()) this.#noteIfCase(state, counts[index] ?? 0);
  }

  /** Many that wait behind a target which answers are no case: only the sending is slow. */
  #noteIfCase(state: TargetState, count: number): void {
    if (count <= MANY || state.hangs !== true || state.isNoted === true) return;
    const item = hangingItem(state, this.#options.now());
    this.#tell(state, true, () => this.#options.attention.note([item]));
  }

  #withdrawIfNone(state: TargetState, count: number): void {
    if ((count > MANY && state.hangs !== false) || state.isNoted === false) return;
    const item = { kind: 'hanging', id: targetId(state.target) } as const;
    this.#tell(state, false, () => this.#options.attention.withdraw([item]));
  }

  /** Tells ops in turn, beside what goes behind its target and comes from there, which waits for none of it. */
  #tell(state: TargetState, isNoted: boolean, work: () => Promise<unknown>): void {
    state.isNoted = isNoted;
    this.#told = this.#told.then(work).catch((error: unknown) => {
      // Whether it is noted isn't known now: the next put behind the target, or the next look at it, tells again.
      state.isNoted = null;
      this.#options.onTrouble(error);
    });
  }

  /** Looks after the targets whose time has come, once those before have theirs; doesn't wait for what comes of it. */
  look(): Promise<void> {
    this.#nextLook ??= this.#lookedFor.then(() => {
      this.#nextLook = null;
      this.#lookedFor = this.#claimLooks();
      return this.#lookedFor;
    });
    return this.#nextLook;
  }

  async #claimLooks(): Promise<void> {
    const { backlog, targets, now, onTrouble } = this.#options;
    targets.forgetIdle();
    try {
      for (let free = MOST_LOOKS - this.#lookedAfter.size; free > 0 && !this.#isClosed; ) {
        const claimed = await backlog.claimLooks(now(), free);
        // A look that takes long is due again. It is under way still, and in no other's way.
        const others = claimed
          .map(({ account, url }) => targets.of(account, url))
          .filter(({ isLookedAfter }) => !isLookedAfter);
        for (const state of others) void this.#lookAfter(state);
        if (claimed.length < free) return;
        free -= others.length;
      }
    } catch (error) {
      onTrouble(error);
    }
  }

  /** An answer came from a target that was choked: there is no need to wait for its look. */
  async lookNow({ target }: TargetState): Promise<void> {
    const { backlog, now, onTrouble } = this.#options;
    try {
      await backlog.lookAgain(target, now());
      await this.look();
    } catch (error) {
      onTrouble(error);
    }
  }

  async #lookAfter(state: TargetState): Promise<void> {
    const { backlog, onTrouble } = this.#options;
    state.isLookedAfter = true;
    this.#lookedAfter.add(state);
    try {
      const at = await this.#takeAll(state);
      if (!this.#isClosed) await surely(() => backlog.lookAgain(state.target, at));
    } catch (error) {
      onTrouble(error);
    } finally {
      state.isLookedAfter = false;
      // What was looked after when the line closed is given back there.
      if (!this.#isClosed) this.#lookedAfter.delete(state);
    }
    // What came while the last was taken.
    if (!state.isChoked && !this.#isClosed) await this.look();
  }

  /** Takes from behind a target until nothing is left or it times out; when to look again, ms. */
  async #takeAll(state: TargetState): Promise<number> {
    const { now } = this.#options;
    const { chokes } = state;
    // Where others of it are under way, they are the probe.
    let width = state.isChoked ? 1 : Math.min(WIDEST, Math.max(1, Math.floor(state.inHand / 2)));
    await state.below(width);
    while (!this.#isClosed && state.chokes === chokes) {
      const taken = await this.#takeSome(state, width - state.inHand);
      if (taken === null) return now() + NO_ROOM_MS;
      if (taken === 0) {
        state.letGo();
        return now();
      }
      await state.below(Math.ceil(width / 2));
      width = Math.min(2 * width, WIDEST);
    }
    return now() + state.delayMs;
  }

  /** Starts at most so many from behind a target; how many, or null where there is no room. */
  async #takeSome(state: TargetState, most: number): Promise<number | null> {
    const { backlog, room, now, start } = this.#options;
    const reserved = room.reserveUpTo(Math.min(most, TAKE_TOGETHER));
    if (reserved === 0) return null;
    let taken: Awaited<ReturnType<Backlog['take']>>;
    try {
      taken = await surely(() => backlog.take(state.target, now(), reserved));
    } finally {
      room.release(reserved);
    }
    const started = start(taken.claims);
    this.#noteIfCase(state, taken.left);
    this.#withdrawIfNone(state, taken.left);
    await started;
    return taken.claims.length;
  }

  /** Looks after nothing more; resolves once what was to wait is in the store, and its looks are anybody's. */
  async close(): Promise<void> {
    const { backlog, now, onTrouble } = this.#options;
    this.#isClosed = true;
    await this.#putting;
    await this.#told;
    // Those that were being claimed meanwhile are among them.
    await this.#lookedFor;
    const targets = [...this.#lookedAfter].map(({ target }) => target);
    await Promise.all(targets.map((target) => backlog.lookAgain(target, now()))).catch(onTrouble);
  }
}
