/**
 * Owns an account's head and mailbox. Only the engine calls `post`.
 *
 * Group commit: while one batch is being written, the next one gathers; a hot account gets larger batches.
 *
 * I2 A cashout is decided on the balance that includes all batches before it and all commands before it.
 * I3 Batches are appended in order, each on the hash of the one before.
 * I5 Nobody is answered before all that the answer was decided on is durable; a refusal neither.
 * I10 The mailbox, a batch and the number of tries are bounded.
 */

import type { Account } from '../../domain/account.ts';
import { textOfTime, timeOfText } from '../../domain/time.ts';
import { asError } from '../../errors.ts';
import { pause, type Soon } from '../../waiting.ts';
import type { Answer } from '../commands.ts';
import { decide } from '../decide.ts';
import { earliestAfter, type Head, headOf, type TransactionRecord } from '../journal.ts';
import { allDue, isClaimed } from '../store/due.ts';
import type { Lookup } from '../store/lookups.ts';
import { type Append, type AppendResult, type Reads, StoreUnavailable, type Wants } from '../store.ts';
import { type Taken, Unread, Workspace, wantsOfAll } from '../workspace.ts';
import { BatchText, NoRoom } from './batch-text.ts';
import { endingsOf, tellEnded } from './endings.ts';
import { type ActorHost, HandedOver, Overloaded, type Quarantined, type Ticket } from './host.ts';
import { Mailbox } from './mailbox.ts';
import type { InTurn } from './rounds.ts';

/** So long an account's commands try to get in between what other processes write to it. */
const STALE_MS = 5_000;
/** An account's time that is so far ahead of the clock is a person's case. */
const FAR_AHEAD_MS = 60_000;
const NOTHING_READ: Reads = { transactions: [], lookups: [] };

function isQuarantined(answer: Answer | Error): answer is Quarantined {
  return !(answer instanceof Error) && answer.kind === 'quarantined';
}

/** What commands are decided on, besides the time. */
interface Ground {
  head: Head;
  reads: Reads;
  settings: Account | null;
}

interface Decided {
  /** On which it was decided. */
  head: Head;
  /** What was read for it: where it is decided again, it is on no less. */
  wants: Wants;
  /** The clock, ms since 1970. */
  clock: number;
  append: Append | null;
  taken: Taken[];
  /** Of fewer commands than there were, where the batch has no room for more. */
  answers: (Answer | Error)[];
  unrecorded: TransactionRecord[];
}

export class AccountActor implements InTurn {
  lastUsed = 0;
  /** The time of what was decided and may not be durable yet, ms since 1970. */
  undurableAt: number | null = null;
  readonly #account: string;
  readonly #host: ActorHost;
  readonly #mailbox = new Mailbox();
  #inHand: Ticket[] = [];
  #head: Head | null = null;
  #running = false;

  constructor(account: string, host: ActorHost) {
    this.#account = account;
    this.#host = host;
  }

  /** Commands in the mailbox. */
  get waiting(): number {
    return this.#mailbox.size;
  }

  get idle(): boolean {
    return !this.#running && this.#mailbox.size === 0;
  }

