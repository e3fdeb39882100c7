/**
 * The journal's words: entry, batch, record. Everything here is plain JSON; amounts are cents, times ISO 8601
 * in UTC with milliseconds.
 *
 * I1 The postings of an entry sum to zero.
 * I3 Sequence numbers of an account have no gaps; a batch's hash covers its content and the hash before it.
 * I7 Records, balances and lookups are projections: replaying the batches gives the same bytes.
 */
import type { Snapshot } from '../../machines/index.ts';
import type { JournalEvent } from '../domain/events.ts';
import type { By } from '../domain/messages.ts';
import { type Balances, type Posting, ZERO_BALANCES } from '../domain/money.ts';
import type { RefusalCode } from '../domain/sentences/refusal-codes.ts';
import { timeOfText } from '../domain/time.ts';
import type { Charge, TransactionType, Transfer } from '../domain/transactions.ts';

/** Which door a message came through. */
export type Door = 'api' | 'bank' | 'sandbox' | 'ops' | 'clock';

/** A message as it was taken: unknown parts of `data` are kept. */
export interface JournalMessage {
  /** Only through the door of ops, and in no entry of former builds. Two messages with one id may differ in it. */
  by?: By;
  id: string;
  type: string;
  data: object;
  door: Door;
  /** Of type and data as they were given: two messages with one id are compared by it. */
  digest: string;
}

/** An order to the bank that an entry creates. */
export type BankOrder =
  | ({ kind: 'payout'; bankId?: string } & Tried)
  | ({ kind: 'refund'; refundId: string } & Tried)
  /** `number`: the how-manieth of the payment; absent: the first. `since`: when its first turn was, ms. */
  | ({
      kind: 'return';
      endToEndId: string;
      amount: number;
      reason: string;
      number?: number;
      since?: number;
    } & Tried)
  /**
   * No entry's: the bank has hinted that it has news of the transaction, of a payment (its end-to-end id) for one; or it
   * was told something of which nobody may have heard the outcome. `state`: asked once, and only in this state.
   */
  | ({ kind: 'ask'; payment?: string; state?: string } & Tried)
  | { kind: 'wake'; step: number; at: string };

/** What became of an order so far; no entry holds it. */
export interface Tried {
  /** How often the bank had it before; absent: never. */
  turn?: number;
  /** When the bank refused it although it may have had it before, ms. */
  refusedAt?: number;
}

export interface Timer {
  readonly name: string;
  readonly at: string;
}

/**
 * The kinds of items that ops must look at. `bank`: something of ours that the bank doesn't take, credentials for one;
 * `difference`: what the bank tells differs from the journal; `payment`: money that no charge explains; `projection`: a
 * committed batch that can't be projected; `clock`: an account's head that lies more than a minute ahead of the clock;
 * `journal`: a part of the journal that doesn't add up; `hanging`: a URL that times out while more than 1,000 deliveries
 * wait for it; `rejected`: what a URL's receiver refused on a day.
 */
export const ATTENTION_KINDS = [
  'bank',
  'clock',
  'dead',
  'difference',
  'hanging',
  'invalid',
  'journal',
  'payment',
  'projection',
  'quarantined',
  'refused',
  'rejected',
  'return',
  'stuck',
  'unknown',
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** What a person must look at. */
export interface AttentionNote {
  kind: AttentionKind;
  id: string;
  /** What it is, for programs; notes of former builds have none. */
  code?: string | null;
  /** What the code's sentences need besides what the item is about. */
  data?: object | null;
  /** The same for people, and the step that helps, in English. */
  what: string;
  next: string;
}

/** One accepted message; a refused one changes nothing and is kept because the bank said it. */
export interface Entry {
  /** Null for what happens to the account itself. */
  transaction: string | null;
  type: TransactionType | null;
  at: string;
  message: JournalMessage;
  from: string | null;
  to: string | null;
  /** Why the message wasn't taken; null where it was. */
  refusal: string | null;
  /** The same for programs; null also where a former build refused it. */
  code: RefusalCode | null;
  /** Whole at creation; later `context` holds what changed. Null where nothing did. */
  snapshot: Snapshot | null;
  postings: Posting[];
  events: JournalEvent[];
  /** The transaction's timers from now on; null: as they were. */
  timers: readonly Timer[] | null;
  orders: BankOrder[];
  attention: AttentionNote | null;
}

/** The entries that are committed together: one sequence number of the account's journal. */
export interface Batch {
  account: string;
  seq: number;
  /** Recognises an append whose answer was lost as one's own. */
  id: string;
  at: string;
  entries: Entry[];
  balances: Readonly<Balances>;
  /** Hash of the batch before; of the first one: 64 zeros. */
  previous: string;
  hash: string;
}

/** The last batch in short: what an account's next batch builds on. */
export interface Head {
  readonly seq: number;
  readonly at: string;
  readonly balances: Readonly<Balances>;
  readonly hash: string;
}

interface RecordOf<Type extends TransactionType, Context> {
  readonly id: string;
  readonly account: string;
  readonly type: Type;
  readonly snapshot: Snapshot & { readonly context: Context };
  /** It counts as ended (the charts' tag `ended`): it waits for nothing, though the bank may have later words. */
  readonly final: boolean;
  readonly updatedAt: string;
  /** Batches that hold its entries, but for refused messages; former builds named those, too. */
  readonly seqs: readonly number[];
  /** Refused messages that were recorded; absent where there are none. Former builds counted none. */
  readonly refusals?: number;
  /** Applied message ids with their digests. */
  readonly messages: Readonly<Record<string, string>>;
  /** Events so far: the next one's number. */
  readonly events: number;
  readonly timers: readonly Timer[];
  /** The last delivery of each URL. */
  readonly lastDeliveries: Readonly<Record<string, string>>;
  /** The first `submit` has begun (banks other than the sandbox). */
  readonly submitted: boolean;
}

export type ChargeRecord = RecordOf<'pix-in', Charge>;
export type TransferRecord = RecordOf<'cashout', Transfer>;

/** A transaction as its entries left it. */
export type TransactionRecord = ChargeRecord | TransferRecord;

export const ZERO_HASH = '0'.repeat(64);

/** The head of a journal without a batch. */
export const EMPTY_HEAD: Head = { seq: 0, at: '', balances: ZERO_BALANCES, hash: ZERO_HASH };

export function headOf({ seq, at, balances, hash }: Batch): Head {
  return { seq, at, balances, hash };
}

/**
 * The earliest time of the batch behind a head, ms since 1970: an account's times never go back, whichever clock wrote the
 * one before. Where other processes write as well they go on with each batch, and no two batches have the same one.
 */
export function earliestAfter({ seq, at }: Head, isShared: boolean): number {
  if (seq === 0) return 0;
  return isShared ? timeOfText(at) + 1 : timeOfText(at);
}
