/**
 * The console's start page: what needs a person, and a few figures. Whoever asks within a second or two gets the same
 * answer; what is long is counted in parts.
 */
import { END_OF_TIME } from '../../../engine/attention/stuck.ts';
import type { TransactionRecord } from '../../../engine/journal.ts';
import type { ChangePlace, StoreReads, Wait } from '../../../engine/store.ts';
import { atMost } from '../../../waiting.ts';
import type { Tally } from '../../protocol.ts';
import type { Counted, Figures, Following, NewestEntries, NowDocument } from '../../shapes/now.ts';
import type { Progress } from '../following/journal-follower.ts';
import { CausesPass, causesOf, listedBehind } from './causes.ts';
import { newestEntries } from './journal.ts';
import { Kept } from './kept.ts';
import { type CountedPage, type Outcome, Pass } from './pass.ts';
import { EVERY_MS, Rates } from './rates.ts';

export interface NowOptions {
  /** The engine's thread's counts. */
  tally(): Promise<Tally>;
  /** How far the journal was read again; null: nobody has begun. */
  following(): Progress | null;
  /** Other processes work on the same store. */
  shared: boolean;
  /** The store's clock, ms since 1970. */
  now(): number;
  /** ms that only go on. */
  elapsed(): number;
}

const DOCUMENT_MS = 1_500;
const ENTRIES_MS = 500;
/** For so long an answer waits for the engine's thread; the count before does else. */
const TALLY_MS = 300;
/** With more rows to read, what was counted on the way is not what is. */
const LATE_ROWS = 1_000;
/** So many charges that wait are counted where each of them is. */
const MOST_WAITING = 10_000;
const PAGE = 500;

type Place = ChangePlace | null;

/** How many transactions wait for something, and what they are worth. */
interface Waits {
  n: number;
  sum: number;
}

class WaitsPass extends Pass<Waits, TransactionRecord, Place> {
  readonly #wait: Wait;

  constructor(wait: Wait) {
    super({
      begin: () => ({ n: 0, sum: 0 }),
      add: (sums, { snapshot }) => {
        sums.n += 1;
        sums.sum += snapshot.context.amount;
      },
      isEmpty: ({ n }) => n === 0,
      first: null,
      ...{ mostItems: 2_000, mostMs: 40 },
    });
    this.#wait = wait;
  }

  async read({ journal }: StoreReads, now: number): Promise<Outcome<Waits>> {
    return this.goOn(async (place): Promise<CountedPage<TransactionRecord, Place>> => {
      const items = await journal.waiting(this.#wait, place, END_OF_TIME, PAGE);
      return { items, next: items.length < PAGE ? null : (items.at(-1) ?? null) };
    }, now);
  }
}

function counted({ at, complete }: Outcome<unknown>): Counted {
  return { at: new Date(at).toISOString(), complete };
}

export class Now {
  readonly #options: NowOptions;
  readonly #rates = new Rates();
  readonly #causes = new CausesPass();
  readonly #transfers = new WaitsPass('cashout');
  readonly #protests = new WaitsPass('protest');
  readonly #document: Kept<NowDocument>;
  readonly #entries: Kept<NewestEntries>;
  readonly #ticking: NodeJS.Timeout;

  constructor(options: NowOptions) {
    this.#options = options;
    this.#document = new Kept(DOCUMENT_MS, options.elapsed);
    this.#entries = new Kept(ENTRIES_MS, options.elapsed);
    const tick = (): void => void this.#tick().catch(() => {});
    tick();
    this.#ticking = setInterval(tick, EVERY_MS);
  }

  close(): void {
    clearInterval(this.#ticking);
  }

  /** Where the engine's thread has no turn for it, the next count has what was missed. */
  async #tick(): Promise<void> {
    const tally = await this.#options.tally();
    this.#rates.take(this.#options.elapsed(), tally);
  }

  read(reads: StoreReads): Promise<NowDocument> {
    return this.#document.get('', () => this.#read(reads));
  }

  /** The newest entries of all accounts, at most so many. */
  entries(reads: StoreReads, limit: number): Promise<NewestEntries> {
    return this.#entries.get(String(limit), () => newestEntries(reads, limit));
  }

  async #read(reads: StoreReads): Promise<NowDocument> {
    const now = this.#options.now();
    const ticked = atMost(TALLY_MS, this.#tick());
    const found = await this.#causes.goOn((place) => listedBehind(reads, place), now);
    const transfers = await this.#transfers.read(reads, now);
    const protests = await this.#protests.read(reads, now);
    const { causes, others } = await causesOf(reads, found.sums);
    await ticked;
    return {
      ...{ causes, others, counted: counted(found) },
      protests: { ...counted(protests), ...protests.sums },
      figures: await this.#figures(reads, transfers),
    };
  }

  /**
   * Whether the journal adds up: an account's, or all (null). What was found to be off is on the list; where ops are done
   * with it, all adds up again. Null: nobody has begun to read it again.
   */
  async verified({ attention }: StoreReads, account: string | null): Promise<Following | null> {
    const known = this.#options.following();
    if (known === null) return null;
    const own = account === null ? {} : { account };
    const [fault] = await attention.page({ kind: 'journal', ...own }, null, 1);
    const at = known.at === null ? null : new Date(known.at).toISOString();
    return { at, ok: fault === undefined, lag: known.lag };
  }

  async #figures(reads: StoreReads, transfers: Outcome<Waits>): Promise<Figures> {
    return {
      perMin: this.#rates.perMinute(),
      firstAttempt: this.#rates.firstAttempts(),
      openCashouts: { ...counted(transfers), ...transfers.sums },
      waiting: await this.#waiting(reads),
      verified: await this.verified(reads, null),
      shared: this.#options.shared,
    };
  }

  async #waiting({ journal }: StoreReads): Promise<Figures['waiting']> {
    const n = await journal.waitingCharges?.(MOST_WAITING + 1);
    if (n !== undefined) return { n: Math.min(n, MOST_WAITING), complete: n <= MOST_WAITING };
    const known = this.#options.following();
    return known === null || known.lag > LATE_ROWS ? null : { n: known.waiting, complete: true };
  }
}
