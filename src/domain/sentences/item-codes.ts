/** What needs a person, for programs: each code, and what its sentences need besides what the item is about. */
import type { TransactionType } from '../transactions.ts';

/** What an item is about; null where it is about none. */
export interface About {
  account: string | null;
  transaction: string | null;
  delivery: string | null;
  url: string | null;
}

/** A message to a transaction, and why it wasn't taken. */
interface NotTaken {
  /** The code of the refusal, what its sentence needs, and the sentence in English. */
  refusal: string;
  details: object;
  reason: string;
}

interface RefusedMessage extends NotTaken {
  type: TransactionType;
  message: string;
  messageId: string;
}

/** What a bank was told to say, or says, of an order that hasn't ended; null: nobody has heard it. */
interface Unended {
  bank: string | null;
}

interface StuckState extends Unended {
  type: TransactionType;
  state: string;
}

interface StrayMessage {
  transactionId: string;
  message: string;
  messageId: string;
  /** The message's data as JSON, cut to 4,000 characters. */
  content: string;
}

interface BankCall {
  call: string;
  /** What became of it. */
  message: string;
}

/** What a return is known by: the bank's id of it, else the ids of its messages, but for their types. */
export type ReturnBooking = { returnId: string } | { messageId: string };

/** What a bank lists: a payment to us, a transfer of ours, or what came back of either. */
export type ListedKind = 'payment' | 'sending' | 'return';

/**
 * What is off with a committed batch: `content` isn't what its hash says, the batch before is `missing`, or isn't the
 * one that it is chained to (`chain`), or is of a later `time`; an entry's postings don't `sum` to zero, or its
 * `balances` aren't what they give; nothing leads to its `place` in the log; it was `changed` after it was read, or is
 * `gone`.
 */
export type BatchFault =
  | 'content'
  | 'missing'
  | 'chain'
  | 'time'
  | 'sum'
  | 'balances'
  | 'place'
  | 'changed'
  | 'gone';

