/**
 * The bank's port: out (`register`, `check`, `submit`, `giveBack`), `query`, and messages in, which reach the
 * engine as commands. Adapters are in `bank/`.
 */
import type { Customer } from '../domain/people/customer.ts';
import type { ChargeRecord, TransactionRecord } from './journal.ts';

/** How a bank is called and waited for; times in ms. */
export interface BankPace {
  /** So many orders are carried out at the same time, at the most. */
  callsAtOnce: number;
  /** How long a call may take at the most. Whoever calls goes on then, and the bank's answer is nobody's. */
  callMs: number;
  /** Between two tries or questions at first, and at the most: each wait is twice the one before. */
  firstMs: number;
  longestMs: number;
  /** That a question finds nothing counts so much after the order: a repeat that was refused, a charge to cancel. */
  refusalMs: number;
  /** A charge expires so long after its time, for payments that are on their way. */
  expiryGraceMs: number;
}

/** Of a bank that says nothing else. */
export const BANK_PACE: BankPace = {
  callsAtOnce: 256,
  ...{ callMs: 10_000, firstMs: 1_000, longestMs: 60_000, refusalMs: 60_000, expiryGraceMs: 0 },
};

/** Exponential, bounded. `tries` counts from 0. */
export function backoffMs({ firstMs, longestMs }: BankPace, tries: number): number {
  return Math.min(firstMs * 2 ** tries, longestMs);
}

/** Under this mark a store keeps whose money its journal counts: of all that ever start on it the first one's stays. */
export const BANK_MARK = 'bank';
/** Until when the bank's list was read, by the walk; ms since 1970. */
export const RECONCILED_MARKS = {
  last: 'bank:reconciled',
  lastSent: 'bank:reconciled-sent',
  daily: 'bank:reconciled-daily',
  weekly: 'bank:reconciled-weekly',
  /** Where the weekly look is, until it has come to its end. */
  weeklySent: 'bank:reconciled-weekly-sent',
  weeklyReturns: 'bank:reconciled-weekly-returns',
} as const;

/** The bank can't be reached, or says no: nothing is created, nothing is debited (502). */
export class BankRefused extends Error {}

/** Nobody knows whether the bank took the order: it is queried, never sent again blind. */
export class BankOutcomeUnknown extends Error {}

/** The bank surely didn't take the order, and hasn't refused it: it may be sent again. */
export class BankNotDone extends Error {}

/** Nothing was sent: calls are held back, since the bank is known to be away, or wants none for a while. */
export class BankHeldBack extends BankNotDone {}

/** Under which contract and from which key of ours a payout goes: kept with the entry that begins it. */
export interface PayoutContract {
  clientId?: string;
  pixKey?: string;
  profile?: string;
}

/** Nothing was sent: by the time that the order was to leave it wasn't wanted any more, or the server was at its end. */
export class BankNotBegun extends BankNotDone {}

/** The last look before an order leaves: false where it is not to begin any more. */
export type MayBegin = () => Promise<boolean>;

/** A message as the bank sends it. */
export interface BankMessage {
  id: string;
  type: string;
  data: Record<string, unknown>;
  /** The id under which a bank may have told the same as something else before: of the two the first one counts. */
  sameAs?: string;
  /** The payment whose money it takes back: of one that the charge wasn't credited with nothing is booked. */
  ofPayment?: string;
}

export interface ChargeToRegister {
  id: string;
  /** Cents. */
  amount: number;
  /** Seconds from now. */
  expiresIn: number;
  /** The account's; `isOwn`: nobody made it up. */
  pixKey: string;
  isOwn: boolean;
  merchantName: string;
  merchantCity: string;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
}

/** A charge as the bank took it. */
export interface RegisteredCharge {
  qrcode: string;
  /** The bank wants to be woken about it. */
  wakeInMs: number | null;
  /** The key that receives its payments; absent where that is no matter. */
  pixKey?: string;
}

export interface PayoutToCheck {
  /** Cents. */
  amount: number;
  pixKeyType: string;
  pixKey: string;
  /** The payer's key is one that the merchant's account was given. */
  from: { pixKey: string; isOwn: boolean };
}

/** What the desk knows of an order's earlier turns. */
export interface Attempt {
  /** Surely nobody has sent it before. */
  isFirst: boolean;
  /** Counts from 0. */
  turn: number;
  /** When a repeat was refused, ms; null: never. */
  refusedAt: number | null;
  /** Whether nobody else may have sent it since: a refusal of the first may be of their order, which was done. */
  isStillOurs(): Promise<boolean>;
  mayBegin: MayBegin;
}

/** A payout as the bank took it. */
export interface SubmittedPayout {
  /** The bank wants to be woken about it. */
  wakeInMs: number | null;
  /** What the bank says of it at once. */
  messages?: BankMessage[];
  /** The bank's own id of it. */
  bankId?: string | null;
}

