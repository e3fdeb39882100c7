/**
 * Watches the clock that due times go by. Where it was set back, or had been ahead in a former process, what became
 * due by the wrong time is brought back, and accounts whose last entry lies ahead are noted. It may be the clock that
 * was set back that is wrong, as where a machine boots with an old time: where it is set forward, what was brought back
 * is due later by as much, up to its former time, before anything is claimed by the new one. That nothing ran for a
 * while can't be told from that at a start: what was brought back waits as long again, and so isn't early.
 */
import type { Engine } from '../engine/engine.ts';
import { SET_MS } from '../engine/store/due.ts';
import type { Marks } from '../engine/store/marks.ts';
import type { Store } from '../engine/store.ts';
import type { RecurringJob } from './recurring-job.ts';
import { mayBeWrong, type SeenStep, type SetBack, setBackIn, stepsOf, withStep } from './set-back.ts';

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
/** That the clock was set back: `SetBack` as JSON. */
const SET_BACK = 'clock set back';
/** Of several processes each sees it at its own look, and brings back what is left. */
const ALL_HAVE_SEEN_MS = 5_000;
const REWINDS = 3;
/** What was made so long after the last look may still be by the clock of then. */
const MADE_SINCE_MS = 60_000;

function inSeconds(ms: number): number {
  return Math.round(ms / 1000);
}

/** Puts the time down for the next process, for who makes things due and doesn't watch the clock. */
export async function putClockDown(marks: Pick<Marks, 'mark' | 'putMark'>, now: number): Promise<void> {
  const mark = await marks.mark(MARK);
  const back = setBackIn(await marks.mark(SET_BACK));
  // A clock that was set back meanwhile is the next one's to find, and one that was set right to follow.
  const isFollowed = mark === null || (Number(mark) <= now && (back === null || !mayBeWrong(back, now)));
  if (isFollowed) await marks.putMark(MARK, String(now));
}

export class ClockWatch {
  readonly #options: ClockWatchOptions;
  /** The clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt: number | null = null;
  /** What the clock showed at the last look. */
  #shown = 0;
  #markedAt = Number.NEGATIVE_INFINITY;
  /** How many looks still bring back: what was being written when the clock was set comes after the first. */
  #rewinds = 0;
  #following: Promise<void> | null = null;
  /** Whether the time that is put down tells of the last set-back. */
  #isDone = true;

  /**
   * Other values of `#setAt` that were seen and couldn't be followed yet, in order: a process's first is of its first
   * look, since a database's clock isn't known before. What was made meanwhile may be by any of them.
   */
  readonly #seen: number[] = [];

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  #see(): void {
    const setAt = this.#options.now() - performance.now();
    const before = this.#seen.at(-1) ?? this.#setAt;
    if (before === null || Math.abs(setAt - before) > SET_MS) this.#seen.push(setAt);
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
    return this.#setAt !== null && this.#seen.length === 0 && now - performance.now() - this.#setAt <= SET_MS;
  }

  /** Those who ask meanwhile wait for the same. */
  #follow(): Promise<void> {
    this.#following ??= this.#followOnce().finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  async #followOnce(): Promise<void> {
    do {
      this.#see();
      const [oldest, ...later] = this.#seen;
      const now = this.#options.now();
      if (oldest === undefined || later.length === 0) await this.#followTo(now, now - performance.now());
      else await this.#followTo(Math.round(oldest + performance.now()), oldest);
      this.#seen.shift();
    } while (this.#seen.length > 0);
  }

  async #followTo(shown: number, setAt: number): Promise<void> {
    const { ms, from } = await this.#aheadBefore(shown, setAt);
    if (ms > SET_MS) {
      await this.#wasSetBack(shown);
      this.#options.onNotice(
        `the clock was set back by ${inSeconds(ms)} s: what was due by the former time is brought back`,
      );
    } else if (ms < -SET_MS) await this.#wentForward(-ms, from, shown);
    this.#setAt = setAt;
    this.#shown = shown;
  }

  async #wasSetBack(now: number): Promise<void> {
    await this.#changeSetBack((before) => {
      // Set back again, by a little or seen by another process: what was brought back before may go with it.
      const goesOn = before !== null && before.since <= now && mayBeWrong(before, now);
      const since = goesOn ? before.since : now;
      return { since, last: now, steps: [], number: before?.number ?? 0, isDone: false };
    });
    this.#isDone = false;
    this.#rewinds = REWINDS;
    // The next process knows that it was as long as nothing is brought back.
    this.#markedAt = Number.NEGATIVE_INFINITY;
  }

  async #wentForward(ms: number, from: number, to: number): Promise<void> {
    const { onNotice } = this.#options;
    // What the right clock has made due since stays as it is.
    const until = to - ms + MADE_SINCE_MS;
    const seen: SeenStep = { from, to, ms, until };
    // Put down before it is followed: who dies amid that leaves it to be followed once more, and no further.
    const back = await this.#changeSetBack((before) =>
      before !== null && mayBeWrong(before, to - ms) ? withStep(before, seen) : null,
    );
    if (back !== null && (await this.#putOff(back, seen)) > 0)
      onNotice(
        `the clock went forward by ${inSeconds(ms)} s: what was brought back is put off by as much, up to its former time`,
      );
    // A process that dies soon leaves what it wrote by this time: the next one must know, should it be wrong.
    await this.#mark();
  }

  /** How many things were put off by the steps that what was seen is made of. */
  async #putOff(back: SetBack, seen: SeenStep): Promise<number> {
    const since = back.since - ALL_HAVE_SEEN_MS;
    let count = 0;
    for (const { number, ms, until } of stepsOf(back, seen))
      count += await this.#options.store.due.unwind({ number, ms, since, until });
    return count;
  }

  /** What is kept of a set-back after a change of it, which is made upon that of no other process; null: of none. */
  async #changeSetBack(change: (before: SetBack | null) => SetBack | null): Promise<SetBack | null> {
    const { marks } = this.#options.store;
    for (;;) {
      const text = await marks.mark(SET_BACK);
      const before = setBackIn(text);
      const after = change(before);
      if (after === null || after === before) return after;
      if (await marks.swapMark(SET_BACK, text, JSON.stringify(after))) return after;
    }
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
    if (this.#isDone || !isBroughtBack) return;
    await this.#changeSetBack((back) => back && { ...back, isDone: true });
    this.#isDone = true;
  }

  /**
   * By how many ms the clock was ahead until now, and what it showed then: at the last look, or at the last one of a
   * former process.
   */
  async #aheadBefore(shown: number, setAt: number): Promise<{ ms: number; from: number }> {
    if (this.#setAt !== null) return { ms: this.#setAt - setAt, from: this.#shown };
    const back = setBackIn(await this.#options.store.marks.mark(SET_BACK));
    const from = await this.#shownBefore(shown, back);
    const to = back?.steps.at(-1)?.to ?? from;
    if (back === null || to - Math.max(from, shown) <= SET_MS) return { ms: from - shown, from };
    // Who saw that step died before the time was put down: some things may be due by it, and all are, before it is undone.
    await this.#putOff(back, { from, to, ms: to - from, until: to });
    return { ms: to - shown, from: to };
  }

  /** What the clock showed at the last look of a former process, as far as that was put down. */
  async #shownBefore(shown: number, back: SetBack | null): Promise<number> {
    if (back?.isDone === false) {
      // The mark is still of the time before: what was brought back is due by the time since, and not all of it may be.
      this.#rewinds = REWINDS;
      this.#isDone = false;
      return back.last;
    }
    const mark = await this.#options.store.marks.mark(MARK);
    return mark === null ? shown : Number(mark);
  }
}