  /** Puts a command in the mailbox; a full one rejects it at once. */
  post(ticket: Ticket): void {
    if (!this.#mailbox.post(ticket) || this.#running) return;
    this.#running = true;
    this.#host.ready(this);
  }

  /** A provisional look at the balance, in cents; read again where what is known would not do. */
  async available(atLeast: number): Promise<number> {
    if (this.#head !== null && this.#head.balances.available >= atLeast) return this.#head.balances.available;
    return (await this.#host.journal.head(this.#account)).balances.available;
  }

  /** Looks whether the last entry, as far as it is known here, lies far ahead of the clock. */
  checkClock(): void {
    if (this.#head === null || this.#head.seq === 0) return;
    const isAhead = timeOfText(this.#head.at) - this.#host.now() > FAR_AHEAD_MS;
    if (isAhead) this.#host.ahead(this.#account, this.#head.at);
  }

  begin(): number {
    this.#inHand = this.#mailbox.next();
    const count = this.#inHand.length;
    if (count > 0) void this.#carryOut();
    else this.#end();
    return count;
  }

  async #carryOut(): Promise<void> {
    try {
      await this.#commit();
    } catch (error) {
      this.#head = null;
      this.#fail(asError(error));
    }
    this.#end();
  }

  #end(): void {
    this.#inHand = [];
    this.undurableAt = null;
    if (this.#mailbox.size > 0) this.#host.ready(this);
    else this.#running = false;
  }

  /** Keeps so many in hand: the others aren't decided, and come first when the next batch is. */
  #keep(count: number): void {
    if (count === this.#inHand.length) return;
    this.#mailbox.putBack(this.#inHand.slice(count));
    this.#inHand = this.#inHand.slice(0, count);
  }

  #fail(error: Error): void {
    for (const ticket of this.#inHand) ticket.reject(error);
  }

  async #commit(): Promise<void> {
    const begun = performance.now();
    let wants = wantsOfAll(this.#inHand.map(({ command }) => command));
    for (let attempt = 0; attempt === 0 || performance.now() - begun < STALE_MS; attempt++) {
      // Another process was first: wait a little, longer each time, so that one of the racers gets through.
      if (attempt > 1) await pause(2 ** Math.min(attempt, 5));
      const soon = this.#decided(this.#inHand, wants);
      const decided = soon instanceof Promise ? await soon : soon;
      this.#keep(decided.answers.length);
      const tickets = this.#inHand;
      wants = decided.wants;
      const { head } = decided;
      if (decided.append === null) {
        if ((await this.#host.journal.head(this.#account)).seq !== head.seq) {
          this.#head = null;
          continue;
        }
        this.#head = head;
        this.#answer(tickets, decided);
        return;
      }
      const fresh = allDue(decided.append.due).filter((each) => isClaimed(each, decided.clock));
      const isReserved = this.#host.reserve(fresh);
      if (isReserved) decided.append.claimUntil = decided.clock;
      const endings = endingsOf(tickets, decided.answers);
      if (endings.length > 0) decided.append.ends = endings.map(({ claim }) => claim);
      let result: AppendResult;
      try {
        result = await this.#append(decided.append);
      } finally {
        // In one turn with the hand-over: what is claimed takes the room that was kept for it.
        if (isReserved) this.#host.release(fresh);
      }
      if (result.outcome === 'stale') {
        this.#head = null;
        continue;
      }
      this.#head = headOf(decided.append.batch);
      if (result.ended !== undefined) tellEnded(endings, result.ended);
      this.#answer(tickets, decided);
      this.#host.committed({ account: this.#account, taken: decided.taken, claims: result.claims });
      return;
    }
    throw new Overloaded('other processes write to the account all the time');
  }

  /** Decides on the account as it is; in the turn in which it is asked for, where the store answers at once. */
  #decided(tickets: readonly Ticket[], wants: Wants): Soon<Decided> {
    const head = this.#head ?? this.#host.journal.head(this.#account);
    return head instanceof Promise
      ? head.then((present) => this.#decidedOn(present, tickets, wants))
      : this.#decidedOn(head, tickets, wants);
  }

  /** What is read must not be older than the head: else a batch follows the head that was decided on less. */
  #decidedOn(head: Head, tickets: readonly Ticket[], wants: Wants): Soon<Decided> {
    const nothing = wants.transactions.length === 0 && wants.lookups.length === 0;
    const settings = this.#host.settings(this.#account);
    const reads = nothing ? NOTHING_READ : this.#host.journal.read(this.#account, wants, head.seq);
    return settings instanceof Promise || reads instanceof Promise
      ? Promise.all([reads, settings]).then(([reads, settings]) =>
          this.#decide({ head, reads, settings }, wants, tickets),
        )
      : this.#decide({ head, reads, settings }, wants, tickets);
  }

  #decide({ head, reads, settings }: Ground, wants: Wants, tickets: readonly Ticket[]): Soon<Decided> {
    const { everyDoorSpeaks } = this.#host;
    const clock = this.#host.now();
    const now = Math.max(clock, earliestAfter(head, this.#host.isShared));
    if (now - clock > FAR_AHEAD_MS) this.#host.ahead(this.#account, head.at);
    const at = textOfTime(now);
    const text = new BatchText(at, this.#host.batchBytes);
    const workspace = new Workspace(this.#account, head.seq + 1, head.balances, { wants, reads, text });
    const circumstances = { at, now, clock, webhooks: settings?.webhooks ?? [], everyDoorSpeaks };
    const decided: Decided = { head, wants, clock, append: null, taken: [], answers: [], unrecorded: [] };
    const unread: Lookup[] = [];
    if (settings?.handedOver === true) {
      decided.answers = tickets.map(() => new HandedOver());
      return decided;
    }
    for (const { command } of tickets) {
      try {
        const { answer, taken, unrecorded } = decide(workspace, command, circumstances);
        decided.answers.push(answer);
        if (taken !== null) decided.taken.push(taken);
        if (unrecorded !== undefined) decided.unrecorded.push(unrecorded);
      } catch (error) {
        if (error instanceof NoRoom) break;
        if (error instanceof Unread) unread.push(error.lookup);
        else decided.answers.push(asError(error));
      }
    }
    // Commands behind one that lacks a lookup were decided on less than there is: all are decided again.
    if (unread.length > 0)
      return this.#decidedOn(head, tickets, { ...wants, lookups: [...wants.lookups, ...unread] });
    if (decided.taken.length > 0) {
      this.undurableAt = now;
      decided.append = workspace.append(decided.taken, {
        head,
        text,
        id: this.#host.newBatchId(),
        at,
        now,
        clock,
        stuckAfterMs: this.#host.stuckAfterMs,
        firstWakeInMs: this.#host.firstWakeInMs,
      });
    }
    return decided;
  }

  async #append(append: Append): Promise<AppendResult> {
    let stalled = false;
    const end = this.#host.stalls.follow(() => {
      stalled = true;
      this.#host.stalled(this.#account, true);
      const error = new StoreUnavailable('a write has waited too long; it may still take effect');
      // The write goes on: nothing else is decided before its outcome is known.
      this.#fail(error);
      this.#mailbox.fail(new Overloaded('the store does not take writes'));
    });
    try {
      return await this.#host.journal.append(append);
    } finally {
      this.#host.appended(end(), append.batch.entries.length);
      if (stalled) this.#host.stalled(this.#account, false);
    }
  }

  #answer(tickets: readonly Ticket[], { answers, unrecorded }: Decided): void {
    const quarantined = answers.filter(isQuarantined);
    if (quarantined.length > 0) this.#host.quarantined(this.#account, quarantined);
    if (unrecorded.length > 0) this.#host.unrecorded(this.#account, unrecorded);
    tickets.forEach((ticket, index) => {
      const answer = answers[index];
      if (answer instanceof Error) ticket.reject(answer);
      else if (answer !== undefined) ticket.resolve(answer);
    });
  }
}
