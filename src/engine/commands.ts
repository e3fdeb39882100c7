/** Commands for an account's mailbox, and the answers to them. */
import type { By, MessageData } from '../domain/messages.ts';
import type { Charge, Transfer } from '../domain/transactions.ts';
import type { BankMessage, PayoutContract } from './bank.ts';
import type { Door, TransactionRecord } from './journal.ts';

/** A charge before its creation: `createdAt` and `expiresAt` are the entry's to give. */
export type NewCharge = Pick<
  Charge,
  | 'amount'
  | 'fee'
  | 'externalRef'
  | 'description'
  | 'additionalInfo'
  | 'customer'
  | 'metadata'
  | 'qrcode'
  | 'idempotencyKey'
  | 'pixKey'
> & {
  /** Seconds. */
  expiresIn: number;
};

export type NewTransfer = Omit<Transfer, 'createdAt' | 'reference' | 'paidAt' | 'startImplied' | 'returned'>;

interface Sent {
  transaction: string;
  door: Door;
  id: string;
  type: string;
  /** The data that the entry keeps: filled in where the bank does that, with all unknown parts. */
  kept: object;
  /** Of type and data as they were given. */
  digest: string;
  /** Where ops sent it. */
  by?: By;
}

/** A message whose data was checked; `data` is what its chart gets of it. */
export type SoundMessage = Sent &
  Pick<BankMessage, 'sameAs' | 'ofPayment'> & { kind: 'message'; data: MessageData };

/** A message that can't be read, or lacks a required part: it is recorded, and changes nothing. */
export type InvalidMessage = Sent & { kind: 'invalidMessage'; problem: string };

/** A message to a transaction, through whatever door. */
export type SentMessage = SoundMessage | InvalidMessage;

/** A payment that is given back again: cents, and the how-manieth return it is. */
export interface ReturnAgain {
  amount: number;
  endToEndId: string;
  number: number;
  reason: string;
}

/**
 * What ops do that is no message: deliveries tried again, items done with, settings changed, secrets rotated, and the
 * bank asked to cancel a charge, before there is a message.
 */
export type OpsAction = 'retry' | 'done' | 'settings' | 'rotate' | 'cancel';

export type Command =
  | { kind: 'createCharge'; id: string; charge: NewCharge; wakeInMs: number | null }
  | { kind: 'createTransfer'; id: string; transfer: NewTransfer }
  | SentMessage
  /** `ahead`: by how many ms the account's time was ahead of the clock when the timer was set. */
  | { kind: 'timer'; transaction: string; name: string; at: number; ahead?: number }
  /** The first `submit` of a payout begins: from now on CANCEL and REJECT are the bank's alone. */
  | { kind: 'submit'; transaction: string; contract?: PayoutContract }
  /** A payment is given back once more, since the bank could not do it before. */
  | ({ kind: 'returnAgain'; transaction: string; by?: By } & ReturnAgain)
  /** A merchant refunds a charge, or ops do: `amount` in cents, null for what remains. */
  | {
      kind: 'refund';
      transaction: string;
      refundId: string;
      amount: number | null;
      reason: string | null;
      idempotencyKey: string | null;
      /** Of ops: their id of it is the refund's; `digest` is of what they asked for. */
      ops?: { digest: string; by: By };
    }
  /** A merchant cancels a charge. */
  | { kind: 'cancel'; transaction: string; reason: string | null }
  | {
      kind: 'adjust';
      id: string;
      amount: number;
      reason: string;
      allowNegative: boolean;
      digest: string;
      by?: By;
    }
  /** Ops are about to do something to the account. `data`: what it comes to; `digest`: of what was asked. */
  | { kind: 'act'; id: string; action: OpsAction; data: object; digest: string; by: By };

export type Answer =
  | { kind: 'applied'; record: TransactionRecord }
  /** Applied before: nothing changed now. */
  | { kind: 'repeated'; record: TransactionRecord }
  | { kind: 'refused'; record: TransactionRecord; reason: string; allowed: string[] }
  | { kind: 'invalid'; reason: string }
  /** A timer that came before its time (ms): to be sent again then. */
  | { kind: 'notYet'; at: number }
  | { kind: 'unknown' }
  | { kind: 'duplicateKey'; transaction: string }
  | { kind: 'insufficientBalance'; available: number }
  /** The charge's state, age or number of refunds forbids it. */
  | { kind: 'notRefundable'; record: TransactionRecord; reason: string }
  /** At most so many cents can be refunded. */
  | { kind: 'refundTooLarge'; most: number }
  /** The snapshot can't be read; ops have been told. */
  | { kind: 'quarantined'; transaction: string; reason: string }
  | { kind: 'adjusted'; balance: number; applied: boolean }
  | { kind: 'notAdjusted'; balance: number; reason: string }
  /** The action has its entry, of that time (ISO); `applied`: since now. */
  | { kind: 'acted'; at: string; applied: boolean }
  | { kind: 'notActed'; reason: string };
