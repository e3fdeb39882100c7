/**
 * Watches the clock that due times go by. Where it was set back, or had been ahead in a former process, what became
 * due by the wrong time is brought back, and accounts whose last entry lies ahead are noted. It may be the clock that
 * was set back that is wrong, as where a machine boots with an old time: once it is set forward, what was brought back
 * has its former time again, before anything is claimed by the new one.
 */
import type { Engine } from '../engine/engine.ts';
import { SET_MS } from '../engine/store/due.ts';
import type { Marks } from '../engine/store/marks.ts';
import type { Store } from '../engine/store.ts';
import type { RecurringJob } from './recurring-job.ts';

export interface ClockWatchOptions {
  store: Pick<Store, 'due' | 'marks'>;
  engine: Pick<Engine, 'checkClock'>;
  /** The clock, ms since 1970. */
  now(): number;
  /** Tells ops in a sentence. */
  onNotice(text: string): void;
}

const LOOK_MS = 1_000;
/** How often the time is put down for the next process. */
const MARK_MS = 10_000;
const MARK = 'clock';
/** That the clock was set back: `SetBack` as JSON, or its `since` alone. */
const SET_BACK = 'clock set back';
/** Of several processes each sees it at its own look, and brings back what is left. */
const ALL_HAVE_SEEN_MS = 5_000;
const REWINDS = 3;
/** What was made so long after the last look may still be by the clock of then. */
const MADE_SINCE_MS = 60_000;
/** A clock that goes on for so long was rightly set back, and what was brought back by it has come. */
const BELIEVED_MS = 7 * 24 * 60 * 60_000;

/** A clock that was set back, times in ms. */
interface SetBack {
  /** What it showed then: first, where it was set back again. */
  since: number;
  /** By how much it was set forward since it was set back last, in all. */
  forward: number;
  /** Whether what was due is brought back, as far as the time is put down that tells the next process of it. */
  isDone: boolean;
}

function setBackIn(text: string | null): SetBack | null {
  if (text === null) return null;
  const told: number | SetBack = JSON.parse(text);
  return typeof told === 'number' ? { since: told, forward: 0, isDone: true } : told;
}

function inSeconds(ms: number): number {
  return Math.round(ms / 1000);
}

/** Puts the time down for the next process, for who makes things due and doesn't watch the clock. */
export async function putClockDown(marks: Pick<Marks, 'mark' | 'putMark'>, now: number): Promise<void> {
  const mark = await marks.mark(MARK);
  // A clock that was set back meanwhile is the next one's to find.
  if (mark === null || Number(mark) <= now) await marks.putMark(MARK, String(now));
}

export class ClockWatch {
  readonly #options: ClockWatchOptions;
  /** The clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt: number | null = null;
  #markedAt = Number.NEGATIVE_INFINITY;
  /** How many looks still bring back: what was being written when the clock was set comes after the first. */
  #rewinds = 0;
  #following: Promise<void> | null = null;
  /** A set-back that the time that is put down doesn't tell of yet. */
  #notDone: SetBack | null = null;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  get jobs(): RecurringJob[] {
    return [{ name: 'clock', everyMs: LOOK_MS, run: () => this.look() }];
  }

  /** The clock, for whoever claims what is due by it: where it was set forward, that has been followed. */
  async followed(): Promise<number> {
    for (;;) {
      const now = this.#options.now();
      if (this.#following === null && this.#isFollowed(now)) return now;
      await this.#follow();
    }
  }

  #isFollowed(now: number): boolean {
    return this.#setAt !== null && now - performance.now() - this.#setAt <= SET_MS;
  }

  /** Those who ask meanwhile wait for the same. */
  #follow(): Promise<void> {
    this.#following ??= this.#followOnce().finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  async #followOnce(): Promise<void> {
    const { now, onNotice } = this.#options;
    const setAt = now() - performance.now();
    const ms = await this.#aheadBefore(setAt);
    if (ms > SET_MS) {
      await this.#wasSetBack();
      onNotice(
        `the clock was set back by ${inSeconds(ms)} s: what was due by the former time is brought back`,
      );
    } else if (ms < -SET_MS) await this.#wentForward(-ms);
    this.#setAt = setAt;
  }

  async #wasSetBack(): Promise<void> {
    const now = this.#options.now();
    const before = await this.#setBack();
    // Set back again, by a little or seen by another process: what was brought back before may go with it.
    const goesOn = before !== null && before.since <= now && now - before.since <= BELIEVED_MS;
    await this.#putSetBack({ since: goesOn ? before.since : now, forward: 0, isDone: false });
    this.#rewinds = REWINDS;
    // The next process knows that it was as long as nothing is brought back.
    this.#markedAt = Number.NEGATIVE_INFINITY;
  }

  async #wentForward(ms: number): Promise<void> {
    const { store, onNotice } = this.#options;
    const now = this.#options.now();
    const back = await this.#setBack();
    if (back !== null && now - ms - back.since <= BELIEVED_MS) {
      const forward = back.forward + ms;
      const isOwn = this.#setAt !== null;
      // What the right clock has made due since stays as it is: before the first look of a process there is none.
      const until = isOwn ? now - ms + MADE_SINCE_MS : now;
      const since = back.since - ALL_HAVE_SEEN_MS;
      const count = await store.due.unwind({ ms: forward, since, until });
      const what = `the clock went forward by ${inSeconds(ms)} s: what was brought back has its former time again`;
      if (count > 0) onNotice(what);
      // That nothing ran for a while is no step of the clock.
      if (isOwn) await this.#putSetBack({ ...back, forward });
    }
    // A process that dies soon leaves what it wrote by this time: the next one must know, should it be wrong.
    await this.#mark();
  }

  async #setBack(): Promise<SetBack | null> {
    return setBackIn(await this.#options.store.marks.mark(SET_BACK));
  }

  async #putSetBack(setBack: SetBack): Promise<void> {
    await this.#options.store.marks.putMark(SET_BACK, JSON.stringify(setBack));
    this.#notDone = setBack.isDone ? null : setBack;
  }

  async look(): Promise<void> {
    const { store, engine, now } = this.#options;
    await this.#follow();
    if (this.#rewinds > 0) {
      await store.due.rewind(now());
      this.#rewinds -= 1;
      engine.checkClock();
    }
    if (performance.now() - this.#markedAt >= MARK_MS) await this.#mark();
  }

  async #mark(): Promise<void> {
    const { store, now } = this.#options;
    await store.marks.putMark(MARK, String(now()));
    this.#markedAt = performance.now();
    const isBroughtBack = this.#rewinds < REWINDS;
    if (this.#notDone !== null && isBroughtBack) await this.#putSetBack({ ...this.#notDone, isDone: true });
  }

  /** By how many ms the clock was ahead until now: at the last look, or at the last one of a former process. */
  async #aheadBefore(setAt: number): Promise<number> {
    const { store, now } = this.#options;
    if (this.#setAt !== null) return this.#setAt - setAt;
    const back = await this.#setBack();
    if (back?.isDone === false) {
      // The mark is still of the time before: what was brought back is due by the time since, and not all of it may be.
      this.#rewinds = REWINDS;
      this.#notDone = back;
      return back.since - now();
    }
    const mark = await store.marks.mark(MARK);
    return mark === null ? 0 : Number(mark) - now();
  }
}
