/** What is put into an account's mailbox, and what comes back. */
import type { Charge, Transfer } from '../domain/transactions.ts';
import type { Door, TransactionRecord } from './journal.ts';

/** A charge before its creation: `createdAt` and `expiresAt` are the entry's to give. */
export type NewCharge = Omit<Charge, 'createdAt' | 'expiresAt' | 'endToEndId' | 'paidAt' | 'held'> & {
  /** Seconds. */
  expiresIn: number;
};

export type NewTransfer = Omit<Transfer, 'createdAt' | 'reference' | 'paidAt' | 'startImplied'>;

/** A message to a transaction, its `data` checked and, where the sandbox may, filled in. */
export interface SentMessage {
  kind: 'message';
  transaction: string;
  door: Door;
  id: string;
  type: string;
  /** What is taken: cleaned and filled in. */
  data: object;
  /** What the entry keeps: `data` and all unknown parts. */
  kept: object;
  /** Of type and data as they were given. */
  digest: string;
  /** Set where a required part is missing or malformed: it is only recorded. */
  invalid?: string;
}

export type Command =
  | { kind: 'createCharge'; id: string; charge: NewCharge; wakeInMs: number | null }
  | { kind: 'createTransfer'; id: string; transfer: NewTransfer }
  | SentMessage
  | { kind: 'timer'; transaction: string; name: string; at: number }
  /** The first `submit` of a payout begins: from now on CANCEL and REJECT are the bank's alone. */
  | { kind: 'submit'; transaction: string }
  | { kind: 'adjust'; id: string; amount: number; reason: string; allowNegative: boolean; digest: string };

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
  /** The snapshot can't be read; ops have been told. */
  | { kind: 'quarantined'; transaction: string; reason: string }
  | { kind: 'adjusted'; balance: number; applied: boolean }
  | { kind: 'notAdjusted'; balance: number; reason: string };
