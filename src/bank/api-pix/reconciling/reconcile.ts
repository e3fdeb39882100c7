/** Reconciliation: what is new in the bank's lists is looked at again and again, what lies further back once a day and a week. */
import { RECONCILED_MARKS } from '../../../engine/bank.ts';
import type { Marks } from '../../../engine/store/marks.ts';
import { textOf } from '../../../errors.ts';
import { turn } from '../../../waiting.ts';
import { askAbout, type News } from '../callbacks/incoming.ts';
import type { Window } from '../payments.ts';
import { BankLists, type BankListsOptions, type Moved } from './bank-lists.ts';
import { bookedIn } from './journal-side.ts';
import { isHandled, noteUnbooked, type Unbooked, unbookedItems } from './unbooked.ts';
import { DAY_MS, HOUR_MS, nextSpan, RETURNS_MS, YOUNGEST_MS } from './windows.ts';

export interface ReconcilerOptions extends BankListsOptions {
  marks: Marks;
  retryScale: number;
}

const WEEK_MS = 7 * DAY_MS;
/** So often what is new is read beside a look that takes long. */
const NEWS_MS = HOUR_MS / 60;
/** How the ids of items about what the bank doesn't list begin. */
const MISSING = 'missing_';

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #lists: BankLists;
  /** When it was begun to read what is new, ms. */
  #newsAt = 0;
  /** Since when its turns fail, ms. */
  #failing: number | null = null;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#lists = new BankLists(options);
  }

  /**
   * The turn of the recurring job: what is new, and once a day and a week what lies further back. A part that fails
   * keeps no other from its turn.
   * @throws the first failure, once all were tried
   */
  async run(): Promise<void> {
    const { now, retryScale } = this.#options;
    const { daily, weekly } = RECONCILED_MARKS;
    const young = now() - YOUNGEST_MS * retryScale;
    const failures: unknown[] = [];
    for (const part of [
      () => this.#stillUnbooked(async () => {}),
      ...this.#news(),
      () => this.#every(daily, DAY_MS, () => this.#day({ from: young - 2 * DAY_MS, to: young })),
      () => this.#every(weekly, WEEK_MS, () => this.#weeks(young)),
    ])
      await part().catch((error: unknown) => failures.push(error));
    this.#tellOfLists(failures);
    if (failures.length > 0) throw failures[0];
  }

  /** What is new in each of the lists. */
  #news(): (() => Promise<void>)[] {
    const { last, lastSent } = RECONCILED_MARKS;
    this.#newsAt = this.#options.now();
    return [
      () => this.#since(last, (span, moved) => this.#lists.payments(span, { moved })),
      () => this.#since(lastSent, (span, moved) => this.#lists.sendings(span, { moved })),
    ];
  }

  /** What is new doesn't wait for a look that takes long; its failures are told of in its own turn. */
  async #newsMeanwhile(): Promise<void> {
    const { now, retryScale } = this.#options;
    if (Math.abs(now() - this.#newsAt) < NEWS_MS * retryScale) return;
    for (const part of this.#news()) await part().catch(() => undefined);
  }

  /** A person hears of lists that can't be read for an hour (scaled). */
  #tellOfLists(failures: readonly unknown[]): void {
    const { notes, now, retryScale } = this.#options;
    if (failures.length === 0) {
      this.#failing = null;
      notes.listsRead();
      return;
    }
    this.#failing ??= now();
    if (now() - this.#failing < HOUR_MS * retryScale) return;
    notes.listsUnread(this.#failing, textOf(failures[0]));
  }

  /** What was noted as not booked is over once it was handled; what wasn't is looked at, a page at a time. */
  async #stillUnbooked(look: (news: readonly News[]) => Promise<void>): Promise<void> {
    const { journal, notes } = this.#options;
    for await (const items of unbookedItems(notes)) {
      await turn();
      const news: News[] = [];
      for (const item of items) {
        const record = await journal.transaction(item.transaction);
        if (record === null) continue;
        if (await isHandled(journal, record, item)) await notes.agreed(item.id);
        else news.push({ record, payment: item.listed === 'sending' ? null : item.endToEndId });
      }
      await look(news);
    }
  }

  /** What the bank lists for a day and isn't booked, though it was asked about: nobody else tells of it. */
  async #noteUnbooked(item: Unbooked): Promise<void> {
    const { journal, now, notes } = this.#options;
    const { paidAt, completedAt } = item.message.data as { paidAt?: string; completedAt?: string };
    const at = paidAt ?? completedAt ?? item.record.updatedAt;
    if (Date.parse(at) < now() - DAY_MS) await noteUnbooked(notes, journal, item);
  }

  /** Until when all of the bank's lists were read, ms since 1970; null: one of them never was. */
  async reconciledUntil(): Promise<number | null> {
    const { last, lastSent } = RECONCILED_MARKS;
    const names = this.#lists.listsSendings ? [last, lastSent] : [last];
    const until = await Promise.all(names.map((name) => this.#mark(name)));
    return until.reduce((least, each) => (least === null || each === null ? null : Math.min(least, each)));
  }

  /** A mark of the future is one of a clock that was wrong. */
  async #mark(name: string): Promise<number | null> {
    const text = await this.#options.marks.mark(name);
    return text === null || Number(text) > this.#options.now() ? null : Number(text);
  }

  async #every(name: string, everyMs: number, work: () => Promise<unknown>): Promise<void> {
    const now = this.#options.now();
    if (now - ((await this.#mark(name)) ?? 0) < everyMs) return;
    await work();
    await this.#options.marks.putMark(name, String(now));
  }

  /** What is new since a mark, which moves with each window that was read whole. */
  async #since(mark: string, read: (span: Window, moved: Moved) => Promise<void>): Promise<void> {
    const { now, marks, retryScale } = this.#options;
    const span = nextSpan(await this.#mark(mark), now(), retryScale);
    if (span !== null) await read(span, (to) => marks.putMark(mark, String(to)));
  }

  /** The last days once more, and what was booked of them that the bank doesn't list. */
  async #day(span: Window): Promise<void> {
    const { journal, notes } = this.#options;
    await this.#stillUnbooked((news) => askAbout(this.#options, news));
    const listed = new Set<string>();
    const heard = ({ endToEndId }: { endToEndId: string | null }): void => {
      if (endToEndId !== null) listed.add(endToEndId);
    };
    const unbooked = (item: Unbooked): Promise<void> => this.#noteUnbooked(item);
    const page = (): Promise<void> => this.#newsMeanwhile();
    await this.#lists.walk(span, { payment: heard, sending: heard, unbooked, page });
    const missing = new Set<string>();
    for await (const booked of bookedIn(journal, span)) {
      const { kind, endToEndId, transactionId, amount } = booked;
      if (endToEndId === null || !this.#lists.isMissing(booked, listed)) continue;
      if (await this.#lists.isTold(booked)) continue;
      missing.add(endToEndId);
      const data = { booked: kind === 'payment' ? ('payment' as const) : ('sending' as const), endToEndId };
      const account = (await journal.transaction(transactionId))?.account ?? null;
      const about = { account, transaction: transactionId };
      await notes.difference('BOOKING_UNLISTED', `${MISSING}${endToEndId}`, data, about, amount);
    }
    await this.#nowListed(listed, missing);
  }

  /** What was noted as not listed is over once the bank tells of it; of what is still missing it was just asked. */
  async #nowListed(listed: ReadonlySet<string>, missing: ReadonlySet<string>): Promise<void> {
    const { journal, notes } = this.#options;
    for await (const items of notes.differences()) {
      await turn();
      for (const { id, about } of items) {
        const { transaction: transactionId } = about;
        if (!id.startsWith(MISSING) || transactionId === null) continue;
        const endToEndId = id.slice(MISSING.length);
        if (missing.has(endToEndId)) continue;
        const record = await journal.transaction(transactionId);
        const kind = record?.type === 'cashout' ? 'sending' : 'payment';
        if (listed.has(endToEndId) || (await this.#lists.isTold({ kind, endToEndId, transactionId })))
          await notes.agreed(id);
      }
    }
  }

  /** Returns come long after what they return. */
  async #weeks(to: number): Promise<void> {
    const { weeklySent, weeklyReturns } = RECONCILED_MARKS;
    const watcher = {
      unbooked: (item: Unbooked): Promise<void> => this.#noteUnbooked(item),
      page: (): Promise<void> => this.#newsMeanwhile(),
    };
    await this.#goOn(weeklySent, to, (span, moved) => this.#lists.sendings(span, { watcher, moved }));
    await this.#goOn(weeklyReturns, to, (span, moved) => this.#lists.returns(span, { watcher, moved }));
    // The next look begins anew.
    for (const mark of [weeklySent, weeklyReturns]) await this.#options.marks.putMark(mark, '0');
  }

  /** Reads on where a look that failed, or whose process ended, has come to. */
  async #goOn(mark: string, to: number, read: (span: Window, moved: Moved) => Promise<void>): Promise<void> {
    const from = Math.max(to - RETURNS_MS, (await this.#mark(mark)) ?? 0);
    await read({ from, to }, (until) => this.#options.marks.putMark(mark, String(until)));
  }
}
