/**
 * What comes to a database from now on, of all processes on it.
 *
 * 1. Where accounts or all are watched, each process's batches are read behind the last one that was read, once a
 *    second. What one process appends lies together, in the order of its numbers, and may be seen in another one.
 * 2. Watched transactions are looked at more often, in their documents: what is told of one can be read there.
 */
import type { Batch } from '../../../engine/journal.ts';
import { isWatched, type News, type Tail, type Watched } from '../../../engine/store/tail.ts';
import { batchFromDocument, type JournalDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import { ProcessTails } from './process-tails.ts';
import { WatchedTransactions } from './watched-transactions.ts';

/** Between two looks at the processes. */
const LOOK_MS = 1_000;
/** A batch that came by one way comes by the other one before so many others did. */
const MOST_TOLD = 5_000;

export class MongoTail implements Tail {
  readonly restMs = 250;
  readonly #processes: ProcessTails;
  readonly #transactions: WatchedTransactions;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Batches of watched transactions that were told, the first ones first. */
  readonly #told = new Set<string>();

  constructor(reads: MongoReads, now: () => number) {
    this.#processes = new ProcessTails(reads, now);
    this.#transactions = new WatchedTransactions(reads);
  }

  async next(watched: Watched): Promise<News> {
    const [{ found, passed }, { changed, deliveries }] = await Promise.all([
      this.#look(watched),
      this.#transactions.look(watched.transactions),
    ]);
    const batches = [...changed, ...found]
      .map(batchFromDocument)
      .filter((batch) => isWatched(batch, watched) && this.#isNews(batch, watched));
    return { batches, deliveries, passed };
  }

  async #look({ all, accounts }: Watched): Promise<{ found: JournalDocument[]; passed: number }> {
    const nothing = { found: [], passed: 0 };
    if (!all && accounts.size === 0) {
      this.#processes.forget();
      this.#lookedAt = Number.NEGATIVE_INFINITY;
      return nothing;
    }
    if (performance.now() - this.#lookedAt < LOOK_MS) return nothing;
    this.#lookedAt = performance.now();
    return this.#processes.look();
  }

  /** Whether a batch wasn't told yet: one of a watched transaction comes by both ways. */
  #isNews(batch: Batch, { transactions }: Watched): boolean {
    const none = { all: false, accounts: new Set<string>(), transactions };
    if (!isWatched(batch, none)) return true;
    const name = `${batch.account} ${batch.seq}`;
    if (this.#told.has(name)) return false;
    this.#told.add(name);
    for (const first of this.#told) {
      if (this.#told.size <= MOST_TOLD) break;
      this.#told.delete(first);
    }
    return true;
  }
}
