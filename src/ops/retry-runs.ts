/**
 * Runs over all that a URL didn't take: each delivery gets its new round in turn, at a rate, and what becomes of it is
 * looked at before many more are begun.
 *
 * 1. Each account that a run touches has its entry before its first delivery starts anew.
 * 2. A run stops by itself where of its last ten deliveries five have failed at their first attempt.
 * 3. Nothing of it is held but what is under way: failed deliveries are read page by page, and read again before each
 *    is begun. A run is this process's own, and ends with it; what it left stays failed, and waits for another run.
 */
import { Overloaded } from '../engine/actors/host.ts';
import { digestOf } from '../engine/store/content.ts';
import {
  type DeliveryAttempt,
  type DeliveryRecord,
  type FailedFilter,
  failedAt,
  hasFailed,
} from '../engine/store/deliveries.ts';
import { pause } from '../waiting.ts';
import { type Acting, ActionRefused, type OpsParts, record, tell } from './acting.ts';
import { type Failed, fitting } from './failed.ts';
import { revive } from './retry.ts';

/** What a run is to try: a URL's, of one account or of whoever has it (null), failed since a time (ISO) or ever (null). */
export interface RunWish {
  account: string | null;
  url: string;
  since: string | null;
  perSecond: number;
  /** Only the first one, to see what the URL answers. */
  first: boolean;
}

/** How a run goes. `broken`: the store could not be reached, or the server ended; the same id goes on. */
export interface RunState {
  id: string;
  account: string | null;
  url: string;
  since: string | null;
  /** How many there were to try, at most `MOST_COUNTED`. */
  asked: number;
  retried: number;
  delivered: number;
  failed: number;
  state: 'running' | 'done' | 'stopped' | 'broken';
  last: DeliveryAttempt | null;
}

/** As many runs go on at a time. */
export class TooManyRuns extends Error {}

/** More aren't counted before a run begins. */
const MOST_COUNTED = 10_000;
const MOST_RUNNING = 4;
/** Runs that are over and still known. */
const KEPT = 50;
/** Deliveries under way at the same time. */
const MOST_UNDER_WAY = 10;
const LOOKED_AT = 10;
const MOST_FAILED = 5;
const LOOK_MS = 100;
/** A delivery that nobody has attempted by then counts as failed: its URL hangs. */
const PATIENCE_MS = 120_000;

/** A delivery that has begun anew. */
interface UnderWay {
  id: string;
  transaction: string;
  /** Attempts that it had before. */
  before: number;
  since: number;
}

export interface RunsOptions extends OpsParts {
  /** A run could not go on. */
  onTrouble(error: unknown): void;
}

class Run {
  readonly state: RunState;
  readonly digest: string;
  readonly #options: RunsOptions;
  readonly #wish: RunWish;
  readonly #acting: Acting;
  readonly #filter: FailedFilter;
  /** When each account had its entry. */
  readonly #entries = new Map<string, string>();
  readonly #underWay = new Map<string, UnderWay>();
  /** Whether each of the last ones was taken. */
  #outcomes: boolean[] = [];
  #lookedAt = 0;
  isClosing = false;

  constructor(options: RunsOptions, wish: RunWish, acting: Acting) {
    this.#options = options;
    this.#wish = wish;
    this.#acting = acting;
    const { account, url, since } = wish;
    this.#filter = { ...(account === null ? {} : { account }), url, ...(since === null ? {} : { since }) };
    this.digest = digestOf('RUN', wish);
    const counts = { asked: 0, retried: 0, delivered: 0, failed: 0 };
    this.state = { id: acting.id, account, url, since, ...counts, state: 'running', last: null };
  }