/** A return's turn. */
export interface ReturnTurn {
  /** The next one; null: never. */
  wakeInMs: number | null;
  /** The bank says that it can't be done: a person decides. */
  failed?: string;
}

/** The bank's answer when it is woken: its messages, and when it wants to be woken again. */
export interface Awakening {
  messages: BankMessage[];
  /** Null: never again. */
  wakeInMs: number | null;
}

export interface Bank {
  readonly name: string;
  /** Whether merchants and ops may say what the bank would: a message of theirs counts as the bank's own. */
  readonly everyDoorSpeaks: boolean;
  /** Whether an order that was submitted before may be submitted again without asking. */
  readonly canRepeatSubmit: boolean;
  /** Whether a payout may go out again under its id after an unknown outcome, where the bank surely doesn't know it. */
  readonly canRepeatUnknown: boolean;
  readonly pace: BankPace;
  /** Its ids are any letters and digits, whatever form the central bank gives them. */
  readonly looseIds: boolean;
  /** Whether a payout can be asked about, of which the bank's own id is known, or isn't. */
  canAskAbout(payout: TransactionRecord, bankId?: string): boolean;
  /** Whether `query` finds anything out. */
  readonly canBeAsked: boolean;
  /**
   * Its questions wait for their turn, and have deadlines of their own from that on: `callMs` is none of theirs. Absent:
   * it is.
   */
  readonly asksInTurn?: boolean;
  /**
   * The code of a charge, before it is created. `wakeInMs`: the bank wants to be woken about it.
   * @throws BankRefused
   */
  register(charge: ChargeToRegister): Promise<RegisteredCharge>;
  /**
   * Whether a payout would be taken, before it is created.
   * @throws BankRefused
   */
  check(payout: PayoutToCheck): Promise<void>;
  /**
   * Orders a payout after its commit, under a contract; the transaction's id is the idempotency key.
   * @throws BankRefused: the payout is rejected. @throws BankOutcomeUnknown: query it later. @throws BankNotDone
   */
  submit(payout: TransactionRecord, contract: PayoutContract, mayBegin: MayBegin): Promise<SubmittedPayout>;
  /**
   * Of a bank that has a payout as soon as the journal has it: so many ms after it was created the bank wants to be woken
   * about it; null: never. Null in place of this: it gets its payouts by `submit`.
   */
  readonly firstWakeInMs: ((payout: TransactionRecord) => number | null) | null;
  /** The contract under which a payout would go now. @throws BankNotDone where there is none */
  contract(payout: TransactionRecord): Promise<PayoutContract>;
  /** Gives a payment back, once for an end-to-end id and number; throws where the bank can't be reached: tried again. */
  giveBack(
    payment: { endToEndId: string; amount: number; reason: string; number?: number },
    attempt: Attempt,
  ): Promise<ReturnTurn>;
  /**
   * The bank's own word for where an order stands that hasn't ended, as this process heard it last; null where it heard
   * none. `id`: the cashout's, the refund's, or the end-to-end id of a payment that is given back.
   */
  says(id: string): string | null;
  /** Whether the bank can be reached, as far as that is known without asking it. */
  reachable(): boolean;
  /**
   * A refund's turn, after its commit: ordered under its id, or asked about. The bank's word on it, and when its next
   * turn is; null: never. Throws where the bank can't be reached: tried again.
   * @throws BankRefused: a repeat was refused, which may be for that it is one
   */
  refund(charge: ChargeRecord, refundId: string, attempt: Attempt): Promise<Awakening>;
  /**
   * Takes a charge that waits off the bank's list, before it is canceled here or where it was never made. What the bank
   * has to say of it instead, a payment for one, as messages; none: it is off.
   * @throws BankRefused: nothing is changed, or nobody knows
   */
  cancel(charge: Pick<ChargeRecord, 'id'>): Promise<BankMessage[]>;
  /**
   * The bank's knowledge of a transaction, as messages; null where it has none, or can't be asked. `at` is now (ms),
   * `bankId` the bank's own id where it is known; of a charge, the end-to-end id of a payment that it has hinted at.
   */
  query(transaction: TransactionRecord, at: number, bankId?: string): Promise<BankMessage[] | null>;
  /** The bank's turn: `step` counts from 0, `at` is when it was due (ms). */
  wake(transaction: TransactionRecord, step: number, at: number): Promise<Awakening>;
  /** Fills in what a message to a transaction lacks; `at` is now (ms). Null: what is missing is missing. */
  readonly fillIn:
    | ((transaction: TransactionRecord, message: BankMessage, at: number) => Record<string, unknown>)
    | null;
}
