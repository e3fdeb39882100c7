/**
 * The desk where bank orders are carried out: payouts, refunds, returns, questions and the bank's own awakenings. An
 * order is in the journal before it comes here, and claimed; what happens is reported to the store, so that an order
 * whose desk died is found again.
 *
 * An order that fails backs off. None holds up another: they are carried out beside each other, up to as many as the
 * bank takes calls, and each is settled when it ends. One account's leave room to those of the others.
 */
import type { Ending } from '../engine/actors/endings.ts';
import { type Bank, BankNotBegun, backoffMs } from '../engine/bank.ts';
import { DONE, Hands, type Outcome, partsInHand } from '../engine/claims/hands.ts';
import type { Room } from '../engine/claims/room.ts';
import { Settler } from '../engine/claims/settler.ts';
import type { Engine } from '../engine/engine.ts';
import type { BankOrder, TransactionRecord } from '../engine/journal.ts';
import type { Payments } from '../engine/payments.ts';
import { type ClaimOf, type Due, type DueOrder, dueAgain, KEPT_MS, wakeUp } from '../engine/store/due.ts';
import type { DueIndex, JournalReads } from '../engine/store.ts';
import { Kept } from './kept.ts';
import { Payouts } from './payouts.ts';
import { PutOff } from './put-off.ts';
import { isOpen, Refunding } from './refunding.ts';
import { Refusals } from './refusals.ts';
import { Returning } from './returning.ts';
import { type Told, telling } from './telling.ts';

/** An order in hand. What is fresh from its commit nobody has carried out before, as long as its claim is ours. */
interface ClaimedOrder {
  claim: ClaimOf<'bank'>;
  isFresh: boolean;
}

/** Who was silent for longer counts as dead. */
const OURS_MS = 5_000;
/** A bank that hints at something and has nothing new to say is asked so often more. */
const ASKED_AGAIN = 3;

export interface DeskOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  now(): number;
  /** What waits for the bank so many ms is stuck. */
  stuckAfterMs: number;
  /** Other processes work on the same store. */
  isShared?: boolean;
  /** A clock that never steps, ms: the process's own where none is given. */
  elapsed?(): number;
  /** Something went wrong that will be tried again. */
  onTrouble(error: unknown, due?: Due): void;
}

function isOrder<Kind extends BankOrder['kind']>(due: DueOrder, kind: Kind): due is DueOrder<Kind> {
  return due.order.kind === kind;
}

/** Whether an order is to be sent still, as its transaction stands. */
function isWanted(record: TransactionRecord, order: BankOrder): boolean {
  if (order.kind === 'payout') return record.snapshot.value === 'pending';
  return order.kind !== 'refund' || isOpen(record, order.refundId);
}

export class Desk {
  readonly #options: DeskOptions;
  readonly #elapsed: () => number;
  readonly #settler: Settler;
  readonly #hands: Hands<ClaimedOrder>;
  readonly #kept: Kept;
  readonly #putOff: PutOff;
  readonly #told: Told;
  readonly #payouts: Payouts;
  readonly #refunding: Refunding;
  readonly #returning: Returning;
  readonly #refusals: Refusals;