  /** Counts what there is to try, and writes the entries of the accounts that have it. @throws ActionRefused */
  async prepare(): Promise<void> {
    const counts = new Map<string, number>();
    const first: Failed[] = [];
    for await (const page of fitting(this.#options.store, this.#filter)) {
      if (first.length === 0) first.push(...page.slice(0, 1));
      for (const { record } of page) counts.set(record.account, (counts.get(record.account) ?? 0) + 1);
      this.state.asked += page.length;
      if (this.isClosing) throw new Overloaded('the server stops');
      if (this.state.asked >= MOST_COUNTED) break;
    }
    const own = first[0]?.record;
    const accounts: [string, object][] = this.#wish.first
      ? own === undefined
        ? []
        : [[own.account, { ids: [own.id], count: 1 }]]
      : [...counts].map(([account, count]) => [account, { count }]);
    for (const [account, data] of accounts) await this.#enter(account, data);
    if (accounts.length > 0) tell(this.#options, 'retry', this.#entries.keys(), this.#acting);
  }

  /** The entry of an account, before anything of it begins; when that was. @throws ActionRefused */
  async #enter(account: string, data: object): Promise<string> {
    const known = this.#entries.get(account);
    if (known !== undefined) return known;
    const { account: _account, ...own } = this.#filter;
    const intent = { action: 'retry', asked: { run: this.#wish } } as const;
    const { at } = await record(this.#options, account, intent, { ...own, ...data }, this.#acting);
    this.#entries.set(account, at);
    return at;
  }

  async go(): Promise<void> {
    this.state.state = 'running';
    try {
      await this.#begin();
      while (this.#underWay.size > 0 && !this.#isOver) await this.#wait(Number.POSITIVE_INFINITY);
      if (this.isClosing) this.state.state = 'broken';
      else if (this.state.state === 'running') this.state.state = 'done';
    } catch (error) {
      this.state.state = 'broken';
      this.#options.onTrouble(error);
    }
  }

  get #isOver(): boolean {
    return this.isClosing || this.state.state !== 'running';
  }

  async #begin(): Promise<void> {
    const everyMs = 1_000 / this.#wish.perSecond;
    let next = performance.now();
    // The one that goes first has gone before the run broke.
    if (this.#wish.first && this.state.retried > 0) return;
    for await (const page of fitting(this.#options.store, this.#filter)) {
      if (this.#isOver) return;
      for (const failed of page) {
        while (!this.#isOver && (this.#underWay.size >= MOST_UNDER_WAY || performance.now() < next))
          await this.#wait(next);
        if (this.#isOver) return;
        if (!(await this.#start(failed))) continue;
        if (this.#wish.first) return;
        next = Math.max(next + everyMs, performance.now() - everyMs);
      }
    }
  }

  /** Waits for the time of the next one, or for room, and looks at what is under way now and then. */
  async #wait(next: number): Promise<void> {
    const hasRoom = this.#underWay.size < MOST_UNDER_WAY;
    await pause(hasRoom ? Math.max(1, Math.min(LOOK_MS, next - performance.now())) : LOOK_MS);
    if (performance.now() - this.#lookedAt < LOOK_MS) return;
    await this.#look();
    this.#lookedAt = performance.now();
  }

  /** Begins a delivery anew, as long as it has failed, and not since the run's entry. */
  async #start({ record: { id, account, transaction }, url }: Failed): Promise<boolean> {
    const { store, now } = this.#options;
    const at = await this.#enter(account, {});
    const record = await this.#present(transaction, id);
    if (record === undefined || !hasFailed(record) || failedAt(record) > at) return false;
    const started = await revive(store, [{ record, url }], now());
    if (started.length === 0) return false;
    const since = performance.now();
    this.#underWay.set(id, { id, transaction, before: record.attempts.length, since });
    this.state.retried += 1;
    return true;
  }

  async #present(transaction: string, id: string): Promise<DeliveryRecord | undefined> {
    return (await this.#options.store.journal.deliveries(transaction)).find((each) => each.id === id);
  }

  /** Looks at what is under way. */
  async #look(): Promise<void> {
    for (const { id, transaction, before, since } of [...this.#underWay.values()]) {
      const record = await this.#present(transaction, id);
      const attempt = record?.attempts[before];
      const isLate =
        performance.now() - since > PATIENCE_MS || record === undefined || record.status === 'dead';
      if (attempt === undefined && !isLate) continue;
      this.#underWay.delete(id);
      const { statusCode = null } = attempt ?? {};
      this.#ended(statusCode !== null && statusCode >= 200 && statusCode < 300);
      if (attempt !== undefined) this.state.last = attempt;
    }
  }

  #ended(isTaken: boolean): void {
    if (isTaken) this.state.delivered += 1;
    else this.state.failed += 1;
    this.#outcomes = [...this.#outcomes, isTaken].slice(-LOOKED_AT);
    if (this.#outcomes.filter((each) => !each).length >= MOST_FAILED) this.state.state = 'stopped';
  }
}

/** The runs of this process. */
export class RetryRuns {
  readonly #options: RunsOptions;
  /** By their ids, the oldest first. */
  readonly #runs = new Map<string, Run>();
  readonly #going = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /**
   * Begins a run, and doesn't wait for it; the one that the id has already is told of, and goes on where it is broken.
   * @throws ActionRefused where the id is another act's
   * @throws TooManyRuns
   * @throws Overloaded: the server stops
   */
  async begin(wish: RunWish, acting: Acting): Promise<RunState> {
    const known = this.#runs.get(acting.id);
    const run = known ?? new Run(this.#options, wish, acting);
    if (run.digest !== digestOf('RUN', wish))
      throw new ActionRefused('this id was applied with something else');
    if (known !== undefined && known.state.state !== 'broken') return { ...known.state };
    if (this.#isClosed) throw new Overloaded('the server stops');
    if (this.#going.size >= MOST_RUNNING) throw new TooManyRuns(`${MOST_RUNNING} runs go on already`);
    // It has its place before it counts: the same id at the same time finds it.
    this.#runs.set(acting.id, run);
    const begun = known === undefined ? run.prepare() : Promise.resolve();
    const going = begun.then(
      () => run.go(),
      () => void this.#runs.delete(acting.id),
    );
    this.#going.add(going);
    void going.finally(() => this.#going.delete(going));
    await begun;
    this.#forget();
    return { ...run.state };
  }

  #forget(): void {
    for (const [id, { state }] of this.#runs) {
      if (this.#runs.size <= KEPT) return;
      if (state.state !== 'running') this.#runs.delete(id);
    }
  }

  /** How a run goes; null where this process has none of that id. */
  of(id: string): RunState | null {
    const run = this.#runs.get(id);
    return run === undefined ? null : { ...run.state };
  }

  /** Begins nothing more; resolves once no run does anything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const run of this.#runs.values()) run.isClosing = true;
    await Promise.all(this.#going);
  }
}
