/** Reconciliation: what is new in the bank's lists is looked at again and again, what lies further back once a day and a week. */
import { RECONCILED_MARKS } from '../../../engine/bank.ts';
import type { Marks } from '../../../engine/store/marks.ts';
import type { Window } from '../payments.ts';
import { BankLists, type BankListsOptions, type Moved } from './bank-lists.ts';
import { bookedIn } from './journal-side.ts';
import { DAY_MS, nextSpan, RETURNS_MS, YOUNGEST_MS } from './windows.ts';

export interface ReconcilerOptions extends BankListsOptions {
  marks: Marks;
  retryScale: number;
}

const WEEK_MS = 7 * DAY_MS;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #lists: BankLists;

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
    const { last, lastSent, daily, weekly } = RECONCILED_MARKS;
    const young = now() - YOUNGEST_MS * retryScale;
    const failures: unknown[] = [];
    for (const part of [
      () => this.#since(last, (span, moved) => this.#lists.payments(span, { moved })),
      () => this.#since(lastSent, (span, moved) => this.#lists.sendings(span, { moved })),
      () => this.#every(daily, DAY_MS, () => this.#day({ from: young - 2 * DAY_MS, to: young })),
      () => this.#every(weekly, WEEK_MS, () => this.#weeks(young)),
    ])
      await part().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
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
    const listed = new Set<string>();
    const heard = ({ endToEndId }: { endToEndId: string | null }): void => {
      if (endToEndId !== null) listed.add(endToEndId);
    };
    await this.#lists.walk(span, { payment: heard, sending: heard });
    for await (const booked of bookedIn(journal, span)) {
      const { kind, endToEndId, transactionId, amount } = booked;
      if (endToEndId === null || !this.#lists.isMissing(booked, listed)) continue;
      const data = { booked: kind === 'payment' ? ('payment' as const) : ('sending' as const), endToEndId };
      const account = (await journal.transaction(transactionId))?.account ?? null;
      const about = { account, transaction: transactionId };
      await notes.difference('BOOKING_UNLISTED', `missing_${endToEndId}`, data, about, amount);
    }
  }

  /** Returns come long after what they return. */
  async #weeks(to: number): Promise<void> {
    const span = { from: to - RETURNS_MS, to };
    await this.#lists.sendings(span);
    await this.#lists.returns(span);
  }
}