  constructor(options: DeskOptions) {
    const { engine, journal, bank, due, now, onTrouble, elapsed = () => performance.now() } = options;
    this.#options = options;
    this.#elapsed = elapsed;
    this.#told = telling(options.payments);
    this.#refusals = new Refusals(elapsed, bank.pace.refusalMs);
    this.#payouts = new Payouts({
      ...{ engine, journal, bank, now, elapsed, told: this.#told, refusals: this.#refusals },
      isOurs: (claim, askedAt) => this.#isOurs(claim, askedAt),
      mayBegin: (due) => this.#mayBegin(due),
      refused: (each) => this.#refused(each),
      later: (each, changes, waitMs) => ({ next: this.#later(each, changes, waitMs) }),
    });
    const turns = {
      refused: (each: DueOrder): Outcome => this.#refused(each),
      later: (each: DueOrder): Outcome => ({ next: this.#later(each) }),
      next: (each: DueOrder, order: BankOrder, waitMs: number): Outcome => this.#next(each, order, waitMs),
    };
    this.#refunding = new Refunding({ ...turns, journal, bank, told: this.#told });
    this.#returning = new Returning({
      ...{ ...turns, engine, bank, now, onTrouble, stuckAfterMs: options.stuckAfterMs },
      isOurs: (claim) => this.#holds(claim),
    });
    this.#settler = new Settler(due, onTrouble);
    this.#kept = new Kept({ now, elapsed });
    this.#putOff = new PutOff({ now, elapsed });
    const work = (order: ClaimedOrder): Promise<Outcome> => this.#outcome(order);
    const { callsAtOnce: atOnce } = bank.pace;
    this.#hands = new Hands({ settler: this.#settler, ...partsInHand(options.isShared), atOnce, now, work });
  }

  /** For how many more orders that sweeps claim there is room. */
  get room(): Room {
    return this.#hands.room;
  }

  /** When the earliest order in hand that hasn't begun fell due, ms; `Infinity` where all have. */
  get earliest(): number {
    return this.#hands.earliest;
  }

  /** Keeps room for so many orders that an account's batch makes due, or for none. */
  reserve(account: string, count: number): boolean {
    return this.#hands.reserve(account, count);
  }

  /** They come another way, or were claimed. */
  release(count: number): void {
    this.#hands.fresh.release(count);
  }

  /**
   * Takes up orders that a sweep has claimed, or that are fresh from their commit. Resolves once all of these are settled,
   * or kept until their time comes; nobody needs to wait for that. Never rejects.
   */
  async carryOut(claims: readonly ClaimOf<'bank'>[], isFresh: boolean): Promise<void> {
    const now = this.#options.now();
    const come: ClaimedOrder[] = [];
    const back: ClaimOf<'bank'>[] = [];
    for (const claim of claims) {
      const { due } = claim;
      // What was claimed was to come soon: what lies further ahead was dated by a clock that has been set back since.
      const isSoon = isOrder(due, 'wake') && due.at > now && due.at <= now + KEPT_MS;
      if (!isSoon) come.push({ claim, isFresh });
      else if (!this.#kept.keep(claim)) back.push(claim);
    }
    await Promise.all([
      this.#hands.take(come, isFresh),
      ...back.map((claim) => this.#settler.settle({ claim, next: claim.due, clock: now })),
    ]);
  }

  /** Carries out what was kept and whose time has come, in the room for what is fresh: no sweep claims it. */
  wakeUp(): void {
    const come = this.#kept.come().map((claim) => ({ claim, isFresh: false }));
    void this.#hands.take(come, true);
  }

  /** Resolves once nothing is in hand. */
  idle(): Promise<void> {
    return this.#hands.idle();
  }

  /** What hasn't begun is left to whoever claims it next; resolves once nothing is in hand. */
  close(): Promise<void> {
    return this.#hands.close();
  }

  async #outcome({ claim, isFresh }: ClaimedOrder): Promise<Outcome> {
    const { due } = claim;
    const askedAt = this.#elapsed();
    if (isOrder(due, 'ask')) this.#putOff.come(due);
    try {
      // Whoever waited for its turn may have been ended meanwhile, by ops for one, whatever its commit said.
      const record = await this.#record(due);
      if (record === null) return DONE;
      if (isOrder(due, 'payout')) return await this.#payout(claim, due, record);
      if (isOrder(due, 'wake')) return await this.#wake(claim, due, record);
      if (isOrder(due, 'ask')) return await this.#ask(due, record);
      const { turn = 0, refusedAt = null } = due.order as BankOrder & { kind: 'refund' | 'return' };
      const leftMs = refusedAt === null ? 0 : this.#refusals.leftMs(due);
      if (leftMs > 0) return { next: this.#later(due, {}, leftMs) };
      const isAnew = due.order.kind === 'return' && due.order.number !== undefined;
      const isFirst = isFresh && turn === 0 && !isAnew && (await this.#isOurs(claim, askedAt));
      const isStillOurs = (): Promise<boolean> => this.#isOurs(claim, this.#elapsed());
      const mayBegin = (): Promise<boolean> => this.#mayBegin(due);
      const attempt = { isFirst, turn, refusedAt, isStillOurs, mayBegin };
      if (isOrder(due, 'refund')) return await this.#refunding.turn(due, record, attempt);
      return isOrder(due, 'return') ? await this.#returning.turn(claim, due, record, attempt) : DONE;
    } catch (error) {
      if (!(error instanceof BankNotBegun)) this.#options.onTrouble(error, due);
      return isOrder(due, 'ask') ? this.#askLater(due) : { next: this.#later(due) };
    }
  }

  /** Read as decisions read it: `transaction` sees to it that nobody changes what it gives, at a price. */
  async #record({ account, transaction }: DueOrder): Promise<TransactionRecord | null> {
    const { transactions } = await this.#options.journal.read(account, {
      transactions: [transaction],
      lookups: [],
    });
    return transactions[0] ?? null;
  }

  /** The last look before an order leaves: it may have been ended while it waited inside its call. */
  async #mayBegin(due: DueOrder): Promise<boolean> {
    if (this.#hands.isClosed) return false;
    const record = await this.#record(due);
    return record !== null && isWanted(record, due.order) && !this.#hands.isClosed;
  }

  /** The same order once more, later; `changes` to what is known of it. */
  #later(due: DueOrder, changes: object = {}, waitMs?: number): DueOrder {
    const { bank, now } = this.#options;
    const at = now() + (waitMs ?? backoffMs(bank.pace, due.tries));
    return { ...dueAgain(due, at, due.tries + 1), order: { ...due.order, ...changes } };
  }

