/**
 * The engine: finds the actor of an account, puts commands in its mailbox, and tells what was committed.
 * It knows the store's port, no adapter; the clock and ids are given to it.
 */
import type { Account } from '../domain/account.ts';
import { Lately } from '../passing.ts';
import { pause, type Soon } from '../waiting.ts';
import { AccountActor } from './actors/actor.ts';
import { BATCH_BYTES } from './actors/batch-text.ts';
import type { Ending } from './actors/endings.ts';
import { type ActorHost, type Committed, Overloaded, type Ticket } from './actors/host.ts';
import { Rounds } from './actors/rounds.ts';
import { Stalls } from './actors/stalls.ts';
import { Cases } from './attention/cases.ts';
import type { Bank } from './bank.ts';
import type { Answer, Command } from './commands.ts';
import type { AttentionNote } from './journal.ts';
import type { Due } from './store/due.ts';
import type { AttentionItem, AttentionKey, Store } from './store.ts';

export interface EngineOptions {
  store: Pick<Store, 'journal' | 'attention'>;
  /** Other processes append to the same journals. */
  isShared?: boolean;
  /** Whether a message through any door counts as the bank's own. */
  everyDoorSpeaks: boolean;
  /** The bank's; null where nothing is said. */
  firstWakeInMs?: Bank['firstWakeInMs'];
  now(): number;
  newBatchId(): string;
  /** A cashout that has not changed for so many ms is stuck. */
  stuckAfterMs: number;
  settings(account: string): Soon<Account | null>;
  /** About so many commands are decided in one turn, and so written together; `IN_A_ROUND` where nothing is said. */
  together?: number;
  /** Bytes of a batch's entries, unless a single one has more; `BATCH_BYTES` where nothing is said. */
  batchBytes?: number;
}

export interface SendOptions {
  /** About how many bytes the command adds to a batch. */
  weight?: number;
  /** True once nobody waits for the answer: a command that isn't decided yet is then dropped. */
  abandoned?(): boolean;
  /** What may end with the command's batch. */
  ending?: Ending;
}

/** Takes up the work that a batch made due, once the batch is durable. */
export interface FreshWork {
  /** Keeps room for all of it or nothing: what finds none waits in the store until a sweep claims it. */
  reserve(due: readonly Due[]): boolean;
  /** Gives back the room that was kept for it. */
  release(due: readonly Due[]): void;
  /** Called in the turn in which the room for it is given back. */
  takeUp(committed: Committed): void;
}

const IDLE_MS = 60_000;
/** What the listener has heard of is remembered of so many, at least. */
const TOLD = 10_000;
const NEVER = (): boolean => false;

export class Engine {
  readonly #options: EngineOptions;
  readonly #actors = new Map<string, AccountActor>();
  readonly #host: ActorHost;
  readonly #stalled = new Set<string>();
  #fresh: FreshWork | null = null;
  #attention: ((note: AttentionNote) => void) | null = null;
  #trouble: ((error: unknown) => void) | null = null;
  /** Items that the listener has heard of, by kind and id. */
  readonly #told = new Lately<true>(TOLD);
  #unrecorded: ((count: number) => void) | null = null;
  #commit: ((ms: number, entries: number) => void) | null = null;
  #closed = false;