/** By code. Amounts are cents, times ISO 8601. Who needs other data for a sentence takes another code. */
export interface ItemData {
  MESSAGE_REFUSED: RefusedMessage;
  MESSAGE_INVALID: RefusedMessage;
  /** The bank's message could not be decided, for a reason that lies with us. */
  MESSAGE_UNDECIDED: StrayMessage & { reason: string };
  /** The bank spoke of a transaction that isn't there. */
  TRANSACTION_UNKNOWN: StrayMessage;
  /** So many refused messages were recorded; the next ones aren't. */
  REFUSALS_UNRECORDED: { type: TransactionType; recorded: number };
  /** A payment that couldn't be credited is on its way back. */
  PAYMENT_GIVEN_BACK: NotTaken & { endToEndId: string; amount: number };
  RETURN_FAILED: { endToEndId: string; why: string };
  RETURN_STUCK: { endToEndId: string } & Unended;
  /** A refund is completed where less than its amount stands. */
  REFUNDED_TOO_MUCH: { refundId: string; standing: number };
  REFUND_STUCK: { refundId: string } & Unended;
  TRANSFER_STUCK: StuckState;
  ANALYSIS_STUCK: StuckState;
  /** A charge is past its time, and the bank gives no answer about it. */
  EXPIRY_STUCK: { why: string };
  SNAPSHOT_UNREADABLE: { reason: string };
  /** The account's last entry lies ahead of the clock. */
  CLOCK_BEHIND: { entryAt: string; clock: string };
  /** A committed batch can't be projected. */
  BATCH_UNPROJECTABLE: { seq: number; reason: string };
  /** A committed batch doesn't add up. */
  BATCH_BROKEN: { seq: number; fault: BatchFault };
  /** A row of the log can't be read. */
  LOG_UNREADABLE: { row: number; reason: string };
  /** `error` or `status` of the last attempt; both null: the URL is off the account. */
  DELIVERY_DEAD: { event: string; error: string | null; status: number | null };
  /** What a URL's receiver refused for good on a day (UTC); the item is about the first of them. */
  DELIVERIES_REJECTED: { day: string; count: number; event: string; status: number };
  /** More than so many deliveries wait behind a URL. */
  URL_HANGS: { waiting: number };
  BANK_CREDENTIALS: BankCall;
  BANK_SCOPE: BankCall;
  BANK_CERTIFICATE: BankCall;
  BANK_PATH: BankCall;
  /** The bank doesn't take a Pix key for one of the contract's; `key` is its end. */
  BANK_KEY: { key: string; message: string };
  /** The bank doesn't take the URL at which it is to call back. */
  BANK_WEBHOOK: { url: string; message: string };
  /** The bank wants to be called less often: for so many minutes these calls are held back. */
  BANK_LIMIT: { call: string; minutes: number };
  /** The bank doesn't answer: calls are held back. */
  BANK_AWAY: BankCall;
  /** The bank's lists can't be read whole since then. */
  BANK_LISTS: { since: string; message: string };
  BANK_CERTIFICATE_EARLY: { at: string };
  BANK_CERTIFICATE_EXPIRED: { at: string };
  /** A payment of a charge of ours that can't be read. */
  CHARGE_PAYMENT_UNREADABLE: { endToEndId: string | null; unread: string };
  /** The bank doesn't know a charge that waits for its payment. */
  CHARGE_UNKNOWN: { txid: string };
  /** No charge of ours explains the payment. */
  PAYMENT_UNEXPLAINED: { endToEndId: string; txid: string | null; paidAt: string };
  /** A payment in the bank's list, and of no charge of ours, that can't be read. */
  PAYMENT_UNREADABLE: { endToEndId: string | null; txid: string | null; unread: string };
  /** No transfer of ours explains the one that the bank lists under this id. */
  TRANSFER_UNEXPLAINED: { listed: string };
  /** A transfer in the bank's list that can't be read; null: the list doesn't name it. */
  TRANSFER_UNREADABLE: { listed: string | null };
  /** Former builds' item of all of them. */
  TRANSFERS_UNREADABLE: { count: number };
  /** The bank lists another amount than was booked. */
  AMOUNT_BOOKED_DIFFERS: { type: TransactionType; listed: number; booked: number };
  RETURN_AMOUNT_DIFFERS: { type: TransactionType; returnId: string; listed: number; booked: number };
  /** A return was booked that the bank doesn't list. */
  RETURN_UNLISTED: { type: TransactionType; returnId: string };
  /**
   * The bank lists a return that says of itself what nobody here knows: it was not booked. Cents. `booking`: how it is
   * booked by hand, so that it counts once whatever the bank says later; former builds didn't say.
   */
  RETURN_UNBOOKED: {
    type: TransactionType;
    returnId: string;
    nature: string;
    amount: number;
    booking?: ReturnBooking;
  };
  /** The bank lists it, and says nothing of it when asked. */
  LISTING_UNBOOKED: {
    type: TransactionType;
    listed: ListedKind;
    endToEndId: string | null;
    /** The id of the message that would book it, and its digest, which items of former builds lack. */
    message: string;
    digest?: string;
  };
  /** The journal has it, and the bank doesn't list it. */
  BOOKING_UNLISTED: { booked: 'payment' | 'sending'; endToEndId: string };
}

export type ItemCode = keyof ItemData;

/** What an item's sentences are made of. */
interface FactsWith<Data> {
  id: string;
  /** ISO 8601. */
  since: string;
  about: About;
  data: Data;
}

export type Facts<Code extends ItemCode> = FactsWith<ItemData[Code]>;

export interface Sentences {
  /** What it is. */
  what: string;
  /** The command or step that helps. */
  next: string;
}

/** A language's sentences for each code. */
export type ItemWords = { readonly [Code in ItemCode]: (facts: Facts<Code>) => Sentences };
