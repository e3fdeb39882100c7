/**
 * The looks at what needs a person: what has waited too long at the bank goes on the list, and what is on the list goes
 * once its cause is gone. Both go in bounded pages, and go on where they stood.
 */

import { holds } from '../engine/attention/list.ts';
import {
  BANK_WAITS,
  changedBefore,
  END_OF_TIME,
  type Says,
  type StuckRule,
  stuckAfter,
  stuckAmong,
  stuckItems,
  stuckMark,
} from '../engine/attention/stuck.ts';
import type { Engine } from '../engine/engine.ts';
import { hasWaiting } from '../engine/store/backlog.ts';
import type { AttentionItem, AttentionPlace, BankWait, ChangePlace, Store } from '../engine/store.ts';
import type { RecurringJob } from './recurring-job.ts';

export interface WatchOptions {
  engine: Pick<Engine, 'note'>;
  store: Pick<Store, 'journal' | 'attention' | 'backlog'>;
  now(): number;
  stuckAfterMs: number;
  /** What the bank says of an order, as far as this process has heard. */
  says: Says;
}

/** A change that lies further ahead was dated by a wrong clock. */
const AHEAD_MS = 60_000;
const LOOK_MS = 1_000;
const REVIEW_MS = 5_000;
const PAGE = 500;
/** Kinds whose causes may end without anybody saying so. */
const REVIEWED = ['stuck', 'quarantined', 'dead', 'clock', 'hanging'] as const;

export class Watch {
  readonly #options: WatchOptions;
  /** Up to where each wait was looked through: what changes comes behind it. */
  readonly #seen = new Map<BankWait, ChangePlace | null>();
  /** What of refunds is noted, by its mark: they are looked through again and again. In this pass, and the one before. */
  #noted = { now: new Set<string>(), before: new Set<string>() };
  /** When each change that lies ahead was seen first, by `performance.now`. */
  readonly #ahead = new Map<BankWait, Map<string, number>>();
  readonly #reviewed = new Map<(typeof REVIEWED)[number], AttentionPlace | null>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  #rule(): StuckRule {
    const { now, stuckAfterMs, says } = this.#options;
    return { now: now(), stuckAfterMs, says };
  }

  /** Notes what has become stuck since the last look; a page at a time. */
  async look(): Promise<void> {
    const { store, engine } = this.#options;
    const rule = this.#rule();
    for (const wait of BANK_WAITS) {
      // A clock that was set back may have what changes come before what was seen.
      const seen = this.#seen.get(wait) ?? null;
      const until = changedBefore(wait, rule);
      const after = seen !== null && seen.updatedAt < until ? seen : null;
      const records = await store.journal.waiting(wait, after, until, PAGE);
      const items = stuckAmong(records, wait, rule);
      const fresh = wait === 'refund' ? items.filter((item) => !this.#isNoted(item)) : items;
      const done = await store.attention.dismissed(fresh.map(stuckMark));
      const stuck = fresh.filter((_, index) => done[index] !== true);
      if (stuck.length > 0) await engine.note(stuck);
      if (wait === 'refund') this.#endPage(items, records.length < PAGE);
      this.#seen.set(wait, wait === 'refund' && records.length < PAGE ? null : (records.at(-1) ?? after));
      await this.#lookAhead(wait, rule.now, stuckAfter(wait, rule.stuckAfterMs));
    }
  }

  #isNoted(item: AttentionItem): boolean {
    const mark = stuckMark(item);
    return this.#noted.now.has(mark) || this.#noted.before.has(mark);
  }

  /** These are noted, or ops are done with them. */
  #endPage(refunds: readonly AttentionItem[], isLast: boolean): void {
    for (const item of refunds) this.#noted.now.add(stuckMark(item));
    if (isLast) this.#noted = { now: new Set(), before: this.#noted.now };
  }

  /** What changed at a time that is still to come, by a clock that was wrong, counts from when it was seen first. */
  async #lookAhead(wait: BankWait, now: number, afterMs: number): Promise<void> {
    const { store, engine } = this.#options;
    const from = { updatedAt: new Date(now + AHEAD_MS).toISOString(), id: '' };
    const records = await store.journal.waiting(wait, from, END_OF_TIME, PAGE);
    const ahead = new Map<string, number>();
    const items = records.flatMap((record) => stuckItems(record, this.#options.says));
    for (const item of items.filter(({ since }) => since >= from.updatedAt)) {
      const mark = stuckMark(item);
      const firstSeen = this.#ahead.get(wait)?.get(mark) ?? performance.now();
      ahead.set(mark, firstSeen);
      if (performance.now() - firstSeen < afterMs) continue;
      const [isDone] = await store.attention.dismissed([mark]);
      if (isDone !== true) await engine.note([item]);
    }
    this.#ahead.set(wait, ahead);
  }

  /** Takes off the list, of the next page of each kind, what needs nobody any more. */
  async review(): Promise<void> {
    const { store } = this.#options;
    for (const kind of REVIEWED) {
      const page = await store.attention.page({ kind }, this.#reviewed.get(kind) ?? null, PAGE);
      const held = await Promise.all(page.map((item) => this.#holds(item)));
      await store.attention.withdraw(page.filter((_, index) => held[index] !== true));
      this.#reviewed.set(kind, page.length < PAGE ? null : (page.at(-1) ?? null));
    }
  }

  #holds(item: AttentionItem): Promise<boolean> {
    const { store, now } = this.#options;
    // A URL behind which nothing waits has no next look, which would take off what the last one couldn't.
    return item.kind === 'hanging' ? hasWaiting(store.backlog, item.id) : holds(store, item, now());
  }

  get jobs(): RecurringJob[] {
    return [
      { name: 'stuck', everyMs: LOOK_MS, run: () => this.look() },
      { name: 'attention', everyMs: REVIEW_MS, run: () => this.review() },
    ];
  }
}
