/** Cases for ops that deciding comes upon. Nobody waits until they are noted: what can't be noted comes again. */
import { textOfTime } from '../../domain/time.ts';
import { Lately } from '../../passing.ts';
import type { Quarantined } from '../actors/host.ts';
import { MOST_REFUSALS } from '../decide-message.ts';
import type { TransactionRecord } from '../journal.ts';
import type { AttentionItem } from '../store.ts';
import { itemFor } from './item.ts';

/** What was noted is remembered of so many, at least. */
const NOTED = 10_000;

export interface CasesOptions {
  now(): number;
  note(items: AttentionItem[]): Promise<void>;
  /** Hears of errors that nobody waits for. */
  trouble(error: unknown): void;
}

export class Cases {
  readonly #options: CasesOptions;
  /** Accounts whose time is ahead of the clock, with the time for which that was noted. */
  readonly #ahead = new Lately<string>(NOTED);
  /** Transactions of which ops have been told that their refused messages are no longer recorded. */
  readonly #full = new Lately<true>(NOTED);

  constructor(options: CasesOptions) {
    this.#options = options;
  }

  async #note(items: AttentionItem[], onFailure?: () => void): Promise<void> {
    try {
      await this.#options.note(items);
    } catch (error) {
      onFailure?.();
      this.#options.trouble(error);
    }
  }

  /** What can't be noted now is noted when its messages and timers come again: they wait. */
  quarantined(account: string, answers: readonly Quarantined[]): Promise<void> {
    const since = textOfTime(this.#options.now());
    const items = answers.map(({ transaction, reason }): AttentionItem => {
      const about = { account, transaction };
      return itemFor('SNAPSHOT_UNREADABLE', { id: transaction, since, about, data: { reason } });
    });
    return this.#note(items);
  }

  /** The account's last entry lies ahead of the clock. What can't be noted now is noted with its next command. */
  async ahead(account: string, at: string): Promise<void> {
    if (this.#ahead.get(account) === at) return;
    this.#ahead.set(account, at);
    const now = textOfTime(this.#options.now());
    const given = { id: account, since: now, about: { account }, data: { entryAt: at, clock: now } };
    await this.#note([itemFor('CLOCK_BEHIND', given)], () => this.#ahead.delete(account));
  }

  /** Refused messages of these aren't recorded any more. What can't be noted now is noted with the next one. */
  async unrecorded(account: string, transactions: readonly TransactionRecord[]): Promise<void> {
    const news = new Map(transactions.map((record) => [record.id, record]));
    for (const id of news.keys()) if (this.#full.has(id)) news.delete(id);
    if (news.size === 0) return;
    for (const id of news.keys()) this.#full.set(id, true);
    const since = textOfTime(this.#options.now());
    const items = [...news.values()].map(({ id, type, snapshot }): AttentionItem => {
      const data = { type, recorded: MOST_REFUSALS };
      const given = { id: `refusals_${id}`, since, about: { account, transaction: id }, data };
      return itemFor('REFUSALS_UNRECORDED', given, snapshot.context.amount);
    });
    await this.#note(items, () => {
      for (const id of news.keys()) this.#full.delete(id);
    });
  }
}
