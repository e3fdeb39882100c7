/**
 * Fires timers that are due, beside each other; a bank that can be asked is heard before a charge expires. Ops hear of a
 * charge that it gives no answer about.
 */
import { expiryStuck } from '../engine/attention/stuck.ts';
import { type Bank, type BankMessage, BankOutcomeUnknown, backoffMs } from '../engine/bank.ts';
import { Hands, mostInHand, type Outcome } from '../engine/claims/hands.ts';
import type { Room } from '../engine/claims/room.ts';
import { Settler } from '../engine/claims/settler.ts';
import type { Engine } from '../engine/engine.ts';
import type { ChargeRecord, TransactionRecord } from '../engine/journal.ts';
import type { Payments } from '../engine/payments.ts';
import {
  byOwnTime,
  type ClaimOf,
  come,
  type Due,
  type DueTimer,
  isEarly,
  putOff,
} from '../engine/store/due.ts';
import type { DueIndex, JournalReads } from '../engine/store.ts';
import { textOf } from '../errors.ts';
import type { SpareTime } from '../spare-time.ts';
import { atMost, pause } from '../waiting.ts';

export interface TimersOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  /** Of a crowd of timers all but the first ones wait for it: callers don't wait for them. */
  spareTime: Pick<SpareTime, 'take' | 'isAlone'>;
  /** Other processes have the store, too. */
  isShared?: boolean;
  now(): number;
  /** A charge whose time was over so many ms ago, and that the bank gives no answer about, is stuck. */
  stuckAfterMs: number;
  /** Something went wrong that will be tried again. */
  onTrouble(error: unknown, due?: Due): void;
}

const AT_ONCE = 512;
/** So many in hand wait for no spare time. */
const NO_CROWD = 256;
/** Of a crowd so many are fired in a piece of spare time: beside callers, and while nobody calls. */
const PIECE = { beside: 32, alone: 256 };
/** A piece that takes longer, ms, waits for the store or the bank: the next one doesn't wait for that. */
const PIECE_MS = 100;
/**
 * So many seconds after a crowd has come callers have at most half of the time, before that the more the fewer seconds,
 * and later a piece waits less for the one before: a crowd that grows faster than it goes goes faster and faster.
 */
const HALF_AFTER_S = 60;

interface ClaimedTimer {
  claim: ClaimOf<'timer'>;
}

export class Timers {
  readonly #options: TimersOptions;
  readonly #hands: Hands<ClaimedTimer>;
  /** More are in hand than begin at once: all that come wait for spare time, until none waits. */
  #isCrowd = false;

  constructor(options: TimersOptions) {
    this.#options = options;
    const settler = new Settler(options.due, options.onTrouble);
    const work = ({ claim }: ClaimedTimer): Promise<Outcome> => this.#fire(claim.due);
    const most = mostInHand(options.isShared);
    const { now } = options;
    this.#hands = new Hands({ settler, most, atOnce: AT_ONCE, isPaced: true, now, work });
  }

  /** For how many more timers there is room. */
  get room(): Room {
    return this.#hands.room;
  }

  /** When the earliest in hand that hasn't begun fell due, ms; `Infinity` where all have. */
  get earliest(): number {
    return this.#hands.earliest;
  }

  /** Resolves once all of these are settled; nobody needs to wait for that. Never rejects. */
  async fireAll(claims: readonly ClaimOf<'timer'>[]): Promise<void> {
    const atOnce = this.#isCrowd ? 0 : NO_CROWD - this.room.taken;
    const settled = this.#hands.take(claims.map((claim) => ({ claim })));
    void this.#hands.begin(atOnce);
    if (this.#hands.isAnyWaiting && !this.#isCrowd) void this.#fireCrowd();
    await settled;
  }

  /** Fires the crowd piece by piece, as there is time for it. Accounts take turns. */
  async #fireCrowd(): Promise<void> {
    this.#isCrowd = true;
    const since = performance.now();
    while (this.#hands.isAnyWaiting) {
      const part = HALF_AFTER_S / Math.max(1, (performance.now() - since) / 1_000);
      const piece = (): Promise<void> => this.#firePiece(PIECE_MS * Math.min(1, part));
      await this.#options.spareTime.take(piece, Math.max(1, part));
    }
    this.#isCrowd = false;
  }

