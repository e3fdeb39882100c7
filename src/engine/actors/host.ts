/** What an actor is handed, what it gives, and what it needs of the engine. */
import type { Account } from '../../domain/account.ts';
import type { Soon } from '../../waiting.ts';
import type { Bank } from '../bank.ts';
import type { Answer, Command } from '../commands.ts';
import type { TransactionRecord } from '../journal.ts';
import type { Claim, Due } from '../store/due.ts';
import type { Journal } from '../store.ts';
import type { Taken } from '../workspace.ts';
import type { Ending } from './endings.ts';
import type { InTurn } from './rounds.ts';
import type { Stalls } from './stalls.ts';

/** The mailbox is full, or the store doesn't take writes: nothing was decided, or nobody knows. */
export class Overloaded extends Error {}

/** Another store has the account: nothing is decided here. */
export class HandedOver extends Overloaded {
  constructor() {
    super('the account was moved to another store, whose servers decide on it');
  }
}

/** Whoever sent the command has left, or was told 504, before it was decided: it was dropped. */
export class Abandoned extends Error {
  constructor() {
    super('nobody waits for the command any more');
  }
}

/** One command on its way: who sent it may give up while it isn't decided. */
export interface Ticket {
  command: Command;
  /** About how many bytes it adds to a batch. */
  weight: number;
  /** True once the caller was told 504 or left. */
  abandoned(): boolean;
  /** What may end with its batch. */
  ending: Ending | null;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** A batch that is durable now, and what was claimed of what it made due. */
export interface Committed {
  account: string;
  taken: Taken[];
  claims: Claim[];
}

/** The engine, as far as an actor needs it. */
export interface ActorHost {
  readonly journal: Journal;
  /** Other processes append to the same journals. */
  readonly isShared: boolean;
  readonly everyDoorSpeaks: boolean;
  readonly firstWakeInMs: Bank['firstWakeInMs'];
  now(): number;
  newBatchId(): string;
  settings(account: string): Soon<Account | null>;
  /** The account has commands to decide: its turn comes. */
  ready(actor: InTurn): void;
  readonly stalls: Stalls;
  /** Keeps room for what a batch makes due at once, all of it or nothing; only then is it claimed with the batch. */
  reserve(due: readonly Due[]): boolean;
  release(due: readonly Due[]): void;
  /** A transaction that waits for the bank is stuck after so many ms. */
  readonly stuckAfterMs: number;
  readonly batchBytes: number;
  /** The store has answered an append: after so many ms, of so many entries. */
  appended(ms: number, entries: number): void;
  committed(batch: Committed): void;
  /** Transactions whose snapshots can't be read; nobody waits until ops have been told. */
  quarantined(account: string, answers: readonly Quarantined[]): void;
  /** The account's last entry lies more than a minute ahead of the clock. */
  ahead(account: string, at: string): void;
  /** Transactions of refused messages that were answered and not recorded, one for each; nobody waits for it. */
  unrecorded(account: string, transactions: readonly TransactionRecord[]): void;
  /** A write takes longer than it may (true), or came to its end after all (false). */
  stalled(account: string, stalled: boolean): void;
}

/** The answer about a transaction whose snapshot can't be read. */
export type Quarantined = Answer & { kind: 'quarantined' };
