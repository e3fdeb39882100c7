/**
 * The store in memory, for tests: nothing survives the process, and faults can be laid between it and its
 * callers.
 *
 * 1. What comes in and what goes out is a copy.
 * 2. Between its two hooks an operation is one synchronous step.
 * 3. After `close` every operation throws StoreUnavailable; what had begun before is finished first.
 */

import type { Backlog } from '../../../src/engine/store/backlog.ts';
import { type Claim, type DueKind, isOf } from '../../../src/engine/store/due.ts';
import type { Marks } from '../../../src/engine/store/marks.ts';
import {
  type AccountTable,
  type Attention,
  type DueIndex,
  type Journal,
  type Store,
  StoreUnavailable,
} from '../../../src/engine/store.ts';
import type { Faults, StoreMethod } from './faults.ts';
import { MemoryState } from './state.ts';

/** `state`: shared with other incarnations; without one, the store has its own. */
export interface MemoryStoreOptions {
  state?: MemoryState;
  /** Unique among the stores on one state. */
  incarnation: string;
  /** The store's clock, ms since 1970. */
  now: () => number;
  /** An incarnation that gave no sign of life for longer than this is silent. */
  silentAfterMs: number;
  faults?: Faults;
}

/** What becomes of a call on which a fault is laid. */
interface Failing<Args extends unknown[], Answer> {
  /** The answer where a fault says `stale`. */
  turnedDown?: Answer;
  /** Claims that nobody has in hand once the call has failed; the answer is undefined where nothing was done. */
  lost?(answer: Answer | undefined, ...args: Args): readonly Claim[];
}