  /** The bank may know of an order before that it has refused now: it is asked once more when that has stood. */
  #refused(due: DueOrder): Outcome {
    const { bank, now } = this.#options;
    this.#refusals.heard(due);
    return { next: this.#later(due, { refusedAt: now() }, bank.pace.refusalMs) };
  }

  /** Whether a claim is ours still. Who was frozen since it asked is too late: others have taken it for dead. */
  async #isOurs(claim: ClaimOf<'bank'>, askedAt: number): Promise<boolean> {
    if (this.#options.bank.canRepeatSubmit) return true;
    return (await this.#holds(claim)) && this.#elapsed() - askedAt < OURS_MS;
  }

  async #holds(claim: ClaimOf<'bank'>): Promise<boolean> {
    const [isHeld] = await this.#options.due.holds([claim]);
    return isHeld === true;
  }

  /**
   * The next step counts from this one's time, not from now: after a pause the steps stay in order. Where the clock was
   * set back meanwhile, it counts from now.
   */
  #next(due: DueOrder, order: BankOrder, afterMs: number): Outcome {
    return { next: { ...dueAgain(due, this.#stepAt(due, afterMs), 0), order } };
  }

  #stepAt(due: DueOrder, afterMs: number): number {
    const { bank, now } = this.#options;
    // A real bank isn't asked in a row for what was missed during a pause.
    return bank.canRepeatSubmit ? Math.min(due.at, now()) + afterMs : now() + afterMs;
  }

  /** A wake-up that comes soon is kept: should the process die, the step before is told again, as the same message. */
  #wakeLater(claim: ClaimOf<'bank'>, step: number, afterMs: number): Outcome {
    const at = this.#stepAt(claim.due, afterMs);
    const next = wakeUp(claim.due, step, at);
    return this.#kept.keep({ due: next, token: claim.token }) ? 'kept' : { next };
  }

  /** A bank that may have an order again and again needs no more than to get it. */
  async #payout(
    claim: ClaimOf<'bank'>,
    due: DueOrder<'payout'>,
    record: TransactionRecord,
  ): Promise<Outcome> {
    const { bank } = this.#options;
    if (!bank.canRepeatSubmit) return this.#payouts.turn(claim, due, record);
    if (record.final) return DONE;
    const { wakeInMs } = await bank.submit(record, {}, () => this.#mayBegin(due));
    return wakeInMs === null ? DONE : this.#wakeLater(claim, 0, wakeInMs);
  }

  /** The bank has hinted at something, and may know of it itself only a moment later. */
  async #ask(due: DueOrder<'ask'>, record: TransactionRecord): Promise<Outcome> {
    const { bank, now } = this.#options;
    const { turn = 0, payment, state } = due.order;
    if (state !== undefined && state !== record.snapshot.value) return DONE;
    const messages = (await bank.query(record, now(), payment)) ?? [];
    if ((await this.#told(record, messages)) === 'park') return 'park';
    const isNews = messages.some(({ id }) => record.messages[id] === undefined);
    if (isNews || state !== undefined || turn >= ASKED_AGAIN) return DONE;
    return this.#askLater(due, { turn: turn + 1 });
  }

  /** Of questions about the same one waits, as long as that it does is written. */
  #askLater(due: DueOrder<'ask'>, changes: object = {}): Outcome {
    return this.#putOff.outcome(this.#later(due, changes) as DueOrder<'ask'>);
  }

  async #wake(claim: ClaimOf<'bank'>, due: DueOrder<'wake'>, record: TransactionRecord): Promise<Outcome> {
    const { step } = due.order;
    const { messages, wakeInMs } = await this.#options.bank.wake(record, step, due.at);
    const ending: Ending = { claim, isEnded: false };
    // The last step ends with what it brought.
    const told = await this.#told(record, messages, wakeInMs === null ? ending : undefined);
    if (told === 'park') return 'park';
    if (wakeInMs !== null) return this.#wakeLater(claim, step + 1, wakeInMs);
    return ending.isEnded ? 'ended' : DONE;
  }
}