  constructor(options: EngineOptions) {
    const rounds = new Rounds(options.together);
    const cases = new Cases({
      now: options.now,
      note: (items) => this.note(items),
      trouble: (error) => this.#trouble?.(error),
    });
    this.#options = options;
    this.#host = {
      stalls: new Stalls(),
      ready: (actor) => rounds.add(actor),
      journal: options.store.journal,
      isShared: options.isShared ?? false,
      everyDoorSpeaks: options.everyDoorSpeaks,
      firstWakeInMs: options.firstWakeInMs ?? null,
      now: options.now,
      newBatchId: options.newBatchId,
      settings: options.settings,
      stuckAfterMs: options.stuckAfterMs,
      batchBytes: options.batchBytes ?? BATCH_BYTES,
      reserve: (due) => this.#fresh?.reserve(due) ?? false,
      release: (due) => this.#fresh?.release(due),
      appended: (ms, entries) => this.#commit?.(ms, entries),
      committed: (batch) => this.#committed(batch),
      quarantined: (account, answers) => void cases.quarantined(account, answers),
      ahead: (account, at) => void cases.ahead(account, at),
      unrecorded: (account, transactions) => {
        this.#unrecorded?.(transactions.length);
        void cases.unrecorded(account, transactions);
      },
      stalled: (account, stalled) => {
        if (stalled) this.#stalled.add(account);
        else this.#stalled.delete(account);
      },
    };
  }

  /** Hands deliveries and bank orders on; until then they stay in the store, for a sweep or another process. */
  handFreshWorkTo(fresh: FreshWork): void {
    this.#fresh = fresh;
  }

  /** The listener hears of each item that needs a person, as soon as it is durable. */
  onAttention(listener: (note: AttentionNote) => void): void {
    this.#attention = listener;
  }

  /** The listener hears of each batch that is durable: how long that took, in ms, and how many entries it has. */
  onCommit(listener: (ms: number, entries: number) => void): void {
    this.#commit = listener;
  }

  /** The listener hears of errors that nobody waits for; what they were about is tried again. */
  onTrouble(listener: (error: unknown) => void): void {
    this.#trouble = listener;
  }

  /** The listener hears how many refused messages were answered and not recorded. */
  onUnrecorded(listener: (count: number) => void): void {
    this.#unrecorded = listener;
  }

  #committed(batch: Committed): void {
    for (const { entry } of batch.taken) if (entry.attention !== null) this.tell(entry.attention);
    this.#fresh?.takeUp(batch);
  }

  /** False while a write waits longer than it may. */
  get writable(): boolean {
    return this.#stalled.size === 0;
  }

  /** Commands that wait in mailboxes. */
  get waitingCommands(): number {
    let waiting = 0;
    for (const actor of this.#actors.values()) waiting += actor.waiting;
    return waiting;
  }

  /** Accounts with an actor in memory. */
  get activeAccounts(): number {
    return this.#actors.size;
  }

  /**
   * Sends a command to its account and answers once everything that the answer depends on is durable.
   * @throws Overloaded: the mailbox is full or the store doesn't take writes; nothing was decided.
   * @throws StoreUnavailable: the outcome is not known; the same key or message id may be sent again.
   */
  send(account: string, command: Command, options: SendOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Overloaded('the engine is shutting down'));
      if (this.#stalled.size > 0) return reject(new Overloaded('the store does not take writes'));
      const ticket: Ticket = {
        command,
        weight: options.weight ?? 2048,
        abandoned: options.abandoned ?? NEVER,
        ending: options.ending ?? null,
        resolve,
        reject,
      };
      this.#actor(account).post(ticket);
    });
  }

  /** A provisional look: the balance in cents, not older than it needs to be to cover `atLeast`. */
  provisionalBalance(account: string, atLeast: number): Promise<number> {
    return this.#actor(account).available(atLeast);
  }

  /** What this process has of the account, or comes to decide, and isn't durable, has this time or a later one, ms. */
  undurableFrom(account: string): number {
    const now = this.#options.now();
    return Math.min(now, this.#actors.get(account)?.undurableAt ?? now);
  }

  #actor(account: string): AccountActor {
    let actor = this.#actors.get(account);
    if (actor === undefined) {
      actor = new AccountActor(account, this.#host);
      this.#actors.set(account, actor);
    }
    actor.lastUsed = performance.now();
    return actor;
  }

  /** Lets go of accounts that nobody has used for a minute. */
  passivate(): void {
    const before = performance.now() - IDLE_MS;
    for (const [account, actor] of this.#actors) {
      if (actor.idle && actor.lastUsed < before) this.#actors.delete(account);
    }
  }

  /**
   * Notes what needs a person; an item that is known stays as it is. The listener hears of each item once in this
   * process's life, however often it comes again.
   */
  async note(items: AttentionItem[]): Promise<void> {
    for (const item of items) this.tellOnce(item);
    await this.#options.store.attention.note(items);
  }

  /** As `tell`, once in this process's life. */
  tellOnce(item: AttentionItem): void {
    const key = `${item.kind}:${item.id}`;
    if (this.#told.has(key)) return;
    this.#told.set(key, true);
    this.tell(item);
  }

  /** Takes items away whose cause is gone. */
  async withdraw(keys: readonly AttentionKey[]): Promise<void> {
    await this.#options.store.attention.withdraw(keys);
    for (const { kind, id } of keys) this.#told.delete(`${kind}:${id}`);
  }

  /** Tells the listener of an item that is stored by other means: with a batch, or with a delivery's progress. */
  tell(note: AttentionNote): void {
    this.#attention?.(note);
  }

  /** Looks at the accounts in memory: whose last entry lies far ahead of the clock is noted. */
  checkClock(): void {
    for (const actor of this.#actors.values()) actor.checkClock();
  }

  /** Takes nothing more and waits, at most `timeoutMs`, for what is in the mailboxes. */
  async drain(timeoutMs: number): Promise<void> {
    this.#closed = true;
    const until = performance.now() + timeoutMs;
    while ([...this.#actors.values()].some((actor) => !actor.idle) && performance.now() < until) {
      await pause(5);
    }
  }
}