/** The port, in memory. Opening counts as the incarnation's first beat. */
export class MemoryStore implements Store {
  readonly journal: Journal;
  readonly due: DueIndex;
  readonly backlog: Backlog;
  readonly attention: Attention;
  readonly accounts: AccountTable;
  readonly marks: Marks;
  readonly ping = this.#method('ping', () => {});
  readonly #state: MemoryState;
  readonly #incarnation: string;
  readonly #now: () => number;
  readonly #silentAfterMs: number;
  readonly #faults: Faults;
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#state = options.state ?? new MemoryState();
    this.#incarnation = options.incarnation;
    this.#now = options.now;
    this.#silentAfterMs = options.silentAfterMs;
    this.#faults = options.faults ?? {};
    this.#state.beats.set(this.#incarnation, this.#now());
    this.journal = this.#journal(this.#state);
    this.due = this.#due(this.#state);
    this.backlog = this.#backlog(this.#state);
    this.attention = this.#attention(this.#state);
    this.accounts = this.#accounts(this.#state);
    this.marks = this.#marks(this.#state);
  }

  #journal(state: MemoryState): Journal {
    return {
      head: this.#method('head', (account) => state.head(account)),
      read: this.#method('read', (account, wants) => state.read(account, wants)),
      append: this.#method('append', (append) => state.append(append, this.#incarnation, this.#now()), {
        turnedDown: { outcome: 'stale' },
        lost: (answer) => (answer?.outcome === 'appended' ? answer.claims : []),
      }),
      restore: this.#method('restore', (restoration) => state.restore(restoration)),
      transaction: this.#method('transaction', (id) => state.transaction(id)),
      batches: this.#method('batches', (account, seqs) => state.batches(account, seqs)),
      entries: this.#method('entries', (...wanted) => state.entries(...wanted)),
      refusals: this.#method('refusals', (...page) => state.refusals(...page)),
      batchesFrom: this.#method('batchesFrom', (...page) => state.journal(...page)),
      quoted: this.#method('quoted', (...page) => state.quoted(...page)),
      newest: this.#method('newest', (from, limit) => state.newest(from, limit)),
      placeUntil: this.#method('placeUntil', (time) => state.placeUntil(time)),
      accountIds: this.#method('accountIds', (...page) => state.accountIds(...page)),
      records: this.#method('records', (after, limit) => state.records(after, limit)),
      lookups: this.#method('lookups', (...page) => state.lookups(...page)),
      deliveries: this.#method('deliveries', (transaction) => state.deliveries(transaction)),
      waiting: this.#method('waiting', (...page) => state.waiting(...page)),
      failedDeliveries: this.#method('failedDeliveries', (...page) => state.failedDeliveries(...page)),
    };
  }

  #due(state: MemoryState): DueIndex {
    const claim = this.#method(
      'claim',
      (kind: DueKind, now: number, limit: number) =>
        state.due.claim(kind, now, limit, this.#incarnation, this.#silent()),
      { lost: (claims) => claims ?? [] },
    );
    return {
      beat: this.#method('beat', (now) => {
        state.beats.set(this.#incarnation, now);
      }),
      claim: async (kind, now, limit) => (await claim(kind, now, limit)).filter((each) => isOf(each, kind)),
      holds: this.#method('holds', (claims) => claims.map(({ token }) => state.due.holds(token))),
      settle: this.#method(
        'settle',
        (settlements) => settlements.map((each) => state.settle(each, this.#now())),
        { lost: (_, settlements) => settlements.flatMap(({ claim }) => claim ?? []) },
      ),
      park: this.#method(
        'park',
        (claims) => {
          for (const { token } of claims) state.due.park(token);
        },
        { lost: (_, claims) => claims },
      ),
      unpark: this.#method('unpark', (now) => state.due.unpark(now)),
      oldest: this.#method('oldest', (now) => state.due.oldest(now)),
      rewind: this.#method('rewind', (now) => state.rewind(Math.max(now, this.#now()))),
      unwind: this.#method('unwind', (forward) => state.due.unwind(forward)),
      // There is nothing to drop: all is found by looking at all.
      tidy: this.#method('tidy', () => {}),
    };
  }

  #backlog({ backlog }: MemoryState): Backlog {
    return {
      put: this.#method('put behind', (waits) => waits.map((wait) => backlog.put(wait))),
      claimLooks: this.#method('claimLooks', (now, limit) => backlog.claimLooks(now, limit)),
      take: this.#method('take', (...what) => backlog.take(...what, this.#incarnation), {
        lost: (taken) => taken?.claims ?? [],
      }),
      lookAgain: this.#method('lookAgain', (target, at) => backlog.lookAgain(target, at)),
      targets: this.#method('targets', (after, limit) => backlog.targets(after, limit)),
      total: this.#method('total', () => backlog.total()),
    };
  }

  #attention(state: MemoryState): Attention {
    return {
      page: this.#method('page', (filter, after, limit) => state.listed(filter, after).slice(0, limit)),
      count: this.#method('count', (filter, after) => state.listed(filter, after).length),
      counts: this.#method('counts', () => state.counts()),
      find: this.#method('find', (id) => state.listed({}, null).filter((item) => item.id === id)),
      note: this.#method('note', (items) => state.note(items)),
      dismiss: this.#method('dismiss', (keys, by) => state.dismiss(keys, by)),
      doneBy: this.#method('doneBy', (id, kind) => state.doneBy(id, kind)),
      discount: this.#method('discount', (key, by) => state.discount(key, by)),
      withdraw: this.#method('withdraw', (keys) => state.withdraw(keys)),
      dismissed: this.#method('dismissed', (ids) => state.dismissed(ids)),
    };
  }

  #accounts(state: MemoryState): AccountTable {
    return {
      get: this.#method('get', (id) => state.account(id)),
      byClientId: this.#method('byClientId', (clientId) => state.accountByClientId(clientId)),
      after: this.#method('after', (...page) => state.accountsAfter(...page)),
      isEmpty: this.#method('isEmpty', () => state.accounts().length === 0),
      put: this.#method('put', (account) => state.putAccount(account)),
    };
  }

  #marks(state: MemoryState): Marks {
    return {
      mark: this.#method('mark', (name) => state.marks.get(name) ?? null),
      keepMark: this.#method('keepMark', (name, text) => state.keepMark(name, text)),
      putMark: this.#method('putMark', (name, text) => void state.marks.set(name, text)),
      swapMark: this.#method('swapMark', (name, before, text) => state.swapMark(name, before, text)),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running);
  }

  /** A method of the port: one step between its hooks. */
  #method<Args extends unknown[], Answer>(
    method: StoreMethod,
    step: (...args: Args) => Answer,
    failing: Failing<Args, Answer> = {},
  ): (...args: Args) => Promise<Answer> {
    return (...args) => {
      if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'));
      const running = this.#perform(method, structuredClone(args), step, failing);
      this.#running.add(running);
      const forget = (): void => {
        this.#running.delete(running);
      };
      running.then(forget, forget);
      return running;
    };
  }

  async #perform<Args extends unknown[], Answer>(
    method: StoreMethod,
    args: [...Args],
    step: (...args: Args) => Answer,
    { turnedDown, lost }: Failing<Args, Answer>,
  ): Promise<Answer> {
    let answer: Answer | undefined;
    try {
      const verdict = await this.#faults.before?.(method, args);
      if (verdict === 'stale' && turnedDown !== undefined) return turnedDown;
      answer = structuredClone(step(...args));
      await this.#faults.after?.(method, args);
      return answer;
    } catch (error) {
      this.#state.due.letGo(lost?.(answer, ...args) ?? [], this.#now() + this.#silentAfterMs);
      throw error;
    }
  }

  /** Everyone else that has not been heard of for too long. */
  #silent(): Set<string> {
    const oldest = this.#now() - this.#silentAfterMs;
    const silent = new Set<string>();
    for (const [incarnation, at] of this.#state.beats) {
      if (incarnation !== this.#incarnation && at < oldest) silent.add(incarnation);
    }
    return silent;
  }
}
