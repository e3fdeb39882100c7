/**
 * The store in memory, for tests: nothing survives the process, and faults can be laid between it and its
 * callers.
 *
 * 1. What comes in and what goes out is a copy.
 * 2. Between its two hooks an operation is one synchronous step.
 * 3. After `close` every operation throws StoreUnavailable; what had begun before is finished first.
 */
import type { Account } from '../../../src/domain/account.ts';
import type { Batch, Head, TransactionRecord } from '../../../src/engine/journal.ts';
import {
  type AccountTable,
  type Append,
  type AppendResult,
  type Attention,
  type AttentionItem,
  type Claim,
  type DeliveryRecord,
  type DueIndex,
  type DueKind,
  type Journal,
  type LookupRow,
  type Reads,
  type Settlement,
  type Store,
  StoreUnavailable,
  type Wants,
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

/** The port, in memory. Opening counts as the incarnation's first beat. */
export class MemoryStore implements Store, Journal, DueIndex, Attention, AccountTable {
  readonly journal: Journal = this;
  readonly due: DueIndex = this;
  readonly attention: Attention = this;
  readonly accounts: AccountTable = this;
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
  }

  head(account: string): Promise<Head> {
    return this.#run('head', [account], (id) => this.#state.head(id));
  }

  read(account: string, wants: Wants): Promise<Reads> {
    return this.#run('read', [account, wants], (id, what) => this.#state.read(id, what));
  }

  append(append: Append): Promise<AppendResult> {
    return this.#run('append', [append], (given) => this.#state.append(given, this.#incarnation), {
      outcome: 'stale',
    });
  }

  transaction(id: string): Promise<TransactionRecord | null> {
    return this.#run('transaction', [id], (which) => this.#state.transaction(which));
  }

  batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    return this.#run('batches', [account, seqs], (id, which) => this.#state.batches(id, which));
  }

  batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    return this.#run('batchesFrom', [account, from, limit], (...args) => this.#state.journal(...args));
  }

  accountIds(): Promise<string[]> {
    return this.#run('accountIds', [], () => this.#state.accountIds());
  }

  records(after: string, limit: number): Promise<TransactionRecord[]> {
    return this.#run('records', [after, limit], (...args) => this.#state.records(...args));
  }

  lookups(account: string): Promise<LookupRow[]> {
    return this.#run('lookups', [account], (id) => this.#state.lookups(id));
  }

  beat(now: number): Promise<void> {
    return this.#run('beat', [now], (at) => {
      this.#state.beats.set(this.#incarnation, at);
    });
  }

  claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    return this.#run('claim', [kind, now, limit], (what, at, most) =>
      this.#state.due.claim(what, at, most, this.#incarnation, this.#silent()),
    );
  }

  settle(settlements: Settlement[]): Promise<boolean[]> {
    return this.#run('settle', [settlements], (all) => all.map((each) => this.#state.settle(each)));
  }

  park(claims: Claim[]): Promise<void> {
    return this.#run('park', [claims], (all) => {
      for (const { token } of all) this.#state.due.park(token);
    });
  }

  unpark(now: number): Promise<number> {
    return this.#run('unpark', [now], (at) => this.#state.due.unpark(at));
  }

  deliveries(transaction: string): Promise<DeliveryRecord[]> {
    return this.#run('deliveries', [transaction], (id) => this.#state.deliveries(id));
  }

  list(): Promise<AttentionItem[]> {
    return this.#run('list', [], () => this.#state.attention());
  }

  note(items: AttentionItem[]): Promise<void> {
    return this.#run('note', [items], (all) => this.#state.note(all));
  }

  dismiss(id: string): Promise<boolean> {
    return this.#run('dismiss', [id], (which) => this.#state.dismiss(which));
  }

  dismissed(ids: readonly string[]): Promise<boolean[]> {
    return this.#run('dismissed', [ids], (which) => this.#state.dismissed(which));
  }

  openCashouts(before: string, limit: number): Promise<TransactionRecord[]> {
    return this.#run('openCashouts', [before, limit], (...args) => this.#state.openCashouts(...args));
  }

  /** There is nothing to drop: all is found by looking at all. */
  tidy(now: number): Promise<void> {
    return this.#run('tidy', [now], (_now) => {});
  }

  get(id: string): Promise<Account | null> {
    return this.#run('get', [id], (which) => this.#state.account(which));
  }

  byClientId(clientId: string): Promise<Account | null> {
    return this.#run('byClientId', [clientId], (id) => this.#state.accountByClientId(id));
  }

  all(): Promise<Account[]> {
    return this.#run('all', [], () => this.#state.accounts());
  }

  put(account: Account): Promise<boolean> {
    return this.#run('put', [account], (given) => this.#state.putAccount(given));
  }

  ping(): Promise<void> {
    return this.#run('ping', [], () => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running);
  }

  #run<Args extends unknown[], Answer>(
    method: StoreMethod,
    args: [...Args],
    step: (...args: Args) => Answer,
    turnedDown?: Answer,
  ): Promise<Answer> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'));
    const running = this.#perform(method, structuredClone(args), step, turnedDown);
    this.#running.add(running);
    const forget = (): void => {
      this.#running.delete(running);
    };
    running.then(forget, forget);
    return running;
  }

  async #perform<Args extends unknown[], Answer>(
    method: StoreMethod,
    args: [...Args],
    step: (...args: Args) => Answer,
    turnedDown: Answer | undefined,
  ): Promise<Answer> {
    const verdict = await this.#faults.before?.(method, args);
    if (verdict === 'stale' && turnedDown !== undefined) return turnedDown;
    const answer = structuredClone(step(...args));
    await this.#faults.after?.(method, args);
    return answer;
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