  async #firePiece(atMostMs: number): Promise<void> {
    const begun = this.#hands.begin(this.#options.spareTime.isAlone ? PIECE.alone : PIECE.beside);
    // Where none may begin, those that have wait for the store or the bank.
    await (begun.length > 0 ? atMost(atMostMs, Promise.all(begun)) : pause(atMostMs));
  }

  /** Resolves once nothing is in hand. */
  idle(): Promise<void> {
    return this.#hands.idle();
  }

  /** What hasn't begun is left to whoever claims it next; resolves once nothing is in hand. */
  close(): Promise<void> {
    return this.#hands.close();
  }

  async #fire(claimed: DueTimer): Promise<Outcome> {
    const { engine, bank, now, onTrouble } = this.#options;
    let due = claimed;
    try {
      const record = await this.#options.journal.transaction(due.transaction);
      if (record !== null) {
        due = byOwnTime(due, record.updatedAt, now());
        if (isEarly(due, record.updatedAt, now())) return { next: due };
        due = come(due, now());
        const graceMs = this.#graceMs(record, due);
        if (graceMs > 0) return { next: putOff(due, now() + graceMs) };
        await this.#askBank(record, due);
      }
      const { transaction, name, at, ahead = 0 } = due;
      const command = { kind: 'timer', transaction, name, at, ahead } as const;
      const answer = await engine.send(due.account, command);
      if (answer.kind === 'notYet') return { next: { ...due, at: answer.at } };
      return answer.kind === 'quarantined' ? 'park' : { next: null };
    } catch (error) {
      onTrouble(error, due);
      const next = putOff(due, now() + backoffMs(bank.pace, due.tries));
      return { next: { ...next, tries: due.tries + 1 } };
    }
  }

  /** A bank that can be asked may know of a payment that has not reached us. What waits for no timer costs no question. */
  async #askBank(record: TransactionRecord, due: Pick<Due, 'ahead'>): Promise<void> {
    const { bank, payments } = this.#options;
    if (!bank.canBeAsked || record.final || record.timers.length === 0) return;
    for (const message of await this.#heard(record, due)) await payments.tell(record, message, 'bank');
  }

  async #heard(record: TransactionRecord, due: Pick<Due, 'ahead'>): Promise<BankMessage[]> {
    const { bank, now } = this.#options;
    try {
      return (await bank.query(record, now())) ?? [];
    } catch (error) {
      // A bank that has answered has said itself what is wrong with that.
      if (!(error instanceof BankOutcomeUnknown)) await this.#noteIfStuck(record, due, error);
      throw error;
    }
  }

  /** While the bank as a whole is away, no charge has an item of its own. */
  async #noteIfStuck(record: TransactionRecord, due: Pick<Due, 'ahead'>, error: unknown): Promise<void> {
    const { engine, bank, now, stuckAfterMs } = this.#options;
    if (record.type !== 'pix-in') return;
    const since = this.#overAt(record, due);
    if (now() - since < stuckAfterMs || !bank.reachable()) return;
    await engine.note([expiryStuck(record, since, textOf(error))]);
  }

  /** How long a charge that has expired waits for payments that are on their way, ms; by the clock, whatever its own was. */
  #graceMs(record: TransactionRecord, due: Pick<Due, 'ahead'>): number {
    const { bank, now } = this.#options;
    if (bank.pace.expiryGraceMs === 0 || record.type !== 'pix-in' || record.final) return 0;
    return Math.max(0, this.#overAt(record, due) - now());
  }

  /** When the time of a charge is over, its grace included, ms. */
  #overAt({ snapshot }: ChargeRecord, { ahead = 0 }: Pick<Due, 'ahead'>): number {
    return Date.parse(snapshot.context.expiresAt) - ahead + this.#options.bank.pace.expiryGraceMs;
  }
}
